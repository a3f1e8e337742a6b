/**
 * Tasks: functions that machines can run, and what a running task may do.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { YieldWrap } from "effect/Utils"
import type { Call } from "./Call.ts"
import { functionSource } from "./internal/inline/source.ts"
import { currentMachine } from "./internal/machine/current.ts"
import { checkpoint as checkAwaiting, detach as detachCall, runChild, signalOf } from "./internal/machine/calls.ts"
import { checkpoint as checkCancelled } from "./internal/machine/waiting.ts"
import { spawn as spawnChild } from "./internal/machine/spawn.ts"
import type { SendableFunction } from "./Sendable.ts"
import type { EffectOptions, ServedEffect } from "./Services.ts"
import { kindOf } from "./internal/notACall.ts"
import { check, type Taken, wrongOptions } from "./internal/options.ts"
import { defineTask, learn } from "./internal/registry.ts"
import { toTask } from "./internal/toTask.ts"

export { onProgress, type Progress, progress } from "./Progress.ts"
export { makeLayer as layer } from "./Services.ts"
export {
  makeRange as range,
  makeRangeReduce as rangeReduce,
  type RangeBody,
  type RangeBounds,
  type RangeReduceBody,
  type RangeTask,
} from "./Range.ts"

/**
 * A task: called with arguments it makes a {@link Call}; it runs nothing by itself.
 *
 * @since 0.1.0
 * @category models
 */
export interface Task<Args extends ReadonlyArray<unknown>, A, E = never> {
  (...args: Args): Call<A, E>
  /** The name it was given. */
  readonly task: string
}

/**
 * Makes a task of a function. Machines import the module to find it, so it must be defined at the top level of a
 * module, with that module's `import.meta`, and a name that no other task of the module has. The function may be async,
 * or a generator function that yields Effects and calls, as for `Effect.gen`: then see {@link effect}.
 * Arguments and result cross threads: the types refuse what cannot. Write the types of parameters down, also of those
 * with a default (`(n: number = 3) => …`): the compiler does not infer a list of arguments from defaults.
 *
 * Throws a `TypeError` if the module has a task of that name already.
 *
 * @example
 * import { Task } from "runon"
 *
 * export const double = Task.make(import.meta, "double", (n: number): number => n * 2)
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <Args extends ReadonlyArray<unknown>, A>(
  meta: ImportMeta,
  name: string,
  fn: SendableFunction<Args, A>,
): Task<Args, Returned<A>, YieldedError<A>> =>
  toTask(
    isGenerator(fn) ? defineTask(meta, name, toEffects(fn), { effect: true }) : defineTask(meta, name, fn as never),
  )

/**
 * What a call succeeds with, by what the task's function returns: the value, or what a promise or a generator gives in
 * the end.
 *
 * @since 0.1.0
 * @category types
 */
export type Returned<A> = [A] extends [never] ? never
  : A extends Generator<infer _Y, infer B, infer _N> ? B
  : Awaited<A>

/**
 * What the Effects that a generator yields fail with; `never` for other functions.
 *
 * @since 0.1.0
 * @category types
 */
export type YieldedError<A> = [A] extends [never] ? never
  : A extends Generator<infer Eff, infer _A, infer _N>
    ? [Eff] extends [never] ? never : [Eff] extends [YieldWrap<Effect.Effect<infer _B, infer E, infer _R>>] ? E : never
  : never

type EffectGenerator = (
  ...args: Array<unknown>
) => Generator<YieldWrap<Effect.Effect<unknown, unknown>>, unknown, never>

const isGenerator = (fn: unknown): fn is EffectGenerator =>
  Object.prototype.toString.call(fn) === "[object GeneratorFunction]"

const toEffects = (fn: EffectGenerator) => (...args: Array<unknown>) => Effect.gen(() => fn(...args))

/**
 * Makes a task of a function that returns an Effect, which is run on the machine. How it ends comes back whole: a
 * failure with its own type `E`, a defect, an interruption, and the structure of a cause with several of them. Arguments,
 * value and errors cross threads; register classes of errors with `registerErrorClass` to have them back as instances.
 *
 * Interrupting the fiber that runs the call interrupts the fiber on the machine, runs its finalizers there, and only
 * then goes on. A call that the Effect yields is a child of the task, on the same pool: it is queued on this machine, may
 * be stolen by another, and its caller waits without holding the machine.
 *
 * The Effect may need the services of the layer in the options, see {@link layer}; the error of that layer is then one
 * of the call's. Without one it may need `Pool`, and `Scope`: a scope of its own, closed when the call ends.
 *
 * Log level, log annotations, log spans and the parent span of the caller are those of the Effect. What it logs goes to
 * the caller's loggers, its spans to the caller's tracer, its config values come from the caller's config provider; if
 * that is the default one, from the machine's environment. Otherwise as {@link make}.
 *
 * @example
 * import { Data, Effect } from "effect"
 * import { registerErrorClass, Task } from "runon"
 *
 * class NotPositive extends Data.TaggedError("NotPositive")<{ readonly n: number }> {}
 * registerErrorClass(NotPositive)
 *
 * export const root = Task.effect(import.meta, "root", (n: number) =>
 *   n > 0 ? Effect.succeed(Math.sqrt(n)) : new NotPositive({ n }))
 *
 * @since 0.1.0
 * @category constructors
 */
