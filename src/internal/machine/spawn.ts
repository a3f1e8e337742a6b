/**
 * What the sync code of a running G may do with other Gs: spawn, join, check. No promise and no Effect in the path.
 *
 * A join first tries to claim the child itself: then it is a function call. If another machine runs the child, the
 * joiner helps: it runs other Gs, whatever it finds, until the child has ended; with nothing to run it parks, and the
 * child's end wakes it. This cannot deadlock: Gs wait only for Gs that they spawned, so a waiter is older than what it
 * waits for, and a G that runs on top of a waiter's stack started after it. A circle of waits and stacks would need a
 * G that is older than itself.
 */
import * as Cause from "effect/Cause"
import { copy, encode, sharedIds, Unsendable } from "../codec/codec.ts"
import { tame } from "../codec/unsendable.ts"
import {
  hasBytes,
  INTERRUPTED,
  outcomeOf,
  putBytes,
  putInline,
  putReport,
  SUCCEEDED,
  takeInline,
} from "../codec/payload.ts"
import { Deadlock, NotSerializable, TaskFailed } from "../../Errors.ts"
import type { TaskDef } from "../registry.ts"
import {
  addTask,
  allocate,
  announceCancel,
  C_INLINED,
  C_SPAWNS,
  CANCEL_EPOCH,
  cancelQueued,
  FLAG_SYNC,
  G_CHILD,
  G_FLAGS,
  G_PARENT,
  G_PREV,
  G_SIBLING,
  G_TASK,
  G_WAITER,
  generationOf,
  gw,
  hintOf,
  makeRunnable,
  P_COUNTERS,
  put,
  pw,
  release,
  requestCancel,
  STATE,
  statusOf,
  STOPPING,
  TABLE_FULL,
  wakep,
} from "../scheduler/index.ts"
import { EffectFailed, errorOf, thrown } from "../taskError.ts"
import { Interrupted } from "./Interrupted.ts"
import { ensureRoom, SHALLOW } from "./stack.ts"
import { apply, asyncChild, isThenable, type MachineRuntime } from "./MachineRuntime.ts"
import { claimChild, waitFor } from "./waiting.ts"

/** A child's way to end. */
export type Ended = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown }

/** A spawned child: what the parent holds until it joins. */
export class Child {
  readonly machine: MachineRuntime
  readonly def: TaskDef
  readonly parent: number
  /** Its record, 0 once it was joined or if it never had one. */
  g: number
  /** Its hint, to claim it by. */
  readonly hint: number
  /** The arguments, if they are plain values that need no copy. */
  readonly args: ReadonlyArray<unknown> | undefined
  ended: Ended | undefined

  constructor(
    machine: MachineRuntime,
    def: TaskDef,
    parent: number,
    g: number,
    hint: number,
    args: ReadonlyArray<unknown> | undefined,
    ended: Ended | undefined,
  ) {
    this.machine = machine
    this.def = def
    this.parent = parent
    this.g = g
    this.hint = hint
    this.args = args
    this.ended = ended
  }

  /** Waits for the child and returns its value, or throws what it failed with. One frame less than a function would be. */
  join(): unknown {
    const r = this.machine
    if (this.ended === undefined) {
      if (r.current !== this.parent) {
        throw new Error(`task "${this.def.name}" can only be joined by the task that spawned it, before that ends`)
      }
      if (r.depth > SHALLOW) ensureRoom()
      const { g } = this
      this.ended = claimChild(r, this.hint) || !waitFor(r, g, this.hint)
        ? runClaimed(r, g, this.def, this.args)
        : collect(r, g, this.def)
      unlink(r, this.parent, g)
      this.g = 0
      release(r.s, r.list, r.home, g, r.m)
    }
    if (this.ended.ok) return this.ended.value
    throw this.ended.error
  }
}

/** Spawns a child of the current G. With no record or no room for its arguments, it is run here and now instead. */
export const spawn = (r: MachineRuntime, def: TaskDef, args: ReadonlyArray<unknown>): Child => {
  const { m, memory, s } = r
  const parent = r.current
  if (r.depth > SHALLOW) ensureRoom()
  if (parent === 0) {
    throw new Error(
      `Task.spawn of "${def.name}" outside the sync part of a task: in an Effect or generator task yield* the call, or ` +
        "Effect.fork it; in an async task spawn before the first await, or await Task.run(call)",
    )
  }
  const task = def.pool === s ? def.id : numberOf(r, def)
  const g = allocate(s, r.list, r.home, m)
  if (g === 0) return runAtOnce(r, def, args, parent)
  const G = gw(s, g)
  const { mem } = s
  mem[G + G_TASK] = task
  const inline = putInline(memory, g, args)
  if (!inline && !putEncoded(r, g, def, args)) {
    release(s, r.list, r.home, g, m)
    return runAtOnce(r, def, args, parent)
  }
  mem[G + G_FLAGS] = FLAG_SYNC
  mem[G + G_PARENT] = parent
  mem[G + G_WAITER] = m + 1
  link(r, parent, g)
  const hint = makeRunnable(s, g)
  mem[pw(r.p) + P_COUNTERS + C_SPAWNS]++
  put(s, r.p, hint, true, m, r.t.spill)
  wakep(s)
  return new Child(r, def, parent, g, hint, inline ? args : undefined, undefined)
}

