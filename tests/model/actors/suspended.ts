/**
 * What machines do with Gs that wait for their event loop and with the calls that those make, in the composition of
 * MachineRuntime.ts, Suspensions.ts, Nested.ts and cancel.ts, without values, functions and promises. Kept close to
 * them, like machines.ts.
 */
import {
  adoptBlock,
  allocate,
  announceCancel,
  append,
  CANCEL_EPOCH,
  cancelQueued,
  DONE,
  ENDED_WAKE,
  finish,
  FLAG_CANCEL,
  FLAG_MAIL,
  freeBlock,
  G_BLOCK,
  G_FLAGS,
  G_PARENT,
  G_STATUS,
  G_TASK,
  G_WAITER,
  generationOf,
  gw,
  hintOf,
  homeOf,
  indexOf,
  listOf,
  LOST,
  machineOf,
  MAIL_SLOTS,
  makeRunnable,
  post,
  pushHost,
  put,
  release,
  requestCancel,
  ringHost,
  setRunning,
  setWaiting,
  stateOf,
  statusOf,
  takeMail,
  unclaim,
  unpark,
  wakeEach,
  wakep,
} from "../../../src/internal/scheduler/index.ts"
import { COLLECTED, KNOWN, LONG, ORPHANS, promise, RAN, type Sim, type SimMachine, STARTED } from "./ghosts.ts"
import { beginLife, endLife, lookAt } from "./progress.ts"

// ---- what a suspended G waits for -------------------------------------------------------------------------------

/** For something on the event loop, which happens when the machine has nothing else to do. */
export const EVENT = 1
/** For a shared buffer: then it is queued again. */
export const BUFFER = 2
/** For what never comes. */
export const NEVER = 3
/** It was stopped, and waits for the ends of its calls. */
const STOPPED = 4
/** For the ends of its calls; what is more is the number of calls that it will make after that. */
export const CALLS = 10

/** A G's task as a caller: 100 times the place of what it calls in here, 10 times the calls for later, calls at once. */
export const CALLER = 4000
/** A task that ends when it is asked to. */
export const ENDLESS = 2000
/** A task that suspends once. A join cannot run it. */
export const ASYNC = 1000
/** A task that suspends until it is stopped. */
export const FOREVER = 1002
/** A task that suspends before it starts, and is then run by anybody. */
export const NEEDS_BUFFER = 1003
/** As {@link NEEDS_BUFFER}, and then as {@link FOREVER}. */
export const LATE_FOREVER = 1004
/** A task that reports how far it is, as often as the last digit says. Its caller listens. */
export const REPORTER = 5000
const CALLED = [0, ENDLESS, FOREVER, ASYNC, NEEDS_BUFFER, CALLER + 1, CALLER + 201, REPORTER + 2]

// ---- MachineRuntime.ts ------------------------------------------------------------------------------------------

/** MachineRuntime.end. False if the G was ended by somebody else. */
export function end(s: Sim, t: SimMachine, g: number): boolean {
  const G = gw(s, g)
  const waiter = s.mem[G + G_WAITER]
  const byMail = (s.mem[G + G_FLAGS] & FLAG_MAIL) !== 0
  const hint = hintOf(g, generationOf(s.mem[G + G_STATUS]))
  if (s.mem[G + G_PARENT] === 0) t.roots--
  const ended = finish(s, g, t.m)
  // Only the sweep may do that, and who runs this lives.
  promise(ended !== LOST, `G${g} was taken from machine ${t.m}, which had it in hand`)
  if (waiter === 0) pushHost(s, t.m, g)
  else if (byMail) postTo(s, t, waiter - 1, hint)
  else if (ended === ENDED_WAKE) unpark(s, waiter - 1)
  // For the timer of Burials.#endOrphans.
  if (s.mem[s.ghosts + ORPHANS + g] !== 0) ringHost(s)
  return true
}

/** MachineRuntime.#postTo, and Nested.endedHere. */
function postTo(s: Sim, t: SimMachine, m: number, hint: number): void {
  if (m === t.m) t.arrived[indexOf(hint)] = hint
  else post(s, m, hint)
}

/** payload.ts, `detach`, and the free that follows. */
export function freePayload(s: Sim, t: SimMachine, g: number): void {
  const G = gw(s, g)
  const block = s.mem[G + G_BLOCK]
  if (block === 0) return
  adoptBlock(s, block, t.m)
  Atomics.store(s.mem, G + G_BLOCK, 0)
  freeBlock(s, block, t.m)
}

