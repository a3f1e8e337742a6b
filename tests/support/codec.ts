import { expect } from "vitest"
import { decode, encode, encodeFailure, type SharedBuffers, Unsendable } from "../../src/internal/codec/codec.ts"

const buffers: Array<SharedArrayBuffer> = []
export const shared: SharedBuffers = {
  idOf: (buffer) => buffers.includes(buffer) ? buffers.indexOf(buffer) : buffers.push(buffer) - 1,
  byId: (id) => buffers[id],
}

/** There and back, as a result. The receiver decodes a copy of its own. */
export const roundTrip = <A>(value: A): A => decode(encode([value], "result", shared).slice(), shared)[0] as A
/** There and back, as what was thrown. */
export const failTrip = (error: unknown): unknown => decode(encodeFailure(error, shared).slice(), shared)[0]

/** Where and why it could not be sent. */
export const refused = (f: () => unknown): { readonly path: string; readonly reason: string } => {
  try {
    f()
  } catch (error) {
    expect(error).toBeInstanceOf(Unsendable)
    return error as Unsendable
  }
  throw new Error("it was not refused")
}
export const refusedResult = (value: unknown) => refused(() => encode([value], "result", shared))