/** False if the arena has no room. Throws what the caller of spawn should see. */
const putEncoded = (r: MachineRuntime, g: number, def: TaskDef, args: ReadonlyArray<unknown>): boolean => {
  try {
    const bytes = encode(args, "args", r.shared)
    const put = putBytes(r.memory, g, bytes, r.m, 0)
    if (!put) r.shared.unmention(sharedIds(bytes))
    return put
  } catch (error) {
    release(r.s, r.list, r.home, g, r.m)
    if (!(error instanceof Unsendable)) throw error
    throw new NotSerializable({ task: def.name, path: error.path, reason: error.reason })
  }
}

/** The number of a task in the pool, by which it is told to others. */
export const numberOf = (r: MachineRuntime, def: TaskDef): number => {
  const id = addTask(r.s, new TextEncoder().encode(def.key), r.m)
  if (id === TABLE_FULL) throw new Error("the pool's table of task names is full")
  r.modules.remember(id, def)
  return id
}

/** Puts `g` at the front of its parent's list of children that were not joined. Only this thread touches the list. */
const link = (r: MachineRuntime, parent: number, g: number): void => {
  const { mem } = r.s
  const G = gw(r.s, g)
  const P = gw(r.s, parent)
  const first = mem[P + G_CHILD]
  mem[G + G_PREV] = 0
  mem[G + G_SIBLING] = first
  if (first !== 0) mem[gw(r.s, first) + G_PREV] = g
  mem[P + G_CHILD] = g
}

const unlink = (r: MachineRuntime, parent: number, g: number): void => {
  const { mem } = r.s
  const G = gw(r.s, g)
  const prev = mem[G + G_PREV]
  const next = mem[G + G_SIBLING]
  if (prev !== 0) mem[gw(r.s, prev) + G_SIBLING] = next
  else mem[gw(r.s, parent) + G_CHILD] = next
  if (next !== 0) mem[gw(r.s, next) + G_PREV] = prev
}

/** Runs a child that this machine has claimed, as a function call. Its record is not ended, it is just released. */
const runClaimed = (
  r: MachineRuntime,
  g: number,
  def: TaskDef,
  plain: ReadonlyArray<unknown> | undefined,
): Ended => {
  r.s.mem[pw(r.p) + P_COUNTERS + C_INLINED]++
  let args = plain
  if (args === undefined) {
    args = hasBytes(r.memory, g) ? r.read(r.takeBytes(g)) : takeInline(r.memory, g)
  }
  return callNested(r, g, def, args)
}

/** Runs a child for which there is no record, on copies of its arguments as if there were one. */
const runAtOnce = (r: MachineRuntime, def: TaskDef, args: ReadonlyArray<unknown>, parent: number): Child => {
  const copies = copyValues(r, args)
  r.s.mem[pw(r.p) + P_COUNTERS + C_INLINED]++
  const outer = r.lent
  r.lent = parent
  const ended = callNested(r, parent, def, copies)
  r.lent = outer
  return new Child(r, def, parent, 0, 0, undefined, ended)
}

/** Calls a function on top of the current one. `g` is who spawns and checks meanwhile. */
const callNested = (r: MachineRuntime, g: number, def: TaskDef, args: ReadonlyArray<unknown>): Ended => {
  const outer = r.current
  const children = r.s.mem[gw(r.s, g) + G_CHILD]
  r.current = g
  r.depth++
  let ended: Ended
  try {
    ended = toEnded(r, def, apply(def, args))
  } catch (error) {
    // Nothing may be thrown from here: the record would stay claimed. An error takes more stack than `ensureRoom` saw.
    try {
      const thrown = tame(error)
      ended = { ok: false, error: thrown instanceof Interrupted ? thrown : failureOf(def, thrown) }
    } catch (full) {
      ended = { ok: false, error: full }
    }
  }
  if (r.s.mem[gw(r.s, g) + G_CHILD] !== children) {
    const childError = endChildren(r, g, !ended.ok, children)
    if (ended.ok && childError !== undefined) {
      try {
        ended = { ok: false, error: failureOf(def, childError.error) }
      } catch (full) {
        ended = { ok: false, error: full }
      }
    }
  }
  r.depth--
  r.current = outer
  return ended
}

/** Callers that an error tells of which passes through them. */
const MAX_TOLD = 16

/** What a task failed with, as its caller sees it. An error that passed through many callers already passes as it is. */
const failureOf = (def: TaskDef, error: unknown): unknown => {
  let inner = error
  for (let told = 0; inner instanceof TaskFailed; told++) {
    if (told === MAX_TOLD) return error
    inner = inner.error
  }
  return thrown(def.name, error)
}

