/** Jobs that have calls to submit: puts these into memory as there is room, first come first served. */
import { NotSerializable, type PayloadTooLarge, PoolClosed } from "../../Errors.ts"
import { tame } from "../codec/unsendable.ts"
import type { Described, Job } from "../job/Job.ts"
import {
  allocate,
  append,
  endedCount,
  G_PARENT,
  G_WAITER,
  giveBackSurplus,
  gw,
  HOST,
  HOST_FREE,
  HOST_HOME,
  hostShare,
  makeRunnable,
  release,
  type Sched,
  sizeOf,
  wakeEach,
  wakep,
  wantSlots,
} from "../scheduler/index.ts"
import type { Deliveries } from "./Deliveries.ts"
import type { Writer } from "./Writer.ts"

/** Calls that are put in the queue under one lock. */
const BATCH = 1024
/**
 * Calls that wait to be started, or have ended and wait to be taken, before no more are put beside them: enough for
 * machines to be busy until the host comes round again, and few enough for their records to stay in the processor's
 * cache.
 */
const AHEAD = 6144
/** Longest time in ms that submitting holds the event loop. */
const SLICE_MS = 8
/** Ms between tries when there is no room and nobody will tell. */
const RETRY_MS = 5

/** How putting a call into memory went. */
type Put = "queued" | "refused" | "no room"

/** What the pool wants to know. */
export interface LineOwner {
  /** Calls were queued, and machines woken. */
  readonly onQueued: () => void
  /** The owner of a job threw when it was asked for its next call, and has been told. */
  readonly onBroken: (job: Job) => void
  /** There may be nothing left to do. */
  readonly onIdle: () => void
  /** All that there was room for has been submitted. */
  readonly onPumped: () => void
}

/** The line of jobs of one pool. */
export class Line {
  readonly #s: Sched
  readonly #writer: Writer
  readonly #deliveries: Deliveries
  readonly #owner: LineOwner
  /** In the order of their arrival; taken from the front. */
  readonly #waiting = new Set<Job>()
  readonly #batch = new Int32Array(BATCH)
  #batched = 0
  #retry: ReturnType<typeof setTimeout> | undefined
  #pumping = false
  #closed = false

  constructor(s: Sched, writer: Writer, deliveries: Deliveries, owner: LineOwner) {
    this.#s = s
    this.#writer = writer
    this.#deliveries = deliveries
    this.#owner = owner
  }

  /** Whether no job has a call to submit. */
  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  /** A job has calls to submit. */
  join(job: Job): void {
    this.#waiting.add(job)
  }

  /** A job has no more, though it has not submitted all. */
  leave(job: Job): void {
    this.#waiting.delete(job)
    this.#writer.dropHeld(job)
  }

  /** From here on all calls fail with `PoolClosed` instead. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#retry)
    for (const job of [...this.#waiting]) this.#refuseRest(job)
  }

  /** Submits what there is room for. */
  pump(): void {
    if (this.#pumping) return
    this.#pumping = true
    const began = performance.now()
    // A call on its own goes without a look at every machine.
    let room = 1
    try {
      for (const job of this.#waiting) {
        if (this.#closed) {
          this.#refuseRest(job)
          continue
        }
        while (job.wantsMore) {
          if (this.#batched >= room) {
            if (!this.#flush()) return this.#tryLater()
            room = this.#room()
            if (room === 0) return this.#tryLater()
            // The host has other things to do than to submit: a server answers requests, say.
            if (performance.now() - began > SLICE_MS) return this.#tryLater(0)
          }
          if (this.#put(job) === "no room") return this.#tryLater()
        }
        // One that has reached its limit comes back to the end of the line with its next completion.
        this.#waiting.delete(job)
        job.checkEnd()
      }
    } finally {
      this.#pumping = false
      if (!this.#flush()) this.#tryLater()
      if (this.#waiting.size === 0) giveBackSurplus(this.#s)
      this.#owner.onPumped()
    }
  }

  /** How many calls to put into the queue now, at most a batch. */
  #room(): number {
    const ahead = sizeOf(this.#s, this.#queue) + endedCount(this.#s)
    return Math.max(0, Math.min(BATCH, AHEAD - ahead))
  }

  /** Puts the next call of a job into memory. */
  #put(job: Job): Put {
    if (this.#deliveries.inFlight >= hostShare(this.#s)) return "no room"
    const s = this.#s
    let g = allocate(s, HOST_FREE, HOST_HOME, HOST)
    if (g === 0) {
      wantSlots(s)
      g = allocate(s, HOST_FREE, HOST_HOME, HOST)
      if (g === 0) return "no room"
    }
    const put = this.#fill(job, g)
    if (put !== "queued") {
      release(s, HOST_FREE, HOST_HOME, g, HOST)
      if (put === "refused") job.cursor++
      return put
    }
    const G = gw(s, g)
    s.mem[G + G_PARENT] = 0
    s.mem[G + G_WAITER] = 0
    this.#deliveries.expect(job, job.cursor++, g)
    this.#batch[this.#batched++] = makeRunnable(s, g)
    return put
  }

  /** Writes a job's next call into record `g`. */
  #fill(job: Job, g: number): Put {
    let call: Described
    try {
      call = job.describe()
    } catch (raised) {
      const error = tame(raised)
      if (error instanceof NotSerializable) {
        this.#refuse(job, job.cursor, error)
        return "refused"
      }
      job.owner.onBroken(error)
      this.#owner.onBroken(job)
      return "refused"
    }
    const written = this.#writer.write(job, call, g, this.#deliveries.inFlight === 0)
    if (written === "no room") {
      job.held = call
      return written
    }
    if (job.held !== undefined) this.#writer.dropHeld(job)
    if (written === "written") return "queued"
    this.#refuse(job, job.cursor, written)
    return "refused"
  }

  /** Fails a call that cannot be sent: later, so that no caller is called back while it submits. */
  #refuse(job: Job, index: number, error: NotSerializable | PayloadTooLarge): void {
    job.refusing++
    queueMicrotask(() => {
      job.refusing--
      job.fail(index, error)
      job.checkEnd()
      // It may have reached its limit with this one, and then left the line.
      if (job.wantsMore) this.#waiting.add(job)
      this.pump()
      this.#owner.onIdle()
    })
  }

  get #queue(): number {
    return this.#s.bounded ? this.#s.rq : this.#s.gq
  }

  /** Makes the batch visible to the machines. False if the queue's lock could not be had: then it stays. */
  #flush(): boolean {
    if (this.#batched === 0) return true
    const s = this.#s
    if (!append(s, this.#queue, this.#batch, this.#batched, HOST)) return false
    this.#batched = 0
    if (s.bounded) wakeEach(s)
    wakep(s)
    this.#owner.onQueued()
    return true
  }

  /** Completions lead to another try as well; this is for when there are none to come. */
  #tryLater(ms = RETRY_MS): void {
    if (this.#retry !== undefined || this.#closed) return
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      this.pump()
    }, ms)
  }

  #refuseRest(job: Job): void {
    this.#waiting.delete(job)
    this.#writer.dropHeld(job)
    while (job.cursor < job.length && !job.cancelled) {
      const index = job.cursor++
      let task = "unknown"
      try {
        task = job.owner.describe(index).def.name
      } catch (error) {
        job.owner.onBroken(error)
        break
      }
      job.fail(index, new PoolClosed({ task, started: false }))
    }
    job.cursor = job.length
    job.checkEnd()
  }
}
