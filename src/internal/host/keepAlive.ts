/**
 * Keeps the process alive while calls are outstanding: no runtime counts a pending `Atomics.waitAsync` as a reason to
 * go on, and none should be given while a pool is idle.
 */

/** Time in ms after which a handle that is not needed any more is let go, or soon after. */
const LINGER_MS = 20

/**
 * One reason for the event loop to go on: an interval that runs while it is needed and a little longer. Calls come
 * and go every few microseconds, so taking and leaving it cost no more than an assignment while it runs.
 */
export class KeepAlive {
  #needed = false
  #disposed = false
  #timer: ReturnType<typeof setInterval> | undefined

  /** From here on the process stays alive. Not after {@link dispose}: what is refused then is no reason. */
  hold(): void {
    if (this.#disposed) return
    this.#needed = true
    this.#timer ??= setInterval(() => this.#check(), LINGER_MS)
  }

  /** From here on, and after a moment, this is no reason to stay alive. */
  release(): void {
    this.#needed = false
  }

  #check(): void {
    if (!this.#needed) this.#letGo()
  }

  /** Lets go at once, and for good. */
  dispose(): void {
    this.#disposed = true
    this.#letGo()
  }

  #letGo(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
