/**
 * The host's side of a pool: puts calls into shared memory, takes their outcomes out, and closes. No Effect in here;
 * the public modules wrap it.
 */
import * as FiberRefs from "effect/FiberRefs"
import { Callers } from "../context/Callers.ts"
import { type Memory, memoryOf } from "../codec/payload.ts"
import type { MachineStartFailed, MachineStuck } from "../../Errors.ts"
import { currentMachine } from "../machine/current.ts"
import type { MachineInit } from "../machine/messages.ts"
import { progressBytes, viewProgress } from "../job/progressSlots.ts"
import { mentionsBytes } from "../scheduler/mentions.ts"
import { Forgetting } from "./Forgetting.ts"
import { SharedTable } from "../machine/SharedTable.ts"
import {
  announceCancel,
  CLOSING,
  create,
  formatArena,
  type Sched,
  STATE,
  STOPPING,
  wakeAll,
} from "../scheduler/index.ts"
import type { CrewOwner, Machines } from "./Crew.ts"
import { Burials } from "./Burials.ts"
import { Deliveries } from "./Deliveries.ts"
import { Job, type JobOwner } from "../job/Job.ts"
import { KeepAlive } from "./keepAlive.ts"
import { Line } from "./Line.ts"
import { Listener } from "./Listener.ts"
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
  readonly #line: Line
  /** Where it was opened, if a task did that. */
  readonly #machine = currentMachine()
  #closed: Promise<ReadonlyArray<MachineStuck>> | undefined

  constructor(options: HostPoolOptions, backend: Backend) {
    this.#options = options
    this.#machine?.pools.add(this)
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
    const mentions = backend.allocate(mentionsBytes(options.procs))
    const words = new Int32Array(mentions)
    this.shared = new SharedTable(0, words, (notice) => {
      this.#crew.broadcast(notice, -1)
      forgetting.added(notice.buffer)
    })
    const forgetting = new Forgetting(this.shared, words, options.procs, (notice) => this.#crew.broadcast(notice, -1))
    const callers = new Callers(this.shared, options.opener ?? FiberRefs.empty(), {
      answer: (answer, m) => this.#crew.post(m, answer),
      onStray: options.onStray,
    })
    const progress = backend.allocate(progressBytes(options.capacity))
    this.#deliveries = new Deliveries(this.memory, this.shared, viewProgress(progress), options.capacity, {
      onProgress: () => this.#line.pump(),
      onWantsMore: (job) => this.#line.join(job),
      onIdle: () => this.#settleDown(),
      mayEnd: (run, count, go) => callers.mayEnd(run, count, go),
    })
    const listener = new Listener(this.s, this.#deliveries, {
      onProgress: () => this.#line.pump(),
      wait: (seen) => this.#crew.wait(seen),
      doze: (ms) => this.#crew.doze(ms),
    })
    this.#patience = new Patience(options.grace, this.#deliveries, options.onIgnored)
    const writer = new Writer(this.memory, this.shared, callers)
    this.#line = new Line(this.s, writer, this.#deliveries, {
      onQueued: () => this.#crew.fed(),
      onBroken: (job) => this.cancel(job),
      onIdle: () => this.#settleDown(),
      onPumped: () => listener.listen(),
    })
    this.#burials = new Burials(this.memory, this.#deliveries, () => this.#line.pump())
    this.#crew = backend.machines(this.s, this.shared, {
      init: (m, p): MachineInit => {
        forgetting.starting(m)
        return {
          memory: this.s.mem.buffer as SharedArrayBuffer,
          progress,
          m,
          p,
          loadTimeout: options.loadTimeout,
          nesting: (this.#machine?.nesting ?? -1) + 1,
          seed: (Math.random() * 2 ** 32) | 1,
          shared: this.shared.all(),
          lost: this.shared.lost,
          mentions,
          ofPool: callers.ofPool,
        }
      },
      onTold: (message, m) => message.kind === "told" ? callers.onTold(message, m) : callers.onQuestion(message, m),
      onShared: ({ buffer, id }, from) => {
        this.shared.add(id, buffer)
        this.#crew.broadcast({ kind: "shared", id, buffer }, from)
        forgetting.added(buffer)
      },
      onStray: options.onStray,
      onDeath: async (m, p, reason) => {
        const ids = this.shared.lostWith(m)
        if (ids.length > 0) {
          this.shared.lose(ids)
          this.#crew.broadcast({ kind: "lost", ids }, m)
        }
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
    this.#line.join(job)
    this.#line.pump()
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
    this.#line.leave(job)
    if (this.#deliveries.stop(job)) this.#wakeForCancel()
    job.checkEnd()
    if (!job.ended) this.#options.bounded ? void this.close() : this.#patience.watch(job)
    this.#settleDown()
    this.#line.pump()
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
    this.#line.close()
    if (this.#deliveries.stop()) this.#wakeForCancel()
    // A batch that had reached its limit has come back for more when its queued calls were ended.
    this.#line.pump()
    await this.#deliveries.whenEmpty(grace)
    this.#crew.stopping()
    Atomics.store(this.s.mem, STATE, STOPPING)
    wakeAll(this.s)
    const left = Math.max(grace - (performance.now() - began), Math.min(grace, MIN_GRACE_MS))
    const stuck = await this.#crew.ended(left, (m) => this.#deliveries.taskOn(m))
    this.#burials.stop()
    this.#deliveries.abandon("the pool was closed while it ran")
    this.#line.pump()
    this.#keepAlive.dispose()
    this.#machine?.pools.delete(this)
    return stuck
  }

  #wakeForCancel(): void {
    announceCancel(this.s)
    this.#crew.nudge()
  }

  /** No machine is left: what waits will never run. */
  #giveUp(error: MachineStartFailed): void {
    this.#line.close()
    this.#deliveries.abandon(`no machine could be started any more: ${error.reason}`)
  }

  /** Lets the process end if nothing is outstanding. */
  #settleDown(): void {
    if (this.#deliveries.inFlight === 0 && this.#line.isEmpty && this.#closed === undefined) {
      this.#keepAlive.release()
    }
  }
}

/** After a long drain, machines still get this long in ms to leave their loops. */
const MIN_GRACE_MS = 2000
