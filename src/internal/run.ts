/** Calls as Effects: one at a time, and in bulk. */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { TaskError } from "../Errors.ts"
import type { PoolService } from "../Pool.ts"
import type { Described, JobOwner } from "./job/Job.ts"
import type { Reported } from "./job/ProgressWatch.ts"
import { submitterOf } from "./poolHost.ts"
import { causeOf, type Failure } from "./taskError.ts"

/** The fiber that runs now. */
const thisFiber = (): JobOwner["caller"] => Option.getOrUndefined(Fiber.getCurrentFiber())

/** Owner of a single call. */
class Single<A, E> implements JobOwner {
  readonly caller: JobOwner["caller"]
  readonly call: Described
  readonly resume: (effect: Effect.Effect<A, E>) => void
  readonly onProgress: JobOwner["onProgress"]
  onEnd: () => void = () => {}

  constructor(
    call: Described,
    resume: (effect: Effect.Effect<A, E>) => void,
    onProgress: ((reported: Reported) => void) | undefined,
  ) {
    this.caller = call.def.effect ? thisFiber() : undefined
    this.call = call
    this.resume = resume
    this.onProgress = onProgress && ((_, reported) => onProgress(reported))
  }

  describe(): Described {
    return this.call
  }

  onSuccess(_: number, value: unknown): void {
    this.resume(Effect.succeed(value as A))
  }

  onFailure(_: number, failure: Failure): void {
    this.resume(Effect.failCause(causeOf(failure) as Cause.Cause<E>))
  }

  onInterrupted(): void {
    this.resume(Effect.interrupt)
  }

  onBroken(error: unknown): void {
    this.resume(Effect.die(error))
  }
}

/** Runs one call. Interruption cancels it and waits for its end. */
export const runCall = <A, E>(
  pool: PoolService,
  call: Described,
  onProgress?: (reported: Reported) => void,
): Effect.Effect<A, E | TaskError> =>
  Effect.async((resume) => {
    const host = submitterOf(pool)
    const single = new Single<A, E | TaskError>(call, resume, onProgress)
    const job = host.submit(single, 1)
    return Effect.async<void>((stopped) => {
      if (job.ended) return stopped(Effect.void)
      single.onEnd = () => stopped(Effect.void)
      host.cancel(job)
    })
  })

/** How the calls of a batch ended, by index. */
export interface Outcomes {
  readonly values: Array<unknown>
  /** Failures in the order in which they happened. Sparse batches of failures are the common case. */
  readonly failures: Map<number, Failure>
}

/** Owner of a batch. */
class Bulk implements JobOwner {
  readonly caller: JobOwner["caller"] = thisFiber()
  readonly outcomes: Outcomes
  readonly describe: (index: number) => Described
  readonly failFast: boolean
  readonly keep: boolean
  readonly onProgress: JobOwner["onProgress"]
  stop: () => void = () => {}
  onEnd: () => void = () => {}
  broken: { readonly error: unknown } | undefined

  constructor(length: number, describe: (index: number) => Described, { failFast, keep, onProgress }: BulkOptions) {
    this.outcomes = { values: keep ? new Array(length) : [], failures: new Map() }
    this.describe = describe
    this.failFast = failFast
    this.keep = keep
    this.onProgress = onProgress && ((index, reported) => this.#listen(onProgress, index, reported))
  }

  onSuccess(index: number, value: unknown): void {
    if (this.keep) this.outcomes.values[index] = value
  }

  onFailure(index: number, failure: Failure): void {
    this.outcomes.failures.set(index, failure)
    if (this.failFast) this.stop()
  }

  onInterrupted(): void {}

  onBroken(error: unknown): void {
    this.broken ??= { error }
  }

  #listen(listener: NonNullable<BulkOptions["onProgress"]>, index: number, reported: Reported): void {
    if (this.broken !== undefined) return
    try {
      listener(index, reported)
    } catch (error) {
      this.onBroken(error)
      // Not in the midst of taking an outcome.
      queueMicrotask(() => this.stop())
    }
  }
}

/** What a batch is run with. */
export interface BulkOptions {
  readonly limit: number
  /** Whether the first failure cancels the rest. */
  readonly failFast: boolean
  /** Whether values are kept. */
  readonly keep: boolean
  readonly onProgress?: ((index: number, reported: Reported) => void) | undefined
}

/**
 * Runs a batch and succeeds when all its calls have ended, whatever their outcomes; with `failFast`, those that were
 * not started at the first failure never are. Interruption cancels it and waits for the end of what runs.
 */
export const runBulk = (
  pool: PoolService,
  length: number,
  describe: (index: number) => Described,
  options: BulkOptions,
): Effect.Effect<Outcomes> =>
  Effect.async((resume) => {
    const host = submitterOf(pool)
    const bulk = new Bulk(length, describe, options)
    bulk.onEnd = () => resume(bulk.broken === undefined ? Effect.succeed(bulk.outcomes) : Effect.die(bulk.broken.error))
    const job = host.submit(bulk, length, options.limit)
    bulk.stop = () => host.cancel(job)
    if (bulk.outcomes.failures.size > 0 && options.failFast) host.cancel(job)
    return Effect.async<void>((stopped) => {
      if (job.ended) return stopped(Effect.void)
      bulk.onEnd = () => stopped(Effect.void)
      host.cancel(job)
    })
  })