/** cancel.ts, `isCancelled`. */
export function isCancelled(s: Sim, g: number): boolean {
  for (let at = g; at !== 0; at = s.mem[gw(s, at) + G_PARENT]) {
    const flags = Atomics.load(s.mem, gw(s, at) + G_FLAGS)
    if ((flags & FLAG_CANCEL) !== 0) return true
    if ((flags & FLAG_MAIL) !== 0) return false
  }
  return false
}

// ---- Suspensions.ts ---------------------------------------------------------------------------------------------

/** Suspensions.#suspend. */
export function suspend(s: Sim, t: SimMachine, g: number, what: number): void {
  setWaiting(s, g, t.m)
  t.suspended[g] = what
  if (isCancelled(s, g)) t.seenEpoch = -1
}

function anySuspended(s: Sim, t: SimMachine): boolean {
  for (let g = 1; g <= s.capacity; g++) {
    if (t.suspended[g] !== 0) return true
  }
  return false
}

/** Suspensions.endCancelled. */
export function endCancelled(s: Sim, t: SimMachine): boolean {
  if (!anySuspended(s, t)) return false
  const epoch = Atomics.load(s.mem, CANCEL_EPOCH)
  if (epoch === t.seenEpoch) return false
  t.seenEpoch = epoch
  let some = false
  for (let g = 1; g <= s.capacity; g++) {
    const stopping = t.suspended[g] === 0 || t.suspended[g] === STOPPED
    if (!stopping && isCancelled(s, g)) {
      t.suspended[g] = STOPPED
      cancelCalls(s, t, g)
      if (!hasCalls(s, t, g)) goOn(s, t, g)
      some = true
    }
  }
  return some
}

/** Suspensions.#resume, and the end that follows. */
function goOn(s: Sim, t: SimMachine, g: number): void {
  t.suspended[g] = 0
  promise(end(s, t, g), `G${g} was taken from machine ${t.m} while it was suspended there`)
}

/** A G with which the event loop would go on now, 0 if there is none. */
export function ready(s: Sim, t: SimMachine): number {
  if (s.mem[s.ghosts + LONG + t.m] > s.mem[s.ghosts + STARTED]) return 0
  for (let g = 1; g <= s.capacity; g++) {
    if (t.suspended[g] === EVENT || t.suspended[g] === BUFFER) return g
  }
  return 0
}

/** The event loop goes on with a G. */
export function happen(s: Sim, t: SimMachine, g: number): void {
  s.mem[s.ghosts + LONG + t.m] = 0
  if (t.suspended[g] === EVENT) return goOn(s, t, g)
  t.suspended[g] = 0
  s.mem[s.ghosts + KNOWN] = 1
  queueAgain(s, t, g)
}

/** Suspensions.#queueAgain. */
function queueAgain(s: Sim, t: SimMachine, g: number): void {
  const root = s.mem[gw(s, g) + G_PARENT] === 0
  if (root) t.roots--
  setRunning(s, g, t.m)
  t.spill[0] = unclaim(s, g, t.m)
  append(s, s.bounded && root ? s.rq : s.gq, t.spill, 1, t.m)
  if (s.bounded) wakeEach(s)
  wakep(s)
}

// ---- Nested.ts --------------------------------------------------------------------------------------------------

/** A G makes the calls that its task makes at once, and waits for their ends. */
export function makeCalls(s: Sim, t: SimMachine, g: number, task: number): void {
  for (let n = task % 10; n > 0; n--) call(s, t, g, CALLED[Math.floor((task - CALLER) / 100)])
  suspend(s, t, g, CALLS + Math.floor(task / 10) % 10)
}

/** Callers whose calls have ended go on, as ReadyQueue.run or the event loop lets them: call again, or end. */
export function continueCallers(s: Sim, t: SimMachine): void {
  for (let g = 1; g <= s.capacity; g++) {
    while (t.suspended[g] >= CALLS && !hasCalls(s, t, g)) {
      if (t.suspended[g] === CALLS) goOn(s, t, g)
      else {
        t.suspended[g]--
        call(s, t, g, CALLED[Math.floor((s.mem[gw(s, g) + G_TASK] - CALLER) / 100)])
      }
    }
  }
}

