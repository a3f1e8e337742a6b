/**
 * Calls that are submitted in batches, as their items come and as there is room, and that belong together: the first
 * failure cancels all. One object per batch, none per call; no Effect in the path.
 */
import * as Cause from "effect/Cause"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import { isCall } from "../../Call.ts"
import type { Described, Job, JobOwner } from "../job/Job.ts"
import { itemIsNoCall } from "../notACall.ts"
import type { Submitter } from "../poolHost.ts"
import { causeOf, type Failure } from "../taskError.ts"

/** Who feeds, and is told. */
export interface FeedOwner<A> {
  /** The call for an item; if it throws, the feed fails with that. */
  readonly call: (item: A, index: number) => Described
  /** If it throws, the feed fails with that. */
  readonly onValue: (index: number, value: unknown) => void
  /** Nothing is in progress any more. May be called again, if more is submitted. */
  readonly onIdle: () => void
}

/** See above. */
export class Feed<A> {
  readonly host: Submitter
  readonly owner: FeedOwner<A>
  readonly caller: JobOwner["caller"] = Option.getOrUndefined(Fiber.getCurrentFiber())
  readonly #batches = new Set<Batch<A>>()
  /** How many items were submitted, and so the index of the next one. */
  submitted = 0
  /** The first failure. */
  failure: Cause.Cause<unknown> | undefined
  /** Whether no more calls are wanted, for whatever reason. */
  cancelled = false

  constructor(host: Submitter, owner: FeedOwner<A>) {
    this.host = host
    this.owner = owner
  }

  /** Whether nothing is in progress. */
  get idle(): boolean {
    return this.#batches.size === 0
  }

  /** Submits calls for `items[from]` up to and not including `items[to]`; nothing if it was cancelled. */
  submit(items: ReadonlyArray<A>, from: number, to: number): void {
    if (this.cancelled || from === to) return
    const batch = new Batch(this, items, from, this.submitted)
    this.submitted += to - from
    this.#batches.add(batch)
    batch.job = this.host.submit(batch, to - from)
    // While it was submitted, when there was no job to cancel yet.
    if (this.cancelled && !batch.job.ended) this.host.cancel(batch.job)
  }

  /** Takes note of the first failure, and cancels the rest. */
  fail(cause: Cause.Cause<unknown>): void {
    if (this.cancelled) return
    this.failure = cause
    this.cancel()
  }

  /** Cancels all calls: those not started never will be, those that run are asked to stop. */
  cancel(): void {
    if (this.cancelled) return
    this.cancelled = true
    for (const { job } of this.#batches) if (job !== undefined) this.host.cancel(job)
  }

  /** A batch has ended. */
  ended(batch: Batch<A>): void {
    this.#batches.delete(batch)
    if (this.idle) this.owner.onIdle()
  }
}

class Batch<A> implements JobOwner {
  readonly feed: Feed<A>
  readonly items: ReadonlyArray<A>
  readonly from: number
  /** Index of its first item among all. */
  readonly base: number
  job: Job | undefined

  constructor(feed: Feed<A>, items: ReadonlyArray<A>, from: number, base: number) {
    this.feed = feed
    this.items = items
    this.from = from
    this.base = base
  }

  get caller(): JobOwner["caller"] {
    return this.feed.caller
  }

  describe(index: number): Described {
    const call = this.feed.owner.call(this.items[this.from + index], this.base + index)
    if (!isCall(call)) throw itemIsNoCall(this.base + index, call)
    return call
  }

  onSuccess(index: number, value: unknown): void {
    try {
      this.feed.owner.onValue(this.base + index, value)
    } catch (error) {
      this.onBroken(error)
    }
  }

  onFailure(_: number, failure: Failure): void {
    this.feed.fail(causeOf(failure))
  }

  onInterrupted(): void {
    this.feed.fail(Cause.interrupt(FiberId.none)) // unless the feed has cancelled it
  }

  onBroken(error: unknown): void {
    this.feed.fail(Cause.die(error))
  }

  onEnd(): void {
    this.feed.ended(this)
  }
}
