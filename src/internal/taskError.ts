/** Outcomes of Gs as errors. */
import * as Cause from "effect/Cause"
import {
  Deadlock,
  MachineExited,
  MissingGuard,
  NotSerializable,
  PayloadTooLarge,
  type TaskError,
  TaskFailed,
  TaskNotFound,
} from "../Errors.ts"
import { unpackCause } from "./codec/cause.ts"
import { DEADLOCK, EXITED, FAILED_EFFECT, NOT_FOUND, THREW, TOO_LARGE, UNGUARDED, UNSENDABLE } from "./codec/payload.ts"

/** How an Effect task failed: not one of our errors, but its own cause. */
export class EffectFailed {
  readonly cause: Cause.Cause<unknown>
  constructor(cause: Cause.Cause<unknown>) {
    this.cause = cause
  }
}

/** What a call failed with. */
export type Failure = TaskError | EffectFailed

/** A failure as the cause that its caller sees. */
export const causeOf = (failure: Failure): Cause.Cause<unknown> =>
  failure instanceof EffectFailed ? failure.cause : Cause.fail(failure)

const ownErrors = [Deadlock, MachineExited, MissingGuard, NotSerializable, PayloadTooLarge, TaskNotFound]

/**
 * The failure of a task that threw: an error of ours, which a call of its own had failed with, is passed on as it is and
 * says by itself whose it is, as in Effect tasks. Not so `PoolClosed`: that was another pool than the caller's.
 */
export const thrown = (task: string, error: unknown): TaskError =>
  ownErrors.some((cls) => error instanceof cls) ? error as TaskError : new TaskFailed({ task, error })

/** The error for an outcome other than success and interruption. `values` is the payload that came with it. */
export const errorOf = (task: string, outcome: number, values: ReadonlyArray<unknown>): Failure => {
  switch (outcome) {
    case THREW:
      return thrown(task, values[0])
    case UNSENDABLE:
      return new NotSerializable({ task, path: String(values[0]), reason: String(values[1]) })
    case TOO_LARGE:
      return new PayloadTooLarge({ task, bytes: Number(values[0]), limit: Number(values[1]) })
    case NOT_FOUND:
      return new TaskNotFound({ task, module: String(values[0]), reason: String(values[1]) })
    case UNGUARDED:
      return new MissingGuard({ task, module: String(values[0]) })
    case DEADLOCK:
      return new Deadlock({ task, waits: values.map(String) })
    case FAILED_EFFECT:
      return new EffectFailed(unpackCause(values[0]))
    case EXITED:
      return new MachineExited({ task, machine: Number(values[0]), reason: String(values[1]) })
    default:
      throw new Error(`runon: unknown outcome ${outcome}`)
  }
}
