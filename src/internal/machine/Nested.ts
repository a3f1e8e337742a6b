/**
 * Calls that Gs on this machine's event loop make: async functions, fibers, generators. What HostPool and Deliveries
 * are for the host. A call becomes a child G on the local queue, where another machine may steal it; its end comes back
 * through this machine's mailbox. A G does not end before its children.
 *
 * This cannot deadlock: the waiting G holds no processor, and with no record or no room for the arguments the call is
 * run right here, without a record, as part of its caller.
 */
import { NotSerializable, PayloadTooLarge } from "../../Errors.ts"
import { encode, sharedIds, Unsendable } from "../codec/codec.ts"
import {
  EXITED,
  hasBytes,
  INTERRUPTED,
  outcomeOf,
  putBytes,
  putInline,
  SUCCEEDED,
  takeInline,
  UNSENDABLE,
} from "../codec/payload.ts"
import { describe, tame } from "../codec/unsendable.ts"
import { type Described, Job, type JobOwner } from "../job/Job.ts"
import { ProgressWatch } from "../job/ProgressWatch.ts"
import type { TaskDef } from "../registry.ts"
import {
  allocate,
  announceCancel,
  C_SPAWNS,
  cancelQueued,
  DONE,
  FLAG_CONTEXT,
  FLAG_MAIL,
  G_FLAGS,
  G_PARENT,
  G_TASK,
  G_WAITER,
  generationOf,
  gw,
  hintOf,
  indexOf,
  largestPayload,
  machineOf,
  MAIL_SLOTS,
  makeRunnable,
  P_COUNTERS,
  put,
  pw,
  release,
  requestCancel,
  stateOf,
  statusOf,
  takeMail,
  TOLD_SHIFT,
  unpark,
  wakep,
} from "../scheduler/index.ts"
import { errorOf, type Failure } from "../taskError.ts"
import type { MachineRuntime } from "./MachineRuntime.ts"
import { runRecordless } from "./recordless.ts"
import { packedFor } from "./services.ts"
import type { Running } from "./Running.ts"
import { numberOf } from "./spawn.ts"

/** Calls of one batch that are queued or running at once. */
const WINDOW = 1024
/** Ms between tries of a detached call for which there is no room. */
const RETRY_MS = 5

/** A batch of calls, or a single one, made by a G. */
export class ChildJob extends Job {
  readonly parent: Running
  /** Gs of the calls in progress by index, 0 where there is none. */
  readonly slots: Int32Array | Array<number>
  /** Calls that are run without a record, and how to stop them. */
  readonly inlined: Set<() => void> = new Set()

  constructor(parent: Running, owner: JobOwner, length: number, limit: number) {
    super(owner, length, limit)
    this.parent = parent
    this.slots = length === 1 ? [0] : new Int32Array(length)
  }
}

/** A child G that is waited for. */
interface Awaited {
  readonly job: ChildJob
  readonly index: number
  readonly def: TaskDef
}

export class Nested {
  readonly #r: MachineRuntime
  /** By hint. */
  readonly #awaited = new Map<number, Awaited>()
  /** Hints of awaited Gs that ended on this machine: they need no mailbox. */
  #arrived: Array<number> = []
  readonly #mail = new Int32Array(MAIL_SLOTS)
  /** Of children whose callers listen, once there was one. */
  #progress: ProgressWatch | undefined

  constructor(r: MachineRuntime) {
    this.#r = r
  }

  /** Children that are queued or running. */
  get size(): number {
    return this.#awaited.size
  }

