/**
 * Keeps the process alive while calls are outstanding: no runtime counts a pending `Atomics.waitAsync` as a reason to
 * go on, and none should be given while a pool is idle.
 */

interface Timer {
  readonly ref?: () => void
  readonly unref?: () => void
}

interface DenoTimers {
  readonly refTimer: (timer: unknown) => void
  readonly unrefTimer: (timer: unknown) => void
}

/** Longest delay that every runtime accepts. Nothing happens when it is over. */
const FOREVER = 2 ** 31 - 1

/** One handle on the event loop that can be held and let go, cheaply and often. */
export class KeepAlive {
  readonly #timer = setInterval(() => {}, FOREVER)
  readonly #deno = (globalThis as { readonly Deno?: DenoTimers }).Deno
  #held = true

  constructor() {
    this.release()
  }

  hold(): void {
    if (this.#held) return
    this.#held = true
    if (this.#deno !== undefined) this.#deno.refTimer(this.#timer)
    else (this.#timer as unknown as Timer).ref?.()
  }

  release(): void {
    if (!this.#held) return
    this.#held = false
    if (this.#deno !== undefined) this.#deno.unrefTimer(this.#timer)
    else (this.#timer as unknown as Timer).unref?.()
  }

  /** Removes the handle for good. */
  dispose(): void {
    clearInterval(this.#timer)
  }
}
