/**
 * Payloads small enough to live in the record of a G: no bytes to allocate, nothing to encode.
 *
 * One tags word says what there is: the count in the low four bits, then three bits of kind for each value. The
 * constants `undefined`, `null`, `false` and `true` are told by the kind alone; every other value starts on an
 * eight-byte boundary of the payload. Nothing here is atomic: whoever owns the record publishes it with its status
 * word, and what was written before that store is seen after the load that pairs with it.
 */
import { Buffer } from "node:buffer"

/** Views on one and the same `SharedArrayBuffer`. */
export interface Views {
  readonly i32: Int32Array
  readonly f64: Float64Array
  readonly u8: Uint8Array
  readonly u16: Uint16Array
}

const UNDEFINED = 0
const NULL = 1
const FALSE = 2
const TRUE = 3
const NUMBER = 4
const LATIN1 = 5
const UTF16 = 6
const BIGINT = 7

const COUNT_BITS = 4
const KIND_BITS = 3

/** How many values one tags word can describe. */
export const MAX_INLINE_VALUES = 9

const ONE_NUMBER = 1 | (NUMBER << 4)
const TWO_NUMBERS = 2 | (NUMBER << 4) | (NUMBER << 7)
const THREE_NUMBERS = 3 | (NUMBER << 4) | (NUMBER << 7) | (NUMBER << 10)

const MIN_INT64 = -(2n ** 63n)
const MAX_INT64 = 2n ** 63n - 1n

// A string is its length in code units (16 bits), then one byte a unit if all units fit one, else two.
const writeString = (views: Views, slot: number, slots: number, value: string): number => {
  const length = value.length
  const room = (slots - slot) * 8 - 2
  if (length > room) return -1
  const { u8 } = views
  const start = slot * 8 + 2
  let wide = false
  for (let i = 0; i < length; i++) {
    const unit = value.charCodeAt(i)
    if (unit > 0xff) {
      wide = true
      break
    }
    u8[start + i] = unit
  }
  if (!wide) {
    views.u16[slot * 4] = length
    return LATIN1
  }
  if (length * 2 > room) return -1
  const { u16 } = views
  u16[slot * 4] = length
  for (let i = 0; i < length; i++) u16[slot * 4 + 1 + i] = value.charCodeAt(i)
  return UTF16
}

// Writes at `slot` (in eight-byte units) and returns the kind, or -1 if it does not go inline.
const writeValue = (views: Views, slot: number, slots: number, value: unknown): number => {
  switch (typeof value) {
    case "number":
      if (slot >= slots) return -1
      views.f64[slot] = value
      return NUMBER
    case "undefined":
      return UNDEFINED
    case "boolean":
      return value ? TRUE : FALSE
    case "string":
      return slot >= slots ? -1 : writeString(views, slot, slots, value)
    case "bigint":
      if (slot >= slots || value < MIN_INT64 || value > MAX_INT64) return -1
      views.i32[slot * 2] = Number(BigInt.asIntN(32, value))
      views.i32[slot * 2 + 1] = Number(value >> 32n)
      return BIGINT
    case "object":
      return value === null ? NULL : -1
    default:
      return -1
  }
}

const slotsOf = (views: Views, kind: number, slot: number): number => {
  if (kind < NUMBER) return 0
  if (kind === NUMBER || kind === BIGINT) return 1
  const length = views.u16[slot * 4]
  return (2 + (kind === LATIN1 ? length : length * 2) + 7) >> 3
}

// One buffer a pool, and few pools: the last one is nearly always the one wanted.
let lastBytes: Uint8Array | undefined
let lastBuffer: Buffer = Buffer.alloc(0)

const bufferOf = (bytes: Uint8Array): Buffer => {
  if (bytes !== lastBytes) {
    lastBytes = bytes
    lastBuffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }
  return lastBuffer
}

// A native call costs about 100 ns however long the text; below this many characters the loop is cheaper.
const MAX_LOOP = 8

const readString = (views: Views, slot: number, wide: boolean): string => {
  const length = views.u16[slot * 4]
  if (length > MAX_LOOP) {
    const start = slot * 8 + 2
    return wide
      ? bufferOf(views.u8).toString("utf16le", start, start + length * 2)
      : bufferOf(views.u8).toString("latin1", start, start + length)
  }
  let text = ""
  if (wide) { for (let i = 0; i < length; i++) text += String.fromCharCode(views.u16[slot * 4 + 1 + i]) }
  else for (let i = 0; i < length; i++) text += String.fromCharCode(views.u8[slot * 8 + 2 + i])
  return text
}

