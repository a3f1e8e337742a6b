/**
 * The machine's side of the connection to its host. One implementation per runtime, chosen by `connect`.
 */

/** What goes with a message instead of being copied. `Transferable` would be a name of the DOM's, which users may lack. */
export type Moved = ReadonlyArray<object>

/** A machine's connection to its host. */
export interface Link {
  /** What the host passed to `spawn` as `init`. */
  readonly init: unknown
  /** Sends a message to the host. */
  readonly post: (message: unknown, transfer?: Moved) => void
  /** Sets the handler for the host's messages; those that came earlier are handed over first. */
  readonly onMessage: (handler: (message: unknown) => void) => void
  /**
   * Sets the handler for errors that no one caught and rejections that no one handled in this thread. While set,
   * they do not end the thread.
   */
  readonly onStray: (handler: (error: unknown) => void) => void
  /** Ends this thread, as the last thing it does. */
  readonly exit: () => void
}
