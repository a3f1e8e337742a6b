/**
 * Tasks: functions that machines can run, and what a running task may do.
 *
 * @since 0.1.0
 */
import { Call } from "./Call.ts"
import { functionSource } from "./internal/inline/source.ts"
import { currentMachine } from "./internal/machine/current.ts"
import { checkpoint as checkCancelled } from "./internal/machine/waiting.ts"
import { spawn as spawnChild } from "./internal/machine/spawn.ts"
import type { SendableEffect, SendableFunction } from "./Sendable.ts"
import { defineTask, learn, type TaskDef } from "./internal/registry.ts"

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

const toTask = <Args extends ReadonlyArray<unknown>, A, E = never>(def: TaskDef): Task<Args, A, E> =>
  Object.defineProperty((...args: Args) => new Call<A, E>(def, args), "task", { value: def.name }) as Task<Args, A, E>

/**
 * Makes a task of a function. Machines import the module to find it, so it must be defined at the top level of a
 * module, with that module's `import.meta`, and a name that no other task of the module has. The function may be async.
 * Arguments and result cross threads: the types refuse what cannot.
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
): Task<Args, Awaited<A>> => toTask(defineTask(meta, name, fn as never))

/**
 * Makes a task of a function that returns an Effect, which is run on the machine. How it ends comes back whole: a
 * failure with its own type `E`, a defect, an interruption, and the structure of a cause with several of them. Arguments,
 * value and errors cross threads; register classes of errors with `registerErrorClass` to have them back as instances.
 *
 * Interrupting the fiber that runs the call interrupts the fiber on the machine, runs its finalizers there, and only
 * then goes on. The Effect needs nothing from the context: provide what it needs inside. Otherwise as {@link make}.
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
export const effect = <Args extends ReadonlyArray<unknown>, A, E>(
  meta: ImportMeta,
  name: string,
  fn: SendableEffect<Args, A, E>,
): Task<Args, A, E> => toTask(defineTask(meta, name, fn as never, true))

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
  spawnChild(machine("Task.spawn"), call.def, call.args) as Handle<A>

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
}

const machine = (what: string) => {
  const running = currentMachine()
  if (running === undefined) throw new Error(`${what} can only be used inside a running task`)
  return running
}
