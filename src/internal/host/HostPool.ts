/**
 * The host's side of a pool: puts calls into shared memory, takes their outcomes out, and closes. No Effect in here;
 * the public modules wrap it.
 */
import * as FiberRefs from "effect/FiberRefs"
import { Callers } from "../context/Callers.ts"
import { type Memory, memoryOf } from "../codec/payload.ts"
import {
  type MachineStartFailed,
  type MachineStuck,
  NotSerializable,
  type PayloadTooLarge,
  PoolClosed,
} from "../../Errors.ts"
import { currentMachine } from "../machine/current.ts"
import type { MachineInit } from "../machine/messages.ts"
import { progressBytes, viewProgress } from "../job/progressSlots.ts"
import { SharedTable } from "../machine/SharedTable.ts"
import {
  allocate,
  announceCancel,
  append,
  CLOSING,
  create,
  formatArena,
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
  STATE,
  STOPPING,
  wakeAll,
  wakeEach,
  wakep,
  wantSlots,
} from "../scheduler/index.ts"
import type { CrewOwner, Machines } from "./Crew.ts"
import { Burials } from "./Burials.ts"
import { Deliveries } from "./Deliveries.ts"
import { type Described, Job, type JobOwner } from "../job/Job.ts"
import { KeepAlive } from "./keepAlive.ts"
import { Patience } from "./Patience.ts"
import { Writer } from "./Writer.ts"

/** Megabytes that a machine's heap may take. */
export interface ResourceLimits {
  readonly maxOldGenerationSizeMb?: number
  readonly maxYoungGenerationSizeMb?: number
  readonly stackSizeMb?: number
}

/** What a pool is opened with; checked and completed by the public module. */
export interface HostPoolOptions {
  readonly procs: number
  readonly global: boolean
  /** At most one root in progress per machine. */
  readonly bounded: boolean
  readonly capacity: number
  /** Bytes. */
  readonly arena: number
  readonly spins: number
  /** Ms that a machine may take to become ready. */
  readonly startTimeout: number
  /** Ms that a task's module may take to load. */
  readonly loadTimeout: number
  /** Ms that machines may take to end before force is used. */
  readonly grace: number
  readonly startIndex: number
  /** Limits of a machine's heap, on Node. */
  readonly resourceLimits: ResourceLimits | undefined
  /** The context of whoever opens the pool; all defaults without it. */
  readonly opener?: FiberRefs.FiberRefs
  /** What to do with an error in a task's code that belongs to no call any more. */
  readonly onStray: (error: unknown) => void
  /** Told of tasks that were asked to stop, have not within the grace, and go on without a caller. */
  readonly onIgnored: (tasks: ReadonlyArray<string>) => void
}

/** What a pool is built on. */
export interface Backend {
  readonly allocate: (bytes: number) => ArrayBufferLike
  readonly machines: (s: Sched, shared: SharedTable, owner: CrewOwner) => Machines
}

/** Calls that are put in the queue under one lock. */
const BATCH = 1024
/**
 * Calls that wait to be started before no more are put beside them: enough for machines to be busy until the host
 * comes round again, and few enough for their records to stay in the processor's cache.
 */
const AHEAD = 6144
/** Longest time in ms that submitting holds the event loop. */
const SLICE_MS = 8
/** Ms between tries when there is no room and nobody will tell. */
const RETRY_MS = 5

/** How putting a call into memory went. */
type Put = "queued" | "refused" | "no room"

/** One open pool. */
export class HostPool {
  readonly s: Sched
  readonly memory: Memory
  readonly shared: SharedTable
  readonly #options: HostPoolOptions
  readonly #crew: Machines
  readonly #deliveries: Deliveries
  readonly #burials: Burials
  readonly #patience: Patience
  readonly #keepAlive = new KeepAlive()
  readonly #writer: Writer
  /** Jobs with calls to submit, in the order of their arrival; taken from the front. */
  readonly #waiting = new Set<Job>()
  readonly #batch = new Int32Array(BATCH)
  #batched = 0
  #retry: ReturnType<typeof setTimeout> | undefined
  #pumping = false
  #closed: Promise<ReadonlyArray<MachineStuck>> | undefined
  #lost: MachineStartFailed | undefined

