/** When the host looks for outcomes: at once, by the clock, or when it is called. */
import { hasMail, hostSleeps, type Sched, wakeWord } from "../scheduler/index.ts"
import type { Deliveries } from "./Deliveries.ts"

/** Looks at machines' rings for a lone call: some 10 microseconds. */
const LOOKS = 2000
/** After so many vain waits for a lone call, only every so-manieth is waited for. */
const MAX_UNPAID = 4
const PROBE_EVERY = 64
/** With so many calls in flight, all of them of batches, the host looks by the clock instead of being called. */
const DOZE_CALLS = 256
/** Ms between two such looks. */
const DOZE_MS = 1

/** What the pool provides. */
export interface ListenerOwner {
  /** Records or room may have become free. */
  readonly onProgress: () => void
  /** See `Machines.wait`. */
  readonly wait: (seen: number) => Promise<unknown> | undefined
  /** See `Machines.doze`. */
  readonly doze: (ms: number) => Promise<unknown>
}

/** The host's ear. */
export class Listener {
  readonly #s: Sched
  readonly #deliveries: Deliveries
  readonly #owner: ListenerOwner
  #listening = false
  /** How often in a row the host waited for a lone call in vain. */
  #unpaid = 0

  constructor(s: Sched, deliveries: Deliveries, owner: ListenerOwner) {
    this.#s = s
    this.#deliveries = deliveries
    this.#owner = owner
  }

  /** Takes what has arrived, and waits for more as long as anything is outstanding. */
  listen(): void {
    const deliveries = this.#deliveries
    // Not from a callback of `drain`: its caller listens when it is through.
    if (this.#listening || deliveries.draining) return
    while (deliveries.inFlight > 0) {
      const seen = wakeWord(this.#s)
      // Soon, because the pool listens as the last thing it does when it submits.
      if (deliveries.drain()) queueMicrotask(this.#owner.onProgress)
      if (deliveries.inFlight === 0) return
      // A machine that calls the host for each of many short Gs spends more on the calls than on the Gs.
      const dozes = deliveries.singles === 0 && deliveries.inFlight >= DOZE_CALLS
      if (!dozes && (this.#comesSoon() || !hostSleeps(this.#s))) continue
      const rung = dozes ? this.#owner.doze(DOZE_MS) : this.#owner.wait(seen)
      if (rung === undefined) continue
      this.#listening = true
      rung.then(() => {
        this.#listening = false
        deliveries.drain()
        this.#owner.onProgress()
        this.listen()
      })
      return
    }
  }

  /**
   * Waits a few microseconds for the outcome of a lone call, if such waiting has been worth it lately: to sleep and be
   * woken costs more than a small task takes.
   */
  #comesSoon(): boolean {
    const alone = this.#deliveries.inFlight === 1
    if (!alone || this.#unpaid >= MAX_UNPAID && ++this.#unpaid % PROBE_EVERY !== 0) return false
    for (let i = 0; i < LOOKS; i += this.#s.machines) {
      if (hasMail(this.#s)) {
        this.#unpaid = 0
        return true
      }
    }
    this.#unpaid++
    return false
  }
}