export const effect = <
  Args extends ReadonlyArray<unknown>,
  Eff extends Effect.Effect<unknown, unknown, unknown>,
  ROut = never,
  LE = never,
>(
  meta: ImportMeta,
  name: string,
  fn: ServedEffect<Args, Eff, ROut>,
  options?: EffectOptions<ROut, LE>,
): Task<Args, Effect.Effect.Success<Eff>, Effect.Effect.Error<Eff> | LE> => {
  check(wrongOptions(OF_EFFECT, options))
  return toTask(defineTask(meta, name, fn as never, { effect: true, layer: options?.layer as never }))
}

const OF_EFFECT: Taken = { of: "Task.effect", names: ["layer"] }

/**
 * Makes a task of a function that needs nothing but its arguments and the globals: its source is shipped to the
 * machines, which import no module for it. For scripts of one file. It may be a function, an arrow, a method or async.
 *
 * Throws a `TypeError` that names the variable if the function uses one of its surroundings.
 *
 * @since 0.1.0
 * @category constructors
 */
export const inline = <Args extends ReadonlyArray<unknown>, A>(
  fn: SendableFunction<Args, A>,
): Task<Args, Awaited<A>> => {
  const source = functionSource(fn)
  return toTask(learn({ name: fn.name || "inline", module: "", source }, fn as never))
}

/**
 * A child that a running task has spawned.
 *
 * @since 0.1.0
 * @category models
 */
export interface Handle<out A> {
  /**
   * Waits for the child and returns its value, or throws its `TaskError`. If nobody has started it yet, this runs it,
   * as a function call; if another machine runs it, this machine runs other Gs meanwhile. Only the task that spawned
   * the child may join it; any number of times.
   */
  join(): A
}

/**
 * Spawns a child from the sync code of a running task: a G on the queue of this machine's processor, which an idle
 * machine may steal. A task does not end before its children: those that it has not joined are waited for, and the
 * first failure among them is its own. If it fails, they are cancelled.
 *
 * With no record or no room for the arguments, the child is run at once, as a function call.
 *
 * Throws `NotSerializable` for an argument that cannot be sent, and an `Error` outside a task.
 *
 * @since 0.1.0
 * @category running tasks
 */
export const spawn = <A, E>(call: Call<A, E>): Handle<A> =>
  spawnChild(machine("Task.spawn"), checked("Task.spawn", call).def, call.args) as Handle<A>

/**
 * Asks, from the sync code of a running task, whether its caller still wants it. Throws if not; let that error pass.
 * Costs a few nanoseconds, so it may stand in inner loops.
 *
 * @since 0.1.0
 * @category running tasks
 */
export const checkpoint = (): void => {
  const running = currentMachine()
  if (running !== undefined && running.current !== 0) checkCancelled(running)
  else checkAwaiting()
}

/**
 * Calls another task from an async task, or from any task's function that may wait, and resolves with its value or
 * rejects with its error: what the task threw as a `TaskFailed`, an Effect task's failure as it is. The call is a child:
 * a G on this machine's queue, which an idle machine may steal. The caller waits without holding its processor, so this
 * cannot deadlock, at any depth and with one machine. A task does not end before the calls that it has made, awaited or
 * not; if it fails or is interrupted, they are interrupted.
 *
 * After an `await`, only async functions know who they are; in an Effect or generator task, `yield*` the call itself.
 * Throws outside a task.
 *
 * @example
 * import { Task } from "runon"
 *
 * export const sum: Task.Task<[number], number> = Task.make(import.meta, "sum", async (n: number): Promise<number> =>
 *   n === 0 ? 0 : n + await Task.run(sum(n - 1)))
 *
 * @since 0.1.0
 * @category running tasks
 */
export const run = <A, E>(call: Call<A, E>): Promise<A> => runChild(checked("Task.run", call)) as Promise<A>

/**
 * Calls another task and does not wait for it: it may outlive its caller, is not interrupted with it, and ends at the
 * latest when the pool closes. Its value is dropped; its failure is logged as a warning where the pool was opened. Usable
 * wherever {@link run} is, and in Effect tasks inside an `Effect.sync`. Throws on a thread that is no machine.
 *
 * @since 0.1.0
 * @category running tasks
 */
export const detach = <A, E>(call: Call<A, E>): void => detachCall(machine("Task.detach"), checked("Task.detach", call))

/**
 * An `AbortSignal` for the running async task, aborted when its caller does not want it any more: for `fetch` and the
 * like. A task that has asked for it is trusted to end then, and interrupting its caller waits for that; one that has
 * not is given up at its `await`. Known where {@link run} is.
 *
 * @since 0.1.0
 * @category running tasks
 */
export const signal = (): AbortSignal => signalOf()

const machine = (what: string) => {
  const running = currentMachine()
  if (running === undefined) throw new Error(`${what} can only be used inside a running task`)
  return running
}

/** The call, if it is one. Looks at a field that only calls have, which costs a spawn nothing. */
const checked = <A, E>(what: string, call: Call<A, E>): Call<A, E> => {
  if (call?.def === undefined) throw new TypeError(`${what} takes a call, ${what}(task(...args)), not ${kindOf(call)}`)
  return call
}
