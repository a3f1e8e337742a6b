import { expect } from "vitest"
import {
  decode,
  encode,
  encodeFailure,
  type SharedBuffers,
  sharedIds,
  Unsendable,
} from "../../src/internal/codec/codec.ts"

const buffers: Array<SharedArrayBuffer> = []
/** How many payloads mention each buffer. */
export const mentions: Array<number> = []
export const shared: SharedBuffers = {
  idOf: (buffer, mentioned) => {
    const id = buffers.includes(buffer) ? buffers.indexOf(buffer) : buffers.push(buffer) - 1
    if (!mentioned.includes(id)) {
      mentioned.push(id)
      mentions[id] = (mentions[id] ?? 0) + 1
    }
    return id
  },
  byId: (id) => buffers[id],
  unmention: (ids) => ids.forEach((id) => mentions[id]--),
}

/** There and back, as a result. The receiver decodes a copy of its own. */
export const roundTrip = <A>(value: A): A => {
  const bytes = encode([value], "result", shared).slice()
  const back = decode(bytes, shared)[0] as A
  shared.unmention(sharedIds(bytes))
  return back
}
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