  /** The tasks of calls that nobody waits for and that have not ended. */
  detached(): ReadonlyArray<string> {
    return [...this.#awaited.values()].filter(({ job }) => job.parent.g === 0).map(({ def }) => def.name)
  }

  /** Submits a batch of calls as children of a G. */
  submit(parent: Running, owner: JobOwner, length: number, limit = Infinity): ChildJob {
    if (parent.over) throw new Error(`task "${parent.def.name}" has ended and can make no calls`)
    const job = new ChildJob(parent, owner, length, Math.min(limit, WINDOW))
    parent.jobs.add(job)
    this.#pump(job)
    this.#checkEnd(job)
    return job
  }

  #pump(job: ChildJob): void {
    while (job.wantsMore) {
      let call: Described
      try {
        call = job.describe()
      } catch (raised) {
        const error = tame(raised)
        if (error instanceof NotSerializable) {
          this.#refuse(job, error)
          job.cursor++
          continue
        }
        job.owner.onBroken(error)
        return this.cancel(job)
      }
      const refused = this.#put(job, call)
      if (refused === "no room") {
        // Others of this batch make room when they end.
        job.held = call
        if (job.inFlight > 0) return
        if (job.parent.g === 0) return void setTimeout(() => this.#pump(job), RETRY_MS)
        runRecordless(this.#r, job, call, () => this.#goOn(job))
      } else if (refused !== undefined) {
        this.#refuse(job, refused)
      }
      job.dropHeld(this.#r.shared)
      job.cursor++
    }
  }

  /** Makes a child G of a job's next call. */
  #put(job: ChildJob, { args, def }: Described): "no room" | NotSerializable | PayloadTooLarge | undefined {
    const r = this.#r
    const { m, p, s } = r
    const task = def.pool === s ? def.id : numberOf(r, def)
    const g = allocate(s, r.list, r.home, m)
    if (g === 0) return "no room"
    const packed = def.effect ? packedFor(job) : undefined
    const problem = this.#fill(job, g, def, packed === undefined ? args : [...args, packed])
    if (problem !== undefined) {
      release(s, r.list, r.home, g, m)
      return problem
    }
    const G = gw(s, g)
    s.mem[G + G_TASK] = task
    s.mem[G + G_FLAGS] = packed === undefined ? FLAG_MAIL : FLAG_MAIL | FLAG_CONTEXT
    s.mem[G + G_PARENT] = job.parent.g
    s.mem[G + G_WAITER] = m + 1
    if (job.listens) this.#listenTo(g)
    const hint = makeRunnable(s, g)
    this.#awaited.set(hint, { job, index: job.cursor, def })
    job.slots[job.cursor] = hint
    job.inFlight++
    s.mem[pw(p) + P_COUNTERS + C_SPAWNS]++
    put(s, p, hint, job.length === 1, m, r.t.spill)
    wakep(s)
    r.poke()
    return undefined
  }

  #fill(
    job: ChildJob,
    g: number,
    def: TaskDef,
    args: ReadonlyArray<unknown>,
  ): "no room" | NotSerializable | PayloadTooLarge | undefined {
    const { m, memory, s, shared } = this.#r
    if (job.heldBytes === undefined && putInline(memory, g, args)) return undefined
    let bytes = job.heldBytes
    if (bytes === undefined) {
      try {
        bytes = encode(args, "args", shared)
      } catch (error) {
        if (!(error instanceof Unsendable)) throw error
        return new NotSerializable({ task: def.name, path: error.path, reason: error.reason })
      }
      const limit = largestPayload(s)
      if (bytes.length > limit) {
        shared.unmention(sharedIds(bytes))
        return new PayloadTooLarge({ task: def.name, bytes: bytes.length, limit })
      }
    }
    if (putBytes(memory, g, bytes, m, 0)) {
      job.heldBytes = undefined
      return undefined
    }
    job.heldBytes ??= bytes.slice()
    return "no room"
  }

  /** Fails a call that cannot be sent: later, so that no caller is called back while it submits. */
  #refuse(job: ChildJob, failure: Failure): void {
    const index = job.cursor
    job.refusing++
    this.#r.ready.scheduleTask(() => {
      job.refusing--
      job.fail(index, failure)
      this.#goOn(job)
    })
  }

  #listenTo(g: number): void {
    const { progress, s } = this.#r
    this.#progress ??= new ProgressWatch(progress, (g, reported) => {
      const { index, job } = this.#awaited.get(hintOf(g, generationOf(statusOf(s, g))))!
      if (!job.cancelled) job.owner.onProgress!(index, reported)
    })
    this.#progress.begin(g)
  }

  /** Takes note that an awaited G has ended on this machine. */
  endedHere(hint: number): void {
    this.#arrived.push(hint)
    this.#r.poke()
  }

  /** Whether awaited Gs have ended here whose outcomes were not taken yet. */
  get hasArrived(): boolean {
    return this.#arrived.length > 0
  }

  /** Takes the outcomes that have arrived. Whether there may be any. Cheap while no child is waited for. */
  collect(): boolean {
    // Also if none is awaited: a look at all may have taken what is noted here, and a note keeps the loop awake.
    const here = this.#arrived.length > 0
    if (here) {
      const arrived = this.#arrived
      this.#arrived = []
      for (const hint of arrived) this.#arrive(hint)
    }
    if (this.#awaited.size === 0) return here
    const { m, s } = this.#r
    const n = takeMail(s, m, this.#mail)
    if (n < 0) { for (const hint of [...this.#awaited.keys()]) this.#arrive(hint) }
    else for (let i = 0; i < n; i++) this.#arrive(this.#mail[i])
    return here || n !== 0
  }

  #arrive(hint: number): void {
    const awaited = this.#awaited.get(hint)
    const r = this.#r
    const g = indexOf(hint)
    // A hint is only a hint: see mail.ts.
    if (awaited === undefined || stateOf(statusOf(r.s, g)) !== DONE) return
    const outcome = outcomeOf(r.memory, g)
    // What it has told the host counts as told by its caller; what a dead machine had told may never be heard.
    const told = r.s.mem[gw(r.s, g) + G_FLAGS] >>> TOLD_SHIFT
    const { parent } = awaited.job
    if (told > 0 && outcome !== EXITED && parent.g !== 0) {
      Atomics.add(r.s.mem, gw(r.s, parent.g) + G_FLAGS, told << TOLD_SHIFT)
    }
    if (!hasBytes(r.memory, g)) {
      const values = takeInline(r.memory, g)
      this.#free(hint, awaited)
      return this.#tell(awaited, outcome, values)
    }
    const bytes = r.takeBytes(g)
    this.#free(hint, awaited)
    r.shared.whenKnown(sharedIds(bytes), () => {
      let values: ReadonlyArray<unknown>
      try {
        values = r.read(bytes)
      } catch (error) {
        return this.#tell(awaited, UNSENDABLE, ["result", `reading it failed in the caller: ${describe(error)}`])
      }
      this.#tell(awaited, outcome, values)
    })
  }

  #free(hint: number, { index, job }: Awaited): void {
    const r = this.#r
    if (job.listens) this.#progress?.end(indexOf(hint))
    this.#awaited.delete(hint)
    job.slots[index] = 0
    release(r.s, r.list, r.home, indexOf(hint), r.m)
  }

  #tell({ def, index, job }: Awaited, outcome: number, values: ReadonlyArray<unknown>): void {
    job.inFlight--
    if (outcome === SUCCEEDED) job.succeed(index, values[0])
    else if (outcome === INTERRUPTED) job.owner.onInterrupted(index)
    else job.fail(index, errorOf(def.name, outcome, values))
    this.#goOn(job)
  }

  #goOn(job: ChildJob): void {
    this.#pump(job)
    this.#checkEnd(job)
  }

  #checkEnd(job: ChildJob): void {
    job.checkEnd()
    const { parent } = job
    if (!job.ended || !parent.jobs.delete(job) || parent.jobs.size > 0) return
    const go = parent.childless
    parent.childless = undefined
    if (go !== undefined) this.#r.ready.scheduleTask(go)
  }

  /** Stops a job: children that have not started never will, those that run are asked to stop. */
  cancel(job: ChildJob): void {
    if (job.cancelled || job.ended) return
    const r = this.#r
    const { s } = r
    job.cancelled = true
    job.dropHeld(this.#r.shared)
    for (let index = 0; index < job.cursor && job.inFlight > 0; index++) {
      const hint = job.slots[index]
      const g = indexOf(hint)
      if (hint === 0 || !cancelQueued(s, g, generationOf(statusOf(s, g)))) continue
      r.freePayload(g)
      this.#free(hint, this.#awaited.get(hint)!)
      job.inFlight--
      job.owner.onInterrupted(index)
    }
    // Those that run are asked to stop when none is queued any more: else one might start in the place of another.
    const running = job.slots.filter((hint) => hint !== 0)
    if (running.length > 0) {
      for (const hint of running) requestCancel(s, indexOf(hint))
      announceCancel(s)
      // Those that sleep with the child in their event loop would see it at their next look only.
      for (const hint of running) {
        const machine = machineOf(statusOf(s, indexOf(hint)))
        if (machine < s.machines) unpark(s, machine)
      }
      r.poke()
    }
    // Later, as they were begun: calls within calls would stand on one another's stack.
    for (const stop of job.inlined) r.ready.scheduleTask(() => job.inlined.has(stop) && stop())
    this.#checkEnd(job)
  }

  /** Stops all jobs of a G. */
  cancelAll(parent: Running): void {
    for (const job of [...parent.jobs]) this.cancel(job)
  }
}
