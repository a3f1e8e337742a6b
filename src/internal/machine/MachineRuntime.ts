/**
 * What a machine does with a G that it has claimed: finds the function, reads the arguments, runs it, and writes how
 * it ended. Where the next G comes from is the loop's business (loop.ts), what a running function may do with other
 * Gs is in spawn.ts.
 */
import * as Cause from "effect/Cause"
import type * as Effect from "effect/Effect"
import { packCause } from "../codec/cause.ts"
import { decode, encode, encodeFailure, sharedIds, Unsendable } from "../codec/codec.ts"
import { strayCause } from "../codec/stray.ts"
import { tame } from "../codec/unsendable.ts"
import {
  copyBytes,
  DEADLOCK,
  detach,
  FAILED_EFFECT,
  hasBytes,
  idsIn,
  INTERRUPTED,
  type Memory,
  memoryOf,
  putBytes,
  putInline1,
  putReport,
  setOutcome,
  SUCCEEDED,
  takeInline,
  THREW,
  TOO_LARGE,
  UNSENDABLE,
} from "../codec/payload.ts"
import {
  arenaUsed,
  ENDED_WAKE,
  finish,
  FLAG_MAIL,
  FLAG_SYNC,
  freeBlock,
  G_CHILD,
  G_FLAGS,
  G_PARENT,
  G_STATUS,
  G_TASK,
  G_WAITER,
  generationOf,
  gw,
  hintOf,
  homeOf,
  largestPayload,
  listOf,
  LOST,
  type Machine,
  makeMachine,
  post,
  pushHost,
  type Sched,
  STATE,
  STOPPING,
  unpark,
} from "../scheduler/index.ts"
import type { TaskDef } from "../registry.ts"
import { isEffect, ReadyQueue } from "./fibers.ts"
import { isCancelled } from "./cancel.ts"
import { Interrupted } from "./Interrupted.ts"
import type { MachineInit, ToHost } from "./messages.ts"
import { Modules } from "./Modules.ts"
import { Nested } from "./Nested.ts"
import { type ProgressSlots, viewProgress } from "../job/progressSlots.ts"
import { callIn, Running } from "./Running.ts"
import type { Packed } from "../context/envelope.ts"
import { MachineServices, takeEnvelope } from "./services.ts"
import type { SharedTable } from "./SharedTable.ts"
import { endChildren } from "./spawn.ts"
import { Suspensions } from "./Suspensions.ts"

/** Ms between two looks at a full arena, and how many looks: ten seconds in all. */
const ROOM_NAP = 1
const ROOM_LOOKS = 10_000

/** A pool, as the machine on which it was opened sees it. */
export interface OpenPool {
  /** Resolves with those of its machines that could not be ended. */
  readonly close: () => Promise<ReadonlyArray<Error>>
}

/** One per thread. Its fields are used by the loop, by spawn and join, and by nobody else. */
export class MachineRuntime {
  readonly s: Sched
  readonly memory: Memory
  readonly t: Machine
  readonly m: number
  readonly p: number
  /** The free list of this machine's P. */
  readonly list: number
  readonly home: number
  readonly shared: SharedTable
  readonly modules: Modules
  /** Where Gs in progress here tell how far they are. */
  readonly progress: ProgressSlots
  readonly nesting: number
  /** What tasks of this machine have opened and nobody has closed yet. The machine does not end before they have. */
  readonly pools: Set<OpenPool> = new Set()
  /** The G whose sync code runs now, 0 if none. */
  current = 0
  /** That G as its own code knows it, if it has asked. */
  running: Running | undefined
  /** The G in whose name another task runs, for want of a record; 0 if none. Progress of that is not its own. */
  lent = 0
  /** How many Gs are being run by joins below the current one. */
  helping = 0
  /** How many calls stand on the stack within one another. */
  depth = 0
  /** The cancellation epoch at which the current chain of callers was found to be wanted. */
  cleanEpoch = -1
  /** Gs in progress here that wait for their task's module. */
  loading = 0
  /** Called when something happened on the event loop that the sleeping loop should look at. */
  poke: () => void = () => {}
  /** Continuations of fibers that are ready to run. */
  readonly ready: ReadyQueue = new ReadyQueue(
    () => this.poke(),
    (error) => this.services.stray("an observer of a fiber threw", strayCause(error)),
  )
  /** Gs in progress here that wait for the event loop. */
  readonly suspensions: Suspensions = new Suspensions(this)
  /** Calls that those have made. */
  readonly nested: Nested = new Nested(this)
  /** What fibers run with. */
  readonly services: MachineServices

  constructor(s: Sched, init: MachineInit, shared: SharedTable, tell: (message: ToHost) => void) {
    this.s = s
    this.memory = memoryOf(s)
    this.m = init.m
    this.p = init.p
    this.nesting = init.nesting
    this.t = makeMachine(init.m, init.p, init.seed)
    this.list = listOf(init.p)
    this.home = homeOf(init.p)
    this.shared = shared
    this.modules = new Modules(s, init.loadTimeout)
    this.progress = viewProgress(init.progress)
    this.services = new MachineServices(this, tell, init.ofPool)
  }

