/**
 * The few messages that spawners and links exchange among themselves, beside those they carry.
 */

const key = "~runon"

/** What a note says. All but `hello` and `init` are Deno's, which tells a host little of a thread's life. */
export type Note =
  /** The link listens: the host's messages will not be lost from here on. */
  | { readonly kind: "hello" }
  /** The host's answer to `hello`, and its first message. */
  | { readonly kind: "init"; readonly init: unknown }
  /** The thread's first module listens. */
  | { readonly kind: "booted" }
  /** The host's answer to `booted`: the lock to take, and the module to load then. */
  | { readonly kind: "load"; readonly lock: string; readonly entry: string }
  /** The thread holds its lock. */
  | { readonly kind: "locked" }
  /** The entry module could not be loaded. The thread waits to be terminated, so that this note is not lost. */
  | { readonly kind: "failed"; readonly error: unknown }
  /** The last message of a thread that ends itself. */
  | { readonly kind: "bye" }

/** Marks a note, so that it can be told from the messages that a link carries. */
export const writeNote = (note: Note): unknown => ({ [key]: note })

/** The note in a message, or undefined if the message is none. */
export const readNote = (message: unknown): Note | undefined =>
  typeof message === "object" && message !== null && key in message ? message[key] as Note : undefined
