/** Putting things right after a machine's death: the outcomes of what ran there, and who waited for them. */
import { EXITED, type Memory, putReport } from "../codec/payload.ts"
import {
  announceCancel,
  cancelQueued,
  DONE,
  ENDED_WAKE,
  finish,
  FLAG_MAIL,
  FREE,
  G_FLAGS,
  G_WAITER,
  generationOf,
  gw,
  hintOf,
  HOST,
  HOST_FREE,
  HOST_HOME,
  LOST,
  post,
  release,
  requestCancel,
  RUNNABLE,
  stateOf,
  statusOf,
  sweep,
  unpark,
  wakeAll,
} from "../scheduler/index.ts"
import type { Deliveries } from "./Deliveries.ts"

/** Ms between tries to sweep up. */
const RETRY_MS = 5
/** Ms between two looks whether orphans have ended. */
const ORPHANS_MS = 50

export class Burials {
  readonly #memory: Memory
  readonly #deliveries: Deliveries
  readonly #onProgress: () => void
  /**
   * Gs of dead machines that run elsewhere and that nobody waits for. A set, since the next death of a machine of the
   * same number finds them again, and one that were in here twice could be thrown away twice.
   */
  readonly #orphans = new Set<number>()
  #stopped = false
  #watching: ReturnType<typeof setTimeout> | undefined

  /** `onProgress`: records or room may have become free. */
  constructor(memory: Memory, deliveries: Deliveries, onProgress: () => void) {
    this.#memory = memory
    this.#deliveries = deliveries
    this.#onProgress = onProgress
  }

  /** Sweeps up after machine `m` of P `p`. Its Gs fail with `MachineExited`. */
  async bury(m: number, p: number, reason: string): Promise<void> {
    const { s } = this.#memory
    const deliveries = this.#deliveries
    for (;;) {
      // What it had completed goes first; then a DONE G of its that is still here was never announced.
      deliveries.drain()
      const remains = sweep(s, m, p)
      if (remains !== undefined) {
        for (const g of remains.running) this.#fail(g, m, reason)
        for (const g of remains.done) {
          if (deliveries.expects(g)) deliveries.deliver(g)
          else this.#post(g, m)
        }
        for (const g of remains.orphans) this.#orphans.add(g)
        this.#endOrphans()
        wakeAll(s)
        this.#onProgress()
        return
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }

  /** No machine is left: there is nothing to wait for any more. */
  stop(): void {
    this.#stopped = true
    clearTimeout(this.#watching)
  }

  /** Nobody is told of the ends of orphans, since who would have been is dead: so the host looks for them. */
  #endOrphans(): void {
    for (const g of this.#orphans) {
      if (this.#discard(g)) this.#orphans.delete(g)
    }
    clearTimeout(this.#watching)
    if (this.#orphans.size === 0 || this.#stopped) return
    announceCancel(this.#memory.s)
    this.#watching = setTimeout(() => this.#endOrphans(), ORPHANS_MS)
  }

  /** Ends a G that ran on a dead machine, and tells its waiter. */
  #fail(g: number, m: number, reason: string): void {
    const { s } = this.#memory
    const waiter = s.mem[gw(s, g) + G_WAITER]
    this.#deliveries.freePayload(g)
    putReport(this.#memory, g, EXITED, [m, reason], HOST)
    const ended = finish(s, g, m)
    if (ended === LOST) return
    if (waiter === 0) this.#deliveries.deliver(g)
    else if (ended === ENDED_WAKE && waiter !== m + 1) unpark(s, waiter - 1)
    else this.#post(g, m)
  }

  /** Tells a living machine by mail that a G it waits for has ended. To tell it twice does no harm. */
  #post(g: number, dead: number): void {
    const { s } = this.#memory
    const waiter = s.mem[gw(s, g) + G_WAITER]
    if (waiter === 0 || waiter === dead + 1 || (s.mem[gw(s, g) + G_FLAGS] & FLAG_MAIL) === 0) return
    post(s, waiter - 1, hintOf(g, generationOf(statusOf(s, g))))
  }

  /** Throws away a G that nobody waits for. False if it still runs: it was asked to stop, try again later. */
  #discard(g: number): boolean {
    const { s } = this.#memory
    const status = statusOf(s, g)
    const state = stateOf(status)
    if (state === FREE) return true
    if (state === DONE || (state === RUNNABLE && cancelQueued(s, g, generationOf(status)))) {
      this.#deliveries.freePayload(g)
      release(s, HOST_FREE, HOST_HOME, g, HOST)
      return true
    }
    requestCancel(s, g)
    return false
  }
}
