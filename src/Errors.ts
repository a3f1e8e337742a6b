/**
 * Every way in which a call or a pool can fail. All are tagged, so `Effect.catchTag` works, and all say what
 * happened, to which task, and what to do about it.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Inspectable from "effect/Inspectable"
import type { YieldableError } from "effect/Cause"
import { describe } from "./internal/codec/unsendable.ts"
import { register } from "./internal/codec/errorClasses.ts"

/** The shape of `Data.TaggedError(tag)`, written out so that declarations need no inference. */
interface TaggedBase<Tag extends string> {
  new <A extends Record<string, unknown>>(props: A): YieldableError & { readonly _tag: Tag } & Readonly<A>
}

const TaskFailedBase: TaggedBase<"TaskFailed"> = Data.TaggedError("TaskFailed") as TaggedBase<"TaskFailed">

/**
 * The task's function threw, or its promise was rejected. `error` is what was thrown, whatever it was:
 * an error with its name, message, stack, cause and own properties, or a plain value such as `undefined`. The stack of
 * this one leads to where that was thrown, in the task.
 *
 * @since 0.1.0
 * @category errors
 */
export class TaskFailed extends TaskFailedBase<{ readonly task: string; readonly error: unknown }> {
  constructor(props: { readonly task: string; readonly error: unknown }) {
    super(props)
    const frames = framesOf(props.error)
    // Its own frames would tell where an outcome was received. What prints errors prints those, and not `error`.
    if (frames !== undefined) {
      Object.defineProperty(this, "stack", {
        value: `${this.name}: ${this.message}\n${frames}`,
        configurable: true,
        writable: true,
      })
    }
  }

  override get message(): string {
    const origin = originOf(this)
    const { error } = origin
    const through = origin === this ? "" : ` in "${origin.task}"`
    return `task "${this.task}" failed${through}: ${describe(error)}`
  }
}

/** Where an error was thrown, if it tells that as V8 does, and as Bun does likewise. */
const framesOf = (error: unknown): string | undefined => {
  try {
    const stack = error instanceof Error ? error.stack : undefined
    return typeof stack === "string" ? /^ +at .*/ms.exec(stack)?.[0] : undefined
  } catch {
    return undefined // of a getter
  }
}

const MAX_CALLERS = 100_000

/**
 * Where a failure began that passed through many callers. Its message is told once, from there: with all of them the
 * text would grow with each, and for a thousand with the square of that.
 */
const originOf = (failure: TaskFailed): TaskFailed => {
  let origin = failure
  // Bounded, since errors can be made to lead round in a circle.
  for (let i = 0; i < MAX_CALLERS && origin.error instanceof TaskFailed; i++) origin = origin.error
  return origin
}

const MachineExitedBase: TaggedBase<"MachineExited"> = Data.TaggedError("MachineExited") as TaggedBase<"MachineExited">

/**
 * The machine (worker) that ran the task ended before the task did: the task called `process.exit` or
 * `self.close`, ran out of memory, or crashed the thread. The task had started, so it is not run again.
 *
 * @since 0.1.0
 * @category errors
 */
export class MachineExited
  extends MachineExitedBase<{ readonly task: string; readonly machine: number; readonly reason: string }> {
  override get message(): string {
    return `machine ${this.machine} ended while it ran task "${this.task}" (${this.reason}); the task may have run in ` +
      `part and was not started again: retry it if that is safe`
  }
}

const MachineStuckBase: TaggedBase<"MachineStuck"> = Data.TaggedError("MachineStuck") as TaggedBase<"MachineStuck">

/**
 * While the pool closed, a machine neither ended by itself within the grace nor could be terminated.
 *
 * @since 0.1.0
 * @category errors
 */
export class MachineStuck
  extends MachineStuckBase<{ readonly machine: number; readonly task: string | undefined; readonly grace: number }> {
  override get message(): string {
    const what = this.task === undefined ? "outside any task" : `in task "${this.task}"`
    return `machine ${this.machine} is still running ${what}, ${this.grace} ms after the pool began to close, and this ` +
      `runtime cannot terminate it: call Task.checkpoint() inside long loops`
  }
}

const PoolClosedBase: TaggedBase<"PoolClosed"> = Data.TaggedError("PoolClosed") as TaggedBase<"PoolClosed">

/**
 * The pool was closed before the call could run, or a call was made after it closed; `started` is false then. With
 * promises also what a call is rejected with that closing the pool stopped while it ran: `started` is true. An Effect
 * that waits for such a call is interrupted instead.
 *
 * @since 0.1.0
 * @category errors
 */
export class PoolClosed extends PoolClosedBase<{ readonly task: string; readonly started: boolean }> {
  override get message(): string {
    const what = this.started ? "was stopped while it ran" : "was not run"
    return `the pool is closed: task "${this.task}" ${what}; keep the pool open until its calls have ended`
  }
}

const NotSerializableBase: TaggedBase<"NotSerializable"> = Data.TaggedError(
  "NotSerializable",
) as TaggedBase<"NotSerializable">

/**
 * An argument or a result holds something that cannot be sent to another thread. `path` says where, from the
 * argument list (`args[0].handlers.onClick`) or the result (`result.cache`).
 *
 * @since 0.1.0
 * @category errors
 */
export class NotSerializable
  extends NotSerializableBase<{ readonly task: string; readonly path: string; readonly reason: string }> {
  override get message(): string {
    return `task "${this.task}": ${this.path} cannot be sent to another thread: ${this.reason}`
  }
}

const PayloadTooLargeBase: TaggedBase<"PayloadTooLarge"> = Data.TaggedError(
  "PayloadTooLarge",
) as TaggedBase<"PayloadTooLarge">

