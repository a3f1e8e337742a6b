/**
 * How long callers wait for calls that were asked to stop. Nothing can make a function look whether it should: one that
 * never does would hold its caller, and with that the scope of the pool, for ever.
 */
import type { Job } from "../job/Job.ts"
import type { Deliveries } from "./Deliveries.ts"

/** Releases callers of sync and async tasks that do not stop within the grace. */
export class Patience {
  readonly #grace: number
  readonly #deliveries: Deliveries
  readonly #onIgnored: (tasks: ReadonlyArray<string>) => void

  /** `grace` in ms. `onIgnored` is told which tasks go on without a caller. */
  constructor(grace: number, deliveries: Deliveries, onIgnored: (tasks: ReadonlyArray<string>) => void) {
    this.#grace = grace
    this.#deliveries = deliveries
    this.#onIgnored = onIgnored
  }

  /**
   * Watches a job that was cancelled and has calls in progress. Callers of Effect tasks wait for as long as it takes:
   * these hear of their interruption, and what takes its time are their finalizers.
   */
  watch(job: Job): void {
    if (this.#grace === Infinity || job.packed !== null) return
    const timer = setTimeout(() => {
      const tasks = this.#deliveries.tasksOf(job)
      job.abandon()
      this.#onIgnored(tasks)
    }, this.#grace)
    job.close = () => clearTimeout(timer)
  }
}
