/** Values in variables: their hashes, their copies, and which objects never change. */

const scramble = (h: number): number => {
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}

/** The first half of the hash of a pair. */
export const mix1 = (a: number, b: number): number =>
  scramble(Math.imul(a ^ 0x2545f491, 0x9e3779b1) + Math.imul(b ^ 0x1b873593, 0xcc9e2d51))

/** The second half, independent of the first. */
export const mix2 = (a: number, b: number): number =>
  scramble(Math.imul(a ^ 0x7feb352d, 0x846ca68b) ^ Math.imul(b + 0x3c6ef372, 0x27d4eb2f))

const constants = new WeakMap<object, number>()
let named = 0

/** Declares that an object's own fields never change: its state, if any, lives in the simulated memory. */
export const constant = <A extends object>(value: A): A => {
  constants.set(value, ++named)
  return value
}

export const isConstant = (value: object): boolean => constants.has(value)

/** A hash of what a variable holds. */
export const hashValue = (value: unknown): number => {
  switch (typeof value) {
    case "number":
      return value
    case "boolean":
      return value ? 0x51ed270b : 0x2f0b4419
    case "string":
      return Math.imul(value.length, 31) + value.charCodeAt(0) + 0x7f4a7c15
    case "object": {
      if (value === null) return 0x1656667b
      const name = constants.get(value)
      if (name !== undefined) return name * 0x165667b1
      if (ArrayBuffer.isView(value)) {
        let h = 0x3243f6a8
        for (const x of value as Uint8Array) h = mix1(h, x)
        return h
      }
      if (value instanceof Set) {
        let h = 0x13198a2e
        for (const x of value) h ^= mix1(1, hashValue(x))
        return h
      }
      let h = Array.isArray(value) ? 0x243f6a88 : 0x452821e6
      for (const x of Object.values(value)) h = mix1(h, hashValue(x))
      return h
    }
    default:
      return 0x0a409382
  }
}

/** A copy of a thread's own data: arrays, typed arrays, sets and plain objects. */
export const cloned = (value: unknown, copies: Map<object, unknown>): unknown => {
  if (typeof value !== "object" || value === null || isConstant(value)) return value
  const known = copies.get(value)
  if (known !== undefined) return known
  if (ArrayBuffer.isView(value)) {
    const copy = (value as Uint8Array).slice()
    copies.set(value, copy)
    return copy
  }
  if (value instanceof Set) {
    const copy = new Set(value)
    copies.set(value, copy)
    return copy
  }
  const copy: Record<string, unknown> = Array.isArray(value) ? [] as unknown as Record<string, unknown> : {}
  copies.set(value, copy)
  for (const key of Object.keys(value)) copy[key] = cloned((value as Record<string, unknown>)[key], copies)
  return copy
}
