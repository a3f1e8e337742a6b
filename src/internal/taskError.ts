/** Outcomes of Gs as errors. */
import {
  Deadlock,
  MachineExited,
  NotSerializable,
  PayloadTooLarge,
  type TaskError,
  TaskFailed,
  TaskNotFound
} from "../Errors.ts"
import { DEADLOCK, EXITED, NOT_FOUND, THREW, TOO_LARGE, UNSENDABLE } from "./codec/payload.ts"

/** The error for an outcome other than success and interruption. `values` is the payload that came with it. */
export const errorOf = (task: string, outcome: number, values: ReadonlyArray<unknown>): TaskError => {
  switch (outcome) {
    case THREW:
      return new TaskFailed({ task, error: values[0] })
    case UNSENDABLE:
      return new NotSerializable({ task, path: String(values[0]), reason: String(values[1]) })
    case TOO_LARGE:
      return new PayloadTooLarge({ task, bytes: Number(values[0]), limit: Number(values[1]) })
    case NOT_FOUND:
      return new TaskNotFound({ task, module: String(values[0]), reason: String(values[1]) })
    case DEADLOCK:
      return new Deadlock({ task, waits: values.map(String) })
    case EXITED:
      return new MachineExited({ task, machine: Number(values[0]), reason: String(values[1]) })
    default:
      throw new Error(`runon: unknown outcome ${outcome}`)
  }
}