/**
 * The encoded arguments or result do not fit the pool's arena, even when it is empty. Sizes are in bytes.
 *
 * @since 0.1.0
 * @category errors
 */
export class PayloadTooLarge
  extends PayloadTooLargeBase<{ readonly task: string; readonly bytes: number; readonly limit: number }> {
  override get message(): string {
    return `task "${this.task}": a payload of ${this.bytes} bytes does not fit (limit ${this.limit}): open the pool with a ` +
      `larger "arena", or pass a view on a SharedArrayBuffer, which is sent by reference`
  }
}

const TaskNotFoundBase: TaggedBase<"TaskNotFound"> = Data.TaggedError("TaskNotFound") as TaggedBase<"TaskNotFound">

/**
 * The machine imported the task's module and did not find the task in it, or could not import the module.
 *
 * @since 0.1.0
 * @category errors
 */
export class TaskNotFound
  extends TaskNotFoundBase<{ readonly task: string; readonly module: string; readonly reason: string }> {
  override get message(): string {
    return `task "${this.task}" was not found in ${this.module}: ${this.reason}`
  }
}

const DeadlockBase: TaggedBase<"Deadlock"> = Data.TaggedError("Deadlock") as TaggedBase<"Deadlock">

/**
 * The task waits for something that can never happen. `waits` lists who waits on what.
 *
 * @since 0.1.0
 * @category errors
 */
export class Deadlock extends DeadlockBase<{ readonly task: string; readonly waits: ReadonlyArray<string> }> {
  override get message(): string {
    return `task "${this.task}" can never go on: ${this.waits.join("; ")}`
  }
}

const InvalidOptionsBase: TaggedBase<"InvalidOptions"> = Data.TaggedError(
  "InvalidOptions",
) as TaggedBase<"InvalidOptions">

/** A value such that its type is seen: `"2"` is not 2. */
const shown = (value: unknown): string => {
  if (typeof value === "string") return JSON.stringify(value)
  return typeof value === "bigint" ? `${value}n` : Inspectable.toStringUnknown(value, 0)
}

/**
 * An option makes no sense, such as zero or a fractional number of workers, or there is none of that name. Opening a
 * pool fails with it, promises are rejected with it, what returns neither throws it; in other Effects it is a defect.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidOptions
  extends InvalidOptionsBase<{ readonly option: string; readonly value: unknown; readonly expected: string }> {
  override get message(): string {
    // Of what is no option at all, it does not matter which value it had.
    const value = this.expected.startsWith("left out") ? "" : `, not ${shown(this.value)}`
    return `option "${this.option}" must be ${this.expected}${value}`
  }
}

const MachineStartFailedBase: TaggedBase<"MachineStartFailed"> = Data.TaggedError(
  "MachineStartFailed",
) as TaggedBase<"MachineStartFailed">

/**
 * A machine (worker) could not be started: its code failed to load, the runtime refused, or it did not become
 * ready in time. `reason` holds what the runtime said.
 *
 * @since 0.1.0
 * @category errors
 */
export class MachineStartFailed extends MachineStartFailedBase<{ readonly machine: number; readonly reason: string }> {
  override get message(): string {
    const advice = this.reason.includes("not ready after") ? slow() : ""
    return `machine ${this.machine} could not be started: ${this.reason}${advice}`
  }
}

const slow = (): string => {
  const onNode = !("Deno" in globalThis) && !("Bun" in globalThis)
  return `, which the option "startTimeout" sets` +
    (onNode ? "; under tsx, compiling TypeScript costs each machine seconds: compiled JavaScript starts at once" : "")
}

const MissingGuardBase: TaggedBase<"MissingGuard"> = Data.TaggedError("MissingGuard") as TaggedBase<"MissingGuard">

/**
 * A pool was opened by a module while a machine imported it. Machines import the modules that hold their tasks,
 * the entry script too when tasks live there, so opening a pool at top level would start pools without end. If the
 * module does not load because of that, the call whose task it holds fails with this error too, and `task` is its task.
 *
 * @since 0.1.0
 * @category errors
 */
export class MissingGuard extends MissingGuardBase<{ readonly module: string; readonly task?: string | undefined }> {
  override get message(): string {
    const whose = this.task === undefined ? "" : `task "${this.task}" was not found: `
    return `${whose}a pool was opened while a machine imported ${this.module}: machines import the modules that hold ` +
      `tasks, so guard the program's start with: if (isMain(import.meta)) { ... }`
  }
}

/**
 * What a call can fail with. What a task's call has failed with, and the task has let pass, is what the task fails with
 * too, and says by `task` whose it is; a `TaskFailed` tells the way instead, and so does what befell a pool of the task's
 * own.
 *
 * @since 0.1.0
 * @category errors
 */
export type TaskError =
  | TaskFailed
  | MachineExited
  | PoolClosed
  | NotSerializable
  | PayloadTooLarge
  | TaskNotFound
  | Deadlock
  | MissingGuard

/**
 * What opening a pool can fail with.
 *
 * @since 0.1.0
 * @category errors
 */
export type PoolError = InvalidOptions | MachineStartFailed | MissingGuard

// A task may let the error of a child pass, or throw one of these itself: they come back as what they are.
for (
  const [name, cls] of Object.entries({
    TaskFailed,
    MachineExited,
    MachineStuck,
    PoolClosed,
    NotSerializable,
    PayloadTooLarge,
    TaskNotFound,
    Deadlock,
    InvalidOptions,
    MachineStartFailed,
    MissingGuard,
  })
) register(cls, `runon/${name}`)