/** Nested.#put. With no record the call is run at once, and has no part here. */
export function call(s: Sim, t: SimMachine, caller: number, task: number): void {
  const g = allocate(s, listOf(t.p), homeOf(t.p), t.m)
  if (g === 0) return
  const G = gw(s, g)
  s.mem[G + G_TASK] = task
  s.mem[G + G_FLAGS] = FLAG_MAIL
  s.mem[G + G_PARENT] = caller
  s.mem[G + G_WAITER] = t.m + 1
  s.mem[s.ghosts + RAN + g] = 0
  beginLife(s, g, task >= REPORTER)
  const hint = makeRunnable(s, g)
  promise(t.awaited[g] === 0, `the record of G${g} was given out while its end is waited for`)
  t.awaited[g] = hint
  t.callers[g] = caller
  put(s, t.p, hint, true, t.m, t.spill)
  wakep(s)
}

/** Whether calls of a G are in progress. */
function hasCalls(s: Sim, t: SimMachine, caller: number): boolean {
  for (let g = 1; g <= s.capacity; g++) {
    if (t.awaited[g] !== 0 && t.callers[g] === caller) return true
  }
  return false
}

/** Whether calls are in progress. */
export function awaitsAny(s: Sim, t: SimMachine): boolean {
  for (let g = 1; g <= s.capacity; g++) {
    if (t.awaited[g] !== 0) return true
  }
  return false
}

/** Nested.hasArrived. */
export function hasArrived(s: Sim, t: SimMachine): boolean {
  for (let g = 1; g <= s.capacity; g++) {
    if (t.arrived[g] !== 0) return true
  }
  return false
}

/** Nested.collect. */
export function collect(s: Sim, t: SimMachine): void {
  if (hasArrived(s, t)) {
    const arrived: Array<number> = []
    for (let g = 1; g <= s.capacity; g++) {
      if (t.arrived[g] !== 0) arrived.push(t.arrived[g])
      t.arrived[g] = 0
    }
    for (const hint of arrived) arrive(s, t, hint)
  }
  if (!awaitsAny(s, t)) return
  const hints = new Int32Array(MAIL_SLOTS)
  const n = takeMail(s, t.m, hints)
  if (n < 0) {
    for (let g = 1; g <= s.capacity; g++) {
      if (t.awaited[g] !== 0) arrive(s, t, t.awaited[g])
    }
  } else {
    for (let i = 0; i < n; i++) arrive(s, t, hints[i])
  }
}

/** Nested.#arrive. */
function arrive(s: Sim, t: SimMachine, hint: number): void {
  const g = indexOf(hint)
  if (t.awaited[g] !== hint || stateOf(statusOf(s, g)) !== DONE) return
  promise(stateOf(statusOf(s, g)) === DONE, `the outcome of G${g} was taken before it had ended`)
  s.mem[s.ghosts + COLLECTED]++
  freePayload(s, t, g)
  forget(s, t, g)
  const caller = t.callers[g]
  if (t.suspended[caller] === STOPPED && !hasCalls(s, t, caller)) goOn(s, t, caller)
}

/** The timer of ProgressWatch.ts, which here comes in every round of the loop. */
export function lookAtCalls(s: Sim, t: SimMachine): void {
  for (let g = 1; g <= s.capacity; g++) {
    if (t.awaited[g] !== 0) lookAt(s, g)
  }
}

/** Nested.#free. */
function forget(s: Sim, t: SimMachine, g: number): void {
  endLife(s, g)
  t.awaited[g] = 0
  release(s, listOf(t.p), homeOf(t.p), g, t.m)
}

/** Nested.cancel. */
function cancelCalls(s: Sim, t: SimMachine, caller: number): void {
  for (let g = 1; g <= s.capacity; g++) {
    if (t.awaited[g] === 0 || t.callers[g] !== caller) continue
    if (!cancelQueued(s, g, generationOf(statusOf(s, g)))) continue
    promise(s.mem[s.ghosts + RAN + g] === 0, `G${g} was cancelled as not started, and had started`)
    freePayload(s, t, g)
    forget(s, t, g)
  }
  let asked = false
  for (let g = 1; g <= s.capacity; g++) {
    if (t.awaited[g] === 0 || t.callers[g] !== caller) continue
    requestCancel(s, g)
    asked = true
  }
  if (!asked) return
  announceCancel(s)
  for (let g = 1; g <= s.capacity; g++) {
    if (t.awaited[g] === 0 || t.callers[g] !== caller) continue
    const machine = machineOf(statusOf(s, g))
    if (machine < s.machines) unpark(s, machine)
  }
}