  constructor(options: HostPoolOptions, backend: Backend) {
    this.#options = options
    this.s = create({
      procs: options.procs,
      machines: options.procs,
      capacity: options.capacity,
      arena: options.arena,
      global: options.global,
      bounded: options.bounded,
      spins: options.spins,
      startIndex: options.startIndex,
    }, backend.allocate)
    formatArena(this.s)
    this.memory = memoryOf(this.s)
    this.shared = new SharedTable(0, (notice) => this.#crew.broadcast(notice, -1))
    const callers = new Callers(this.shared, options.opener ?? FiberRefs.empty(), {
      answer: (answer, m) => this.#crew.post(m, answer),
      onStray: options.onStray,
    })
    this.#writer = new Writer(this.memory, this.shared, callers)
    const progress = backend.allocate(progressBytes(options.capacity))
    this.#deliveries = new Deliveries(this.memory, this.shared, viewProgress(progress), options.capacity, {
      onProgress: () => this.#pump(),
      onWantsMore: (job) => void this.#waiting.add(job),
      onIdle: () => this.#settleDown(),
      mayEnd: (run, count, go) => callers.mayEnd(run, count, go),
      wait: (seen) => this.#crew.wait(seen),
      doze: (ms) => this.#crew.doze(ms),
    })
    this.#patience = new Patience(options.grace, this.#deliveries, options.onIgnored)
    this.#burials = new Burials(this.memory, this.#deliveries, () => this.#pump())
    this.#crew = backend.machines(this.s, this.shared, {
      init: (m, p): MachineInit => ({
        memory: this.s.mem.buffer as SharedArrayBuffer,
        progress,
        m,
        p,
        loadTimeout: options.loadTimeout,
        nesting: (currentMachine()?.nesting ?? -1) + 1,
        seed: (Math.random() * 2 ** 32) | 1,
        shared: this.shared.all(),
        ofPool: callers.ofPool,
      }),
      onTold: (message, m) => message.kind === "told" ? callers.onTold(message, m) : callers.onQuestion(message, m),
      onShared: ({ buffer, id }, from) => {
        this.shared.add(id, buffer)
        this.#crew.broadcast({ kind: "shared", id, buffer }, from)
      },
      onStray: options.onStray,
      onDeath: async (m, p, reason) => {
        await this.#burials.bury(m, p, reason)
        callers.bury(m, new Error(`the machine ended: ${reason}`))
      },
      onLost: (error) => this.#giveUp(error),
    })
  }

  /** Starts the machines. Rejects with `MachineStartFailed`; the pool must be closed then too. */
  async start(): Promise<void> {
    this.#keepAlive.hold()
    try {
      await this.#crew.start()
    } finally {
      this.#settleDown()
    }
  }

  /** Calls in progress: queued or running. */
  get inFlight(): number {
    return this.#deliveries.inFlight
  }

  /** Submits a batch of `length` calls, at most `limit` of them in progress at once. */
  submit(owner: JobOwner, length: number, limit = Infinity): Job {
    const job = new Job(owner, length, limit)
    this.#keepAlive.hold()
    this.#waiting.add(job)
    this.#pump()
    if (length === 0) job.checkEnd()
    return job
  }

  /** How many machines have died since the pool was opened. */
  get deaths(): number {
    return this.#crew.deaths
  }

  /** Whether every P has a machine that is ready, as it should be but for a moment after a death. */
  get atFullStrength(): boolean {
    return this.#crew.atFullStrength
  }

  /** Ends machine `m` by force, where the runtime can: what runs there fails, and another takes its place. */
  kill(m: number): void {
    this.#crew.kill(m)
  }

  /**
   * Stops a job: calls that have not started never will, those that run are asked to stop. Its owner is told of the
   * end when the last one that runs has ended, or is waited for no longer. A bounded pool is there for one job: it
   * closes, so that the grace counts from here.
   */
  cancel(job: Job): void {
    if (job.cancelled || job.ended) return
    job.cancelled = true
    this.#waiting.delete(job)
    job.dropHeld()
    if (this.#deliveries.cancelAll(job)) this.#wakeForCancel()
    job.checkEnd()
    if (!job.ended) this.#options.bounded ? void this.close() : this.#patience.watch(job)
    this.#settleDown()
    this.#pump()
  }

  /**
   * Closes the pool: no more calls, queued ones fail with `PoolClosed`, running ones are asked to stop and may end.
   * Resolves, with those that could not be ended, once every other machine has ended with proof. Any number of calls
   * get the same promise.
   */
  close(): Promise<ReadonlyArray<MachineStuck>> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<ReadonlyArray<MachineStuck>> {
    const { grace } = this.#options
    const began = performance.now()
    this.#keepAlive.hold()
    Atomics.store(this.s.mem, STATE, CLOSING)
    this.#refuseWaiting()
    if (this.#deliveries.closeQueued()) this.#wakeForCancel()
    // A batch that had reached its limit has come back for more when its queued calls were ended.
    this.#refuseWaiting()
    await this.#deliveries.whenEmpty(grace)
    this.#crew.stopping()
    Atomics.store(this.s.mem, STATE, STOPPING)
    wakeAll(this.s)
    const left = Math.max(grace - (performance.now() - began), Math.min(grace, MIN_GRACE_MS))
    const stuck = await this.#crew.ended(left, (m) => this.#deliveries.taskOn(m))
    this.#burials.stop()
    this.#deliveries.abandon("the pool was closed while it ran")
    this.#refuseWaiting()
    clearTimeout(this.#retry)
    this.#keepAlive.dispose()
    return stuck
  }

  /** Submits what there is room for, first come first served. */
  #pump(): void {
    if (this.#pumping) return
    this.#pumping = true
    const began = performance.now()
    try {
      for (const job of this.#waiting) {
        if (this.#closed !== undefined || this.#lost !== undefined) {
          this.#refuseRest(job)
          continue
        }
        while (job.wantsMore) {
          if (this.#batched === BATCH) {
            if (!this.#flush()) return this.#tryLater()
            if (sizeOf(this.s, this.#queue) >= AHEAD) return this.#tryLater()
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
      if (this.#waiting.size === 0) giveBackSurplus(this.s)
      this.#deliveries.listen()
    }
  }

  /** Puts the next call of a job into memory. */
  #put(job: Job): Put {
    if (this.#deliveries.inFlight >= hostShare(this.s)) return "no room"
    const { s } = this
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
    } catch (error) {
      if (error instanceof NotSerializable) {
        this.#refuse(job, job.cursor, error)
        return "refused"
      }
      job.owner.onBroken(error)
      this.cancel(job)
      return "refused"
    }
    const written = this.#writer.write(job, call, g, this.#deliveries.inFlight === 0)
    if (written === "no room") {
      job.held = call
      return written
    }
    if (job.held !== undefined) job.dropHeld()
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
      this.#pump()
      this.#settleDown()
    })
  }

  get #queue(): number {
    return this.s.bounded ? this.s.rq : this.s.gq
  }

  /** Makes the batch visible to the machines. False if the queue's lock could not be had: then it stays. */
  #flush(): boolean {
    if (this.#batched === 0) return true
    const { s } = this
    if (!append(s, this.#queue, this.#batch, this.#batched, HOST)) return false
    this.#batched = 0
    if (s.bounded) wakeEach(s)
    wakep(s)
    this.#crew.fed()
    return true
  }

  /** Completions lead to another try as well; this is for when there are none to come. */
  #tryLater(ms = RETRY_MS): void {
    if (this.#retry !== undefined) return
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      this.#pump()
    }, ms)
  }

  #wakeForCancel(): void {
    announceCancel(this.s)
    this.#crew.nudge()
  }

  #refuseWaiting(): void {
    for (const job of [...this.#waiting]) this.#refuseRest(job)
  }

  #refuseRest(job: Job): void {
    this.#waiting.delete(job)
    job.dropHeld()
    while (job.cursor < job.length && !job.cancelled) {
      const index = job.cursor++
      let task = "unknown"
      try {
        task = job.owner.describe(index).def.name
      } catch (error) {
        job.owner.onBroken(error)
        break
      }
      job.fail(index, new PoolClosed({ task }))
    }
    job.cursor = job.length
    job.checkEnd()
  }

  /** No machine is left: what waits will never run. */
  #giveUp(error: MachineStartFailed): void {
    this.#lost = error
    this.#refuseWaiting()
    this.#deliveries.abandon(`no machine could be started any more: ${error.reason}`)
  }

  /** Lets the process end if nothing is outstanding. */
  #settleDown(): void {
    if (this.#deliveries.inFlight === 0 && this.#waiting.size === 0 && this.#closed === undefined) {
      this.#keepAlive.release()
    }
  }
}

/** After a long drain, machines still get this long in ms to leave their loops. */
const MIN_GRACE_MS = 2000