const readValue = (views: Views, kind: number, slot: number): unknown => {
  switch (kind) {
    case NUMBER:
      return views.f64[slot]
    case NULL:
      return null
    case FALSE:
      return false
    case TRUE:
      return true
    case LATIN1:
      return readString(views, slot, false)
    case UTF16:
      return readString(views, slot, true)
    case BIGINT:
      return (BigInt(views.i32[slot * 2 + 1]) << 32n) | BigInt(views.i32[slot * 2] >>> 0)
    default:
      return undefined
  }
}

/**
 * Writes one value, the usual shape of a result. `tagsWord` and `payloadWord` are indices into `views.i32`;
 * the payload starts on an eight-byte boundary and has `payloadWords` words. False if it does not go inline; the
 * words then hold nothing that may be read.
 */
export const writeInline1 = (
  views: Views,
  tagsWord: number,
  payloadWord: number,
  payloadWords: number,
  value: unknown,
): boolean => {
  if (typeof value === "number" && payloadWords >= 2) {
    views.f64[payloadWord >> 1] = value
    views.i32[tagsWord] = ONE_NUMBER
    return true
  }
  const slot = payloadWord >> 1
  const kind = writeValue(views, slot, slot + (payloadWords >> 1), value)
  if (kind < 0) return false
  views.i32[tagsWord] = 1 | (kind << COUNT_BITS)
  return true
}

/** Reads the first value of what `writeInline1` or `writeInline` wrote. */
export const readInline1 = (views: Views, tagsWord: number, payloadWord: number): unknown => {
  const tags = views.i32[tagsWord]
  return tags === ONE_NUMBER
    ? views.f64[payloadWord >> 1]
    : readValue(views, (tags >> COUNT_BITS) & 7, payloadWord >> 1)
}

const writeGeneral = (
  views: Views,
  tagsWord: number,
  payloadWord: number,
  payloadWords: number,
  values: ReadonlyArray<unknown>,
): boolean => {
  const count = values.length
  if (count > MAX_INLINE_VALUES) return false
  let slot = payloadWord >> 1
  const slots = slot + (payloadWords >> 1)
  let tags = count
  for (let i = 0, shift = COUNT_BITS; i < count; i++, shift += KIND_BITS) {
    const kind = writeValue(views, slot, slots, values[i])
    if (kind < 0) return false
    tags |= kind << shift
    slot += slotsOf(views, kind, slot)
  }
  views.i32[tagsWord] = tags
  return true
}

/**
 * Writes a list of values. Same parameters and result as `writeInline1`. One to three numbers, the arguments of most
 * small tasks, take a path without loops or calls.
 */
export const writeInline = (
  views: Views,
  tagsWord: number,
  payloadWord: number,
  payloadWords: number,
  values: ReadonlyArray<unknown>,
): boolean => {
  const count = values.length
  if (count > 0 && count <= 3 && payloadWords >= count * 2) {
    const { f64, i32 } = views
    const slot = payloadWord >> 1
    const first = values[0]
    if (typeof first === "number") {
      if (count === 1) {
        f64[slot] = first
        i32[tagsWord] = ONE_NUMBER
        return true
      }
      const second = values[1]
      if (typeof second === "number") {
        if (count === 2) {
          f64[slot] = first
          f64[slot + 1] = second
          i32[tagsWord] = TWO_NUMBERS
          return true
        }
        const third = values[2]
        if (typeof third === "number") {
          f64[slot] = first
          f64[slot + 1] = second
          f64[slot + 2] = third
          i32[tagsWord] = THREE_NUMBERS
          return true
        }
      }
    }
  }
  return writeGeneral(views, tagsWord, payloadWord, payloadWords, values)
}

/** Reads the values that `writeInline` (or `writeInline1`) wrote. */
export const readInline = (views: Views, tagsWord: number, payloadWord: number): Array<unknown> => {
  const tags = views.i32[tagsWord]
  let slot = payloadWord >> 1
  const { f64 } = views
  if (tags === ONE_NUMBER) return [f64[slot]]
  if (tags === TWO_NUMBERS) return [f64[slot], f64[slot + 1]]
  if (tags === THREE_NUMBERS) return [f64[slot], f64[slot + 1], f64[slot + 2]]
  const count = tags & 15
  const values: Array<unknown> = []
  for (let i = 0, shift = COUNT_BITS; i < count; i++, shift += KIND_BITS) {
    const kind = (tags >> shift) & 7
    values.push(readValue(views, kind, slot))
    slot += slotsOf(views, kind, slot)
  }
  return values
}
