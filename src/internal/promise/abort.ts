/**
 * What ends when a signal is aborted. One listener for each signal, however many calls are watched with it: runtimes
 * warn of many listeners, and adding one costs more than a small call.
 */

/** Something in progress that can be stopped. */
export interface Stoppable {
  /** Begins to stop it; it rejects with `reason` when it has ended. Must not throw. */
  readonly stop: (reason: unknown) => void
}

const watched = new WeakMap<AbortSignal, Watch>()

/** All that one signal stops. */
class Watch {
  readonly #signal: AbortSignal
  readonly #targets = new Set<Stoppable>()

  constructor(signal: AbortSignal) {
    this.#signal = signal
    watched.set(signal, this)
    signal.addEventListener("abort", this.#onAbort)
  }

  readonly #onAbort = (): void => {
    // The newest first: calls that wait for room would otherwise take the room of those that are cancelled before them.
    const targets = [...this.#targets].reverse()
    this.#targets.clear()
    this.#dispose()
    for (const target of targets) target.stop(this.#signal.reason)
  }

  add(target: Stoppable): void {
    this.#targets.add(target)
  }

  delete(target: Stoppable): void {
    if (this.#targets.delete(target) && this.#targets.size === 0) this.#dispose()
  }

  #dispose(): void {
    watched.delete(this.#signal)
    this.#signal.removeEventListener("abort", this.#onAbort)
  }
}

/** Has `target` stopped when the signal is aborted, or at once if it is already. */
export const watch = (signal: AbortSignal, target: Stoppable): void => {
  if (signal.aborted) target.stop(signal.reason)
  else (watched.get(signal) ?? new Watch(signal)).add(target)
}

/** Ends that. The signal keeps no listener once nothing is left that it would stop. */
export const unwatch = (signal: AbortSignal, target: Stoppable): void => watched.get(signal)?.delete(target)
