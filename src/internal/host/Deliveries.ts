/** The Gs that the host waits for: who submitted them, and taking their outcomes in batches. */
import { MachineExited, PoolClosed } from "../../Errors.ts"
import { decode, sharedIds } from "../codec/codec.ts"
import { describe } from "../codec/unsendable.ts"
import {
  copyBytes,
  detach,
  hasBytes,
  idsIn,
  INTERRUPTED,
  type Memory,
  outcomeOf,
  SUCCEEDED,
  takeInline,
  takeInline1,
  UNSENDABLE,
} from "../codec/payload.ts"
import type { ProgressSlots } from "../job/progressSlots.ts"
import type { SharedTable } from "../machine/SharedTable.ts"
import { unpackKey } from "../registry.ts"
import {
  cancelQueued,
  doneTail,
  freeBlock,
  G_FLAGS,
  G_TASK,
  generationOf,
  gw,
  hintOf,
  HOST,
  HOST_FREE,
  HOST_HOME,
  machineOf,
  newestRecord,
  nextOf,
  release,
  requestCancel,
  RUNNING,
  stateOf,
  statusOf,
  takeDone,
  takeStack,
  taskBytes,
  TOLD_SHIFT,
  WAITING,
} from "../scheduler/index.ts"
import { errorOf } from "../taskError.ts"
import type { Job } from "../job/Job.ts"
import { ProgressWatch } from "../job/ProgressWatch.ts"

/** Outcomes taken before their records are used for new calls, while they are still in the processor's cache. */
const REFILL = 128

/** What the pool wants to know. */
export interface DeliveriesOwner {
  /** Records or room may have become free. */
  readonly onProgress: () => void
  /** A job that had reached its limit may go on. */
  readonly onWantsMore: (job: Job) => void
  /** Nothing is in flight any more. */
  readonly onIdle: () => void
  /** See `Callers.mayEnd`. */
  readonly mayEnd: (run: number, count: number, go: () => void) => boolean
}

const textDecoder = new TextDecoder()

/** The host's outstanding calls. */
export class Deliveries {
  readonly #memory: Memory
  readonly #shared: SharedTable
  readonly #owner: DeliveriesOwner
  readonly #progress: ProgressWatch
  /** Jobs with calls in flight, by their place. */
  readonly #jobs: Array<Job | undefined> = [undefined]
  /** Places in {@link #jobs} that are free. */
  readonly #vacant: Array<number> = []
  /**
   * By G: the place of the job whose call it is, 0 for none, and which of that job. Numbers, since a reference written
   * into an old array, twice for each call, is what the garbage collector keeps books of.
   */
  readonly #places: Int32Array
  readonly #indices: Int32Array
  /** Blocks that could not be freed because the arena's lock was taken. */
  #unfreed: Array<number> = []
  /** Gs that are being delivered, and their flags. By one {@link drain} at a time. */
  readonly #taken = new Int32Array(REFILL)
  readonly #flags = new Int32Array(REFILL)
  #emptied: (() => void) | undefined
  draining = false
  inFlight = 0
  /** Those in flight that were submitted alone. */
  singles = 0