/** A returned value as the parent gets it: a copy, as if it had crossed threads. */
const toEnded = (r: MachineRuntime, def: TaskDef, value: unknown): Ended => {
  if (isPlain(value)) return { ok: true, value }
  if (def.effect) return { ok: false, error: new Deadlock({ task: def.name, waits: asyncChild }) }
  if (isThenable(value)) {
    Promise.resolve(value).catch(() => {}) // its outcome is told here, whatever becomes of the promise
    return { ok: false, error: new Deadlock({ task: def.name, waits: asyncChild }) }
  }
  return copyValue(r, def, value)
}

/** Arguments as they arrive on another thread. Throws `Unsendable`. */
export const copyValues = (r: MachineRuntime, values: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  values.every(isPlain) ? values : copy(values, "args", r.shared)

/** A result as it arrives on another thread. */
export const copyValue = (r: MachineRuntime, def: TaskDef, value: unknown): Ended => {
  if (isPlain(value)) return { ok: true, value }
  try {
    return { ok: true, value: copy([value], "result", r.shared)[0] }
  } catch (error) {
    if (!(error instanceof Unsendable)) throw error
    return { ok: false, error: new NotSerializable({ task: def.name, path: error.path, reason: error.reason }) }
  }
}

/** Values that are the same on every thread and cannot be changed. */
const isPlain = (value: unknown): boolean =>
  typeof value === "number" || value === undefined || value === null || typeof value === "boolean" ||
  typeof value === "string" || typeof value === "bigint"

/** Reads how a child on another machine ended. */
const collect = (r: MachineRuntime, g: number, def: TaskDef): Ended => {
  const outcome = outcomeOf(r.memory, g)
  let values: ReadonlyArray<unknown>
  if (hasBytes(r.memory, g)) {
    const bytes = r.takeBytes(g)
    const ids = sharedIds(bytes)
    if (!r.shared.knows(ids)) {
      r.shared.unmention(ids)
      return { ok: false, error: new Deadlock({ task: def.name, waits: unknownBuffer }) }
    }
    values = r.read(bytes)
  } else {
    values = takeInline(r.memory, g)
  }
  if (outcome === SUCCEEDED) return { ok: true, value: values[0] }
  if (outcome === INTERRUPTED) return { ok: false, error: new Interrupted() }
  const failure = errorOf(def.name, outcome, values)
  if (failure instanceof EffectFailed) return { ok: false, error: Cause.squash(failure.cause) }
  return { ok: false, error: failure instanceof TaskFailed ? failureOf(def, failure.error) : failure }
}

const unknownBuffer = [
  "the result refers to shared memory made on another machine, which is announced through the event loop",
  "a sync task that joins does not give the event loop back: make the buffer in the parent, or the parent async",
]

/**
 * Sees to the children that a G did not join, those in front of `until`: if it failed they are cancelled, and in any
 * case they end before it does. Returns the first failure of one that ran to its end.
 */
export const endChildren = (
  r: MachineRuntime,
  parent: number,
  cancel: boolean,
  until = 0,
): { readonly error: unknown } | undefined => {
  const { s } = r
  const at = gw(s, parent) + G_CHILD
  if (cancel) cancelChildren(r, parent, until)
  let first: { readonly error: unknown } | undefined
  for (let g = s.mem[at]; g !== until && g !== 0; g = s.mem[at]) {
    const def = r.modules.known(s.mem[gw(s, g) + G_TASK])!
    const ended = endChild(r, g, def, hintOf(g, generationOf(statusOf(s, g))))
    unlink(r, parent, g)
    release(s, r.list, r.home, g, r.m)
    if (!ended.ok) first ??= { error: ended.error }
  }
  return first
}

const endChild = (r: MachineRuntime, g: number, def: TaskDef, hint: number): Ended => {
  for (;;) {
    try {
      return claimChild(r, hint) || !waitFor(r, g, hint) ? runClaimed(r, g, def, undefined) : collect(r, g, def)
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error
      // The parent is not wanted any more. Neither are its children, and they are waited for all the same.
      if (Atomics.load(r.s.mem, STATE) === STOPPING) return { ok: false, error }
      requestCancel(r.s, g)
      r.cleanEpoch = Atomics.load(r.s.mem, CANCEL_EPOCH)
    }
  }
}

const cancelChildren = (r: MachineRuntime, parent: number, until: number): void => {
  const { s } = r
  let running = false
  for (let g = s.mem[gw(s, parent) + G_CHILD]; g !== until && g !== 0; g = s.mem[gw(s, g) + G_SIBLING]) {
    if (cancelQueued(s, g, generationOf(statusOf(s, g)))) {
      r.freePayload(g)
      putReport(r.memory, g, INTERRUPTED, [], r.m)
    } else {
      requestCancel(s, g)
      running = true
    }
  }
  if (running) announceCancel(s)
}
