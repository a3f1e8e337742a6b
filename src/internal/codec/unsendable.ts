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

/** A short text for anything at all. Never throws, and runs no more of the user's code than it must. */
export const describe = (value: unknown): string => {
  try {
    if (value instanceof Error) return `${value.name}: ${value.message}`
    return String(value)
  } catch {
    return "a value that cannot be described"
  }
}