  /** Whether `g` can be run without waiting for a module or a shared buffer. */
  canRunNow(g: number): boolean {
    return this.modules.known(this.s.mem[gw(this.s, g) + G_TASK]) !== undefined &&
      (!hasBytes(this.memory, g) || this.shared.knows(sharedIds(copyBytes(this.memory, g))))
  }

  /** Runs a claimed G, or leaves it waiting for what it needs. */
  run(g: number): void {
    const { mem } = this.s
    const G = gw(this.s, g)
    if (mem[G + G_PARENT] === 0) this.t.roots++
    const def = this.modules.known(mem[G + G_TASK])
    if (def === undefined) return this.suspensions.load(g, mem[G + G_TASK])
    if (!hasBytes(this.memory, g)) return this.call(g, def, takeInline(this.memory, g))
    const bytes = copyBytes(this.memory, g)
    const ids = sharedIds(bytes)
    if (this.shared.knows(ids)) {
      this.freePayload(g)
      return this.#callWith(g, def, bytes)
    }
    this.suspensions.awaitBuffers(new Running(this, g, def), ids)
  }

  #callWith(g: number, def: TaskDef, bytes: Uint8Array): void {
    let args: ReadonlyArray<unknown>
    try {
      args = decode(bytes, this.shared)
    } catch (error) {
      return this.fail(g, error)
    }
    this.call(g, def, args)
  }

  /** The bytes of `g`, whose block is freed. What they mention stays mentioned until they are read. */
  takeBytes(g: number): Uint8Array {
    const bytes = copyBytes(this.memory, g)
    const block = detach(this.memory, g, this.m)
    if (block !== 0) freeBlock(this.s, block, this.m)
    return bytes
  }

  /** The values in bytes that were taken. */
  read(bytes: Uint8Array): ReadonlyArray<unknown> {
    try {
      return decode(bytes, this.shared)
    } finally {
      this.shared.unmention(sharedIds(bytes))
    }
  }

  /** Frees the block of `g`, if it has one. */
  freePayload(g: number): void {
    const block = detach(this.memory, g, this.m)
    if (block === 0) return
    this.shared.unmention(idsIn(this.memory, block))
    freeBlock(this.s, block, this.m)
  }

  /** Calls the function of a G and sees to its end. */
  call(g: number, def: TaskDef, args: ReadonlyArray<unknown>): void {
    const packed = def.effect ? takeEnvelope(this.s, g, args) : undefined
    const outer = this.current
    const outerEpoch = this.cleanEpoch
    const outerRunning = this.running
    this.current = g
    this.cleanEpoch = -1
    let value: unknown
    let failed = false
    try {
      if (def.async) {
        const running = this.running = new Running(this, g, def)
        value = callIn(running, () => apply(def, args))
      } else {
        this.running = undefined
        value = apply(def, args)
      }
    } catch (error) {
      value = error
      failed = true
    }
    if (this.s.mem[gw(this.s, g) + G_CHILD] !== 0) {
      const childError = endChildren(this, g, failed)
      if (!failed && childError !== undefined) {
        value = childError.error
        failed = true
      }
    }
    const running = this.running
    this.current = outer
    this.cleanEpoch = outerEpoch
    this.running = outerRunning
    if (!failed && def.effect && isEffect(value)) {
      this.#fork(running ?? new Running(this, g, def), value as Effect.Effect<unknown, unknown>, packed)
    } else if (!failed && isThenable(value)) this.#await(g, def, value, running)
    else if (running !== undefined && running.jobs.size > 0) this.suspensions.outlive(running, failed, value)
    else if (failed) this.fail(g, value)
    else this.succeed(g, value)
  }

  #await(g: number, def: TaskDef, promise: PromiseLike<unknown>, running: Running | undefined): void {
    if (!this.#mayWait(g)) {
      if (running !== undefined) running.over = true
      Promise.resolve(promise).catch(() => {}) // its outcome is told now, whatever becomes of the promise
      return this.report(g, DEADLOCK, asyncChild)
    }
    this.suspensions.await(running ?? new Running(this, g, def), promise)
  }

  #fork(running: Running, effect: Effect.Effect<unknown, unknown>, packed: Packed | undefined): void {
    if (!this.#mayWait(running.g)) return this.report(running.g, DEADLOCK, asyncChild)
    // It begins here, on top of who waits in a join, but not in its name.
    const outer = this.current
    this.current = 0
    this.suspensions.fork(running, effect, packed)
    this.current = outer
  }

  /** Whether the caller of `g` does without its outcome until the event loop has turned. */
  #mayWait(g: number): boolean {
    return (this.s.mem[gw(this.s, g) + G_FLAGS] & FLAG_SYNC) === 0
  }

  /** The task of a G in progress here. */
  defOf(g: number): TaskDef {
    return this.modules.known(this.s.mem[gw(this.s, g) + G_TASK])!
  }

  /** Ends a G with the value that it returned. */
  succeed(g: number, value: unknown): void {
    if (putInline1(this.memory, g, value)) {
      setOutcome(this.memory, g, SUCCEEDED)
      return this.end(g)
    }
    let bytes: Uint8Array
    try {
      bytes = encode([value], "result", this.shared)
    } catch (error) {
      const { path, reason } = error as Unsendable
      return this.report(g, UNSENDABLE, [path, reason])
    }
    this.#endWithBytes(g, SUCCEEDED, bytes)
  }

  /** Ends a G with what it threw. */
  fail(g: number, thrown: unknown): void {
    const error = tame(thrown)
    if (error instanceof Interrupted && isCancelled(this.s, g)) {
      setOutcome(this.memory, g, INTERRUPTED)
      return this.end(g)
    }
    if (putInline1(this.memory, g, error)) {
      setOutcome(this.memory, g, THREW)
      return this.end(g)
    }
    this.#endWithBytes(g, THREW, encodeFailure(error, this.shared))
  }

  /** Ends a G whose Effect failed. */
  failCause(g: number, cause: Cause.Cause<unknown>): void {
    if (Cause.isInterruptedOnly(cause) && isCancelled(this.s, g)) {
      setOutcome(this.memory, g, INTERRUPTED)
      return this.end(g)
    }
    this.#endWithBytes(g, FAILED_EFFECT, encodeFailure(packCause(cause), this.shared))
  }

  #endWithBytes(g: number, outcome: number, bytes: Uint8Array): void {
    const limit = largestPayload(this.s)
    const ids = sharedIds(bytes)
    if (bytes.length <= limit && this.#putBytes(g, bytes)) {
      setOutcome(this.memory, g, outcome)
      this.end(g)
    } else {
      this.shared.unmention(ids)
      this.report(g, TOO_LARGE, [bytes.length, Math.max(0, limit - arenaUsed(this.s) * 4)])
    }
  }

  /** A full arena is back-pressure: the machine waits for others to take their payloads out, for a bounded time. */
  #putBytes(g: number, bytes: Uint8Array): boolean {
    if (putBytes(this.memory, g, bytes, this.m, 0)) return true
    const kept = bytes.slice()
    for (let i = 0; i < ROOM_LOOKS && Atomics.load(this.s.mem, STATE) !== STOPPING; i++) {
      Atomics.wait(never, 0, 0, ROOM_NAP)
      if (putBytes(this.memory, g, kept, this.m, 0)) return true
    }
    return false
  }

  /** Ends a G with a short report of what went wrong. */
  report(g: number, outcome: number, values: ReadonlyArray<string | number>): void {
    putReport(this.memory, g, outcome, values, this.m)
    this.end(g)
  }

  /** Ends a G whose outcome is written, and tells its waiter. */
  end(g: number): void {
    const G = gw(this.s, g)
    const { mem } = this.s
    // All must be read before the G is ended: then it belongs to the waiter.
    const waiter = mem[G + G_WAITER]
    const byMail = (mem[G + G_FLAGS] & FLAG_MAIL) !== 0
    const hint = hintOf(g, generationOf(mem[G + G_STATUS]))
    if (mem[G + G_PARENT] === 0) this.t.roots--
    const ended = finish(this.s, g, this.m)
    if (ended === LOST) return
    if (waiter === 0) pushHost(this.s, this.m, g)
    else if (byMail) this.#postTo(waiter - 1, hint)
    else if (ended === ENDED_WAKE) unpark(this.s, waiter - 1)
  }

  #postTo(m: number, hint: number): void {
    if (m === this.m) this.nested.endedHere(hint)
    else post(this.s, m, hint)
  }
}

/** A word that nobody notifies. */
const never = new Int32Array(new SharedArrayBuffer(4))

/** Why a task that was spawned cannot be async. */
export const asyncChild = [
  "its caller, which spawned it, waits for it in sync code: in join(), or before it ends itself",
  "it returned a promise or an Effect, which needs the event loop that sync code does not give back: await " +
  "Task.run(call) in an async caller instead of Task.spawn(call)",
]

export const isThenable = (value: unknown): value is PromiseLike<unknown> => {
  if (typeof value !== "object" || value === null) return false
  try {
    return typeof (value as PromiseLike<unknown>).then === "function"
  } catch {
    return false // a getter that throws: the encoder will tell where
  }
}

/** Calls a task's function. Few arguments, the common case, need no spreading. */
export const apply = (def: TaskDef, args: ReadonlyArray<unknown>): unknown => {
  const fn = def.fn as (...args: ReadonlyArray<unknown>) => unknown
  switch (args.length) {
    case 1:
      return fn(args[0])
    case 2:
      return fn(args[0], args[1])
    default:
      return fn(...args)
  }
}
