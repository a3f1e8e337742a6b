/** What schemas make of a task's payload and outcome on the caller's side. */
import * as Cause from "effect/Cause"
import * as Schema from "effect/Schema"
import { NotSerializable } from "../Errors.ts"
import { EffectFailed, type Failure } from "./taskError.ts"

/** Encodes what a call sends, decodes what comes back. All throw a `NotSerializable` for what a schema refuses. */
export interface Codec {
  readonly encode: (args: ReadonlyArray<unknown>) => ReadonlyArray<unknown>
  readonly decodeSuccess: (value: unknown) => unknown
  readonly decodeFailure: (failure: Failure) => Failure
}

type AnySchema = Schema.Schema<unknown, unknown>

/** The error for what a schema refuses. */
export const refused = (task: string, path: string, { message }: Error): NotSerializable =>
  new NotSerializable({ task, path, reason: `the schema refuses it: ${message}` })

/** The caller's side of a task with schemas. */
export const makeCodec = (task: string, payload: AnySchema, success: AnySchema, failure: AnySchema): Codec => {
  const guard = (path: string, run: (value: unknown) => unknown) => (value: unknown): unknown => {
    try {
      return run(value)
    } catch (error) {
      throw refused(task, path, error as Error)
    }
  }
  const encodePayload = guard("args[0]", Schema.encodeSync(payload))
  const decodeOwn = guard("failure", Schema.decodeUnknownSync(failure))
  // The machine's side refuses a payload with an error that is none of the schema's.
  const decodeError = (error: unknown) => error instanceof NotSerializable ? error : decodeOwn(error)
  return {
    encode: ([value]) => [encodePayload(value)],
    decodeSuccess: guard("result", Schema.decodeUnknownSync(success)),
    decodeFailure: (failed) =>
      failed instanceof EffectFailed ? new EffectFailed(Cause.map(failed.cause, decodeError)) : failed,
  }
}
