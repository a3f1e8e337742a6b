/** Values of all kinds on their way to the host: what a logger or a tracer was given. */
import { encodeFailure } from "../codec/codec.ts"
import type { SharedBuffers } from "../codec/wire.ts"
import type { Report } from "./messages.ts"

/** What logs itself otherwise than it is built, as data: Effect's own data types, say. Errors are sent as errors. */
export const portable = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null || value instanceof Error || value instanceof Date) return value
  try {
    const { toJSON } = value as { readonly toJSON?: unknown }
    return typeof toJSON === "function" ? toJSON.call(value) : value
  } catch {
    return value
  }
}

/** Encodes a report. What cannot be sent is replaced by a text that says so; never throws. */
export const encodeReport = (report: Report, shared: SharedBuffers): Uint8Array => encodeFailure(report, shared).slice()
