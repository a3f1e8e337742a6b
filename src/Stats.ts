/**
 * What a pool tells about itself.
 *
 * @since 0.1.0
 */
import type { Counters, snapshot } from "./internal/scheduler/index.ts"

/**
 * Counters of one processor since the pool was opened. `ticks`: Gs taken from queues; `inlined`: Gs run by their
 * joiner as a function call; `spawns`: Gs spawned by tasks; `stealsTried`, `stealsWon`, `stolen`: looks into others'
 * queues, those that found something, and how many Gs that were; `overflows`: times that half of a full queue went to
 * the global one; `spins`: searches without work; `parks`, `wakes`: sleeps, and those that ended by a call;
 * `globalTakes`: takes from the global queue.
 *
 * @since 0.1.0
 * @category models
 */
export type ProcStats = Counters

/**
 * A pool's state and counters. Each number is exact, but they need not be from the same moment.
 *
 * @since 0.1.0
 * @category models
 */
export interface PoolStats extends ReturnType<typeof snapshot> {
  /** Calls of the host that are queued or running. */
  readonly inFlight: number
  /** Records in use, children spawned by tasks included. */
  readonly records: number
  /** Machines that have died and were replaced, or are about to be. */
  readonly deaths: number
}