  constructor(
    memory: Memory,
    shared: SharedTable,
    progress: ProgressSlots,
    capacity: number,
    owner: DeliveriesOwner,
  ) {
    this.#memory = memory
    this.#progress = new ProgressWatch(progress, (g, reported) => {
      const job = this.#jobOf(g)!
      if (!job.cancelled) job.owner.onProgress!(this.#indices[g], reported)
    })
    this.#shared = shared
    this.#owner = owner
    this.#places = new Int32Array(capacity + 1)
    this.#indices = new Int32Array(capacity + 1)
  }

  /** Takes note of a call that is about to be queued as `g`. */
  expect(job: Job, index: number, g: number): void {
    this.#places[g] = this.#placeOf(job)
    this.#indices[g] = index
    job.newest = g
    job.inFlight++
    this.inFlight++
    if (job.length === 1) this.singles++
    if (job.listens) this.#progress.begin(g)
  }

  #placeOf(job: Job): number {
    if (job.place < 0) {
      job.place = this.#vacant.pop() ?? this.#jobs.length
      this.#jobs[job.place] = job
    }
    return job.place
  }

  /** Whether the host waits for `g`. */
  expects(g: number): boolean {
    return this.#places[g] !== 0
  }

  #jobOf(g: number): Job | undefined {
    return this.#jobs[this.#places[g]]
  }

  /**
   * Resolves when nothing is in flight, at the latest after `ms` milliseconds; at once if all that is has been waited
   * for as long as anyone would.
   */
  whenEmpty(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#jobs.every((job) => job === undefined || job.ended)) return resolve()
      const timer = ms === Infinity ? undefined : setTimeout(resolve, ms)
      this.#emptied = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Takes what has arrived by now. True if anything had. Not from its own callbacks: see {@link draining}. */
  drain(): boolean {
    const { s } = this.#memory
    let delivered = 0
    this.draining = true
    for (let m = 0; m < s.machines; m++) {
      // What comes after this is for the next time: else a host whose callers submit more might never return.
      const tail = doneTail(s, m)
      for (let n; (n = takeDone(s, m, tail, this.#taken, this.#flags)) > 0; delivered += n) {
        for (let i = 0; i < n; i++) this.#tryDeliver(this.#taken[i], this.#flags[i])
        this.#owner.onProgress()
      }
    }
    for (let g = takeStack(s); g !== 0; delivered++) {
      const next = nextOf(s, g) // before the record is given back
      this.#tryDeliver(g)
      g = next
    }
    this.draining = false
    if (this.#unfreed.length > 0) this.#unfreed = this.#unfreed.filter((block) => !freeBlock(s, block, HOST))
    return delivered > 0
  }

  #tryDeliver(g: number, flags?: number): void {
    try {
      this.deliver(g, flags)
    } catch (error) {
      // Of a caller's callback. The others get their outcomes all the same.
      queueMicrotask(() => {
        throw error
      })
    }
  }

  /** Hands a DONE G's outcome to its owner: at once, or when what it told the host has been heard. */
  deliver(g: number, flags: number = this.#memory.s.mem[gw(this.#memory.s, g) + G_FLAGS]): void {
    const told = flags >>> TOLD_SHIFT
    if (told !== 0) {
      const { s } = this.#memory
      const run = hintOf(g, generationOf(statusOf(s, g)))
      const go = () => {
        this.#deliverNow(g)
        this.#owner.onProgress()
      }
      if (!this.#owner.mayEnd(run, told, go)) return
    }
    this.#deliverNow(g)
  }

  /** At once or when the shared buffers in it have come. */
  #deliverNow(g: number): void {
    const memory = this.#memory
    const outcome = outcomeOf(memory, g)
    if (!hasBytes(memory, g)) {
      if (outcome === SUCCEEDED) return this.#succeed(g, takeInline1(memory, g))
      return this.#settle(g, outcome, takeInline(memory, g))
    }
    const bytes = copyBytes(memory, g)
    const ids = sharedIds(bytes)
    if (this.#shared.knows(ids)) return this.#settleWith(g, outcome, bytes)
    // Its payload is kept until then: those that have come would be forgotten while the others have not.
    this.#shared.whenKnown(ids, () => {
      this.#settleWith(g, outcome, bytes)
      this.#owner.onProgress()
    })
  }

  #settleWith(g: number, outcome: number, bytes: Uint8Array): void {
    this.freePayload(g)
    let values: ReadonlyArray<unknown>
    try {
      values = decode(bytes, this.#shared)
    } catch (error) {
      return this.#settle(g, UNSENDABLE, ["result", `reading it failed here: ${describe(error)}`])
    }
    this.#settle(g, outcome, values)
  }

  #succeed(g: number, value: unknown): void {
    const job = this.#jobOf(g)
    if (job === undefined) return
    const index = this.#indices[g]
    this.#forget(job, g)
    job.succeed(index, value)
    this.#after(job)
  }

  #settle(g: number, outcome: number, values: ReadonlyArray<unknown>): void {
    if (outcome === SUCCEEDED) return this.#succeed(g, values[0])
    const job = this.#jobOf(g)
    if (job === undefined) return
    const index = this.#indices[g]
    // Named before the record is given back.
    const task = outcome === INTERRUPTED ? "" : this.#taskOf(g)
    this.#forget(job, g)
    if (outcome === INTERRUPTED) job.owner.onInterrupted(index)
    else job.fail(index, errorOf(task, outcome, values))
    this.#after(job)
  }

  /** Gives the record back. */
  #forget(job: Job, g: number): void {
    if (job.listens) this.#progress.end(g)
    this.#places[g] = 0
    if (--job.inFlight === 0) {
      this.#jobs[job.place] = undefined
      this.#vacant.push(job.place)
      job.place = -1
    }
    this.inFlight--
    if (job.length === 1) this.singles--
    release(this.#memory.s, HOST_FREE, HOST_HOME, g, HOST)
  }

  #after(job: Job): void {
    job.checkEnd()
    if (job.wantsMore) this.#owner.onWantsMore(job)
    if (this.inFlight > 0) return
    this.#owner.onIdle()
    this.#emptied?.()
    this.#emptied = undefined
  }

  /** Frees the payload of a G of which the host has the record. */
  freePayload(g: number): void {
    const block = detach(this.#memory, g, HOST)
    if (block === 0) return
    this.#shared.unmention(idsIn(this.#memory, block))
    if (!freeBlock(this.#memory.s, block, HOST)) this.#unfreed.push(block)
  }

  #taskOf(g: number): string {
    const { s } = this.#memory
    return unpackKey(textDecoder.decode(taskBytes(s, s.mem[gw(s, g) + G_TASK]))).name
  }

  /**
   * The Gs that the host waits for, of one job or of all. Looked for in the table, so that who submits need not keep them
   * by job; and one at a time, since callers that are told of one may submit others meanwhile.
   */
  *#inProgress(of?: Job): Generator<number> {
    if (of?.length === 1) {
      if (of.inFlight > 0) yield of.newest
      return
    }
    const last = newestRecord(this.#memory.s)
    for (let g = 1; g <= last && of?.inFlight !== 0; g++) {
      const job = this.#jobOf(g)
      if (job !== undefined && (of === undefined || job === of)) yield g
    }
  }

  /** The names of the tasks of a job's calls in progress, each once. */
  tasksOf(job: Job): ReadonlyArray<string> {
    const tasks = new Set<string>()
    for (const g of this.#inProgress(job)) tasks.add(this.#taskOf(g))
    return [...tasks]
  }

  /**
   * Stops calls: those of a job, which was cancelled, or all, since the pool closes. Ends what is queued, and only then
   * asks what runs to stop: else one that is queued might start. True if some have been asked.
   */
  stop(of?: Job): boolean {
    const { s } = this.#memory
    for (const g of this.#inProgress(of)) {
      if (!cancelQueued(s, g, generationOf(statusOf(s, g)))) continue
      const job = this.#jobOf(g)!
      const index = this.#indices[g]
      const closed = of === undefined ? new PoolClosed({ task: this.#taskOf(g), started: false }) : undefined
      this.freePayload(g)
      this.#forget(job, g)
      if (closed === undefined) job.owner.onInterrupted(index)
      else job.fail(index, closed)
      this.#after(job)
    }
    let running = false
    for (const g of this.#inProgress(of)) {
      requestCancel(s, g)
      running = true
    }
    return running
  }

  /** The task that machine `m` is running, if any; else one whose continuation it may be running. */
  taskOn(m: number): string | undefined {
    const { s } = this.#memory
    let waiting: number | undefined
    for (let g = 1; g <= newestRecord(s); g++) {
      const status = statusOf(s, g)
      if (machineOf(status) !== m) continue
      if (stateOf(status) === RUNNING) return this.#taskOf(g)
      if (stateOf(status) === WAITING) waiting ??= g
    }
    return waiting === undefined ? undefined : this.#taskOf(waiting)
  }

  /** Fails all calls in flight: nobody will run them. */
  abandon(reason: string): void {
    const { s } = this.#memory
    this.drain()
    for (const g of this.#inProgress()) {
      const job = this.#jobOf(g)!
      const index = this.#indices[g]
      const status = statusOf(s, g)
      const started = stateOf(status) === RUNNING || stateOf(status) === WAITING
      const task = this.#taskOf(g)
      this.#forget(job, g)
      job.fail(
        index,
        started ? new MachineExited({ task, machine: machineOf(status), reason }) : new PoolClosed({ task, started }),
      )
      this.#after(job)
    }
  }
}
