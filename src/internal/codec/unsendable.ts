/** Thrown by the encoder at the first value that cannot cross threads. `path` is where, `reason` is why. */
export class Unsendable extends Error {
  readonly path: string
  readonly reason: string

  constructor(path: string, reason: string) {
    super(`${path} cannot be sent to another thread: ${reason}`)
    this.path = path
    this.reason = reason
  }
}

/** What was thrown, or an error in its place if not even its class can be asked for: a proxy may be revoked, or a trap throw. */
export const tame = (thrown: unknown): unknown => {
  try {
    void (thrown instanceof Error)
    return thrown
  } catch {
    return new TypeError("what was thrown cannot be looked at: it is a proxy that is revoked, or whose traps throw")
  }
}

/** A short text for anything at all. Never throws, and runs no more of the user's code than it must. */
export const describe = (value: unknown): string => {
  try {
    if (value instanceof Error) return `${value.name}: ${value.message}`
    return String(value)
  } catch {
    return "a value that cannot be described"
  }
}
