/** What no call fails with, on its way from a machine to the log of who opened the pool. */
import * as Cause from "effect/Cause"
import * as Runtime from "effect/Runtime"
import { packCause, unpackCause } from "./cause.ts"
import { decode, encodeFailure } from "./codec.ts"
import { Unsendable } from "./unsendable.ts"
import type { SharedBuffers } from "./wire.ts"

/** What to log. */
export interface Stray {
  readonly text: string
  readonly cause: Cause.Cause<unknown>
}

const key = "~runon/stray"

interface Packed {
  readonly [key]: string
  readonly bytes: Uint8Array
}

/** A log line has no use for shared memory. */
const noBuffers: SharedBuffers = {
  idOf: () => {
    throw new Unsendable("", "shared memory is not logged")
  },
  byId: () => undefined,
  unmention: () => {},
}

/** An error as a cause: that of the Effect, if it is what running one as a promise was rejected with. */
export const strayCause = (error: unknown): Cause.Cause<unknown> =>
  Runtime.isFiberFailure(error) ? error[Runtime.FiberFailureCauseId] : Cause.die(error)

/** As a value that structured clone carries, which by itself would lose the class and the message of many errors. */
export const packStray = ({ cause, text }: Stray): unknown => {
  const packed: Packed = { [key]: text, bytes: encodeFailure(packCause(cause), noBuffers).slice() }
  return packed
}

const isPacked = (told: unknown): told is Packed => typeof told === "object" && told !== null && key in told

/** What a machine has packed; an error of the host's own thread as it is. */
export const readStray = (told: unknown): Stray =>
  isPacked(told)
    ? { text: told[key], cause: unpackCause(decode(told.bytes, noBuffers)[0]) }
    : { text: ofNoCall("a task's code"), cause: strayCause(told) }

/** The text for an error in somebody's code. */
export const ofNoCall = (whose: string): string => `an error in ${whose} that belongs to no running call`
