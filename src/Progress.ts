/**
 * How far a running task is, told to its caller.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import { type Call, isCall } from "./Call.ts"
import type { TaskError } from "./Errors.ts"
import type { Reported } from "./internal/job/ProgressWatch.ts"
import { currentMachine } from "./internal/machine/current.ts"
import type { MachineRuntime } from "./internal/machine/MachineRuntime.ts"
import { fiberRunning } from "./internal/machine/nestedPool.ts"
import { report } from "./internal/job/progressSlots.ts"
import { awaitingRunning } from "./internal/machine/Running.ts"
import { runCall } from "./internal/run.ts"
import { poolTag } from "./internal/tag.ts"
import type { Pool } from "./Pool.ts"

/**
 * How far a task is, as it said last.
 *
 * @since 0.1.0
 * @category models
 */
export interface Progress {
  /** What is done, in units of the task's choice. */
  readonly done: number
  /** What there is to do, in the same units, if the task said so. */
  readonly total: number | undefined
  /** `done / total`, from 0 to 1, if both are numbers: 1 of nothing. */
  readonly fraction: number | undefined
}

/** @internal */
export const toProgress = ({ done, total }: Reported): Progress => {
  const fraction = total > 0 || Number.isNaN(done) ? done / total : total <= 0 ? 1 : NaN
  return {
    done,
    total: Number.isNaN(total) ? undefined : total,
    fraction: Number.isNaN(fraction) ? undefined : Math.min(1, Math.max(0, fraction)),
  }
}

/**
 * Tells the caller of the running task how far it is: `done` of `total`, in any units. Costs a few nanoseconds if the
 * caller does not listen and some tens if it does, so it may stand in inner loops; it never waits. The caller is told
 * the latest report about every 30 ms, and in any case the last one before the outcome. See {@link onProgress}.
 *
 * Nobody listens to a task that was spawned by another: its parent may report instead. Outside a task it does nothing.
 *
 * @since 0.1.0
 * @category running tasks
 */
export const progress = (done: number, total?: number): void => {
  const machine = currentMachine()
  if (machine !== undefined && machine.current !== 0) {
    if (machine.current !== machine.lent) tell(machine, machine.current, done, total)
    return
  }
  const running = awaitingRunning() ?? fiberRunning()
  if (running !== undefined && !running.over) tell(running.machine, running.g, done, total)
}

/** What is no number is made one, or throws, before a report has begun. */
const tell = (machine: MachineRuntime, g: number, done: number, total: number | undefined): void =>
  report(machine.progress, g, Number(done), Number(total ?? NaN))

/** The latest of what is offered, for one taker. */
class Latest<A> {
  #value: A | undefined
  #closed = false
  #wake: (() => void) | undefined

  offer(value: A): void {
    this.#value = value
    this.#wake?.()
  }

  close(): void {
    this.#closed = true
    this.#wake?.()
  }

  /** Waits for a value, and succeeds with `undefined` once it is closed and empty. */
  readonly take: Effect.Effect<A | undefined> = Effect.suspend(() =>
    this.#value !== undefined || this.#closed
      ? Effect.sync(() => this.#pop())
      : Effect.async<A | undefined>((resume) => {
        this.#wake = () => {
          this.#wake = undefined
          resume(Effect.sync(() => this.#pop()))
        }
        return Effect.sync(() => this.#wake = undefined)
      })
  )

  #pop(): A | undefined {
    const value = this.#value
    this.#value = undefined
    return value
  }
}

/**
 * A call whose progress is listened to: an Effect that runs the call, as the call itself would, and `listener` beside
 * it for what the task says by `Task.progress`. A listener is a function, or returns an Effect, which is run here.
 *
 * It is told the latest report about every 30 ms, in the order in which they were made, and the last one before the
 * call's outcome, be it a success or a failure. It is not told two at once: a slow one misses those between, and never
 * slows the task. If it throws or fails, the call is interrupted and the whole fails with that.
 *
 * @example
 * import { Effect } from "effect"
 * import { Task } from "runon"
 * import { hashFile } from "./hash.ts"
 *
 * const hashed = hashFile("large.iso").pipe(
 *   Task.onProgress(({ fraction = 0 }) => Effect.log(`${Math.round(100 * fraction)} %`))
 * )
 *
 * @since 0.1.0
 * @category combinators
 */
export const onProgress: {
  <X = void, E2 = never, R2 = never>(
    listener: (progress: Progress) => void | Effect.Effect<X, E2, R2>,
  ): <A, E>(call: Call<A, E>) => Effect.Effect<A, E | E2 | TaskError, Pool | R2>
  <A, E, X = void, E2 = never, R2 = never>(
    call: Call<A, E>,
    listener: (progress: Progress) => void | Effect.Effect<X, E2, R2>,
  ): Effect.Effect<A, E | E2 | TaskError, Pool | R2>
} = dual(
  (args) => isCall(args[0]),
  <A, E, X, E2, R2>(
    call: Call<A, E>,
    listener: (progress: Progress) => void | Effect.Effect<X, E2, R2>,
  ): Effect.Effect<A, E | E2 | TaskError, Pool | R2> =>
    Effect.flatMap(poolTag, (pool) => {
      const latest = new Latest<Progress>()
      const run = runCall<A, E>(pool, call, (reported) => latest.offer(toProgress(reported)))
      const listen: Effect.Effect<void, E2, R2> = Effect.flatMap(latest.take, (progress) => {
        if (progress === undefined) return Effect.void
        const heard = listener(progress)
        return Effect.isEffect(heard) ? Effect.zipRight(heard, listen) : listen
      })
      // The outcome is kept until the listener has been told all.
      const outcome = Effect.ensuring(Effect.exit(run), Effect.sync(() => latest.close()))
      return Effect.flatMap(Effect.all([outcome, listen], { concurrency: 2 }), ([exit]) => exit)
    }),
)
