/**
 * What machines do, in the composition of machine/loop.ts, MachineRuntime.ts and spawn.ts, without values, functions
 * and the event loop. Kept close to them: whoever changes the order of scheduler calls there changes it here.
 */
import {
  allocate,
  append,
  askForWake,
  CANCEL_EPOCH,
  claim,
  DONE,
  ENDED_WAKE,
  findRunnable,
  finish,
  FLAG_CANCEL,
  FLAG_SYNC,
  G_FLAGS,
  G_PARENT,
  G_TASK,
  G_WAITER,
  generationOf,
  gw,
  hintOf,
  homeOf,
  leaveIdle,
  listOf,
  LOST,
  M_PARK,
  makeRunnable,
  mw,
  NOTHING,
  P_NEXT,
  parkBlocking,
  pushHost,
  put,
  pw,
  release,
  setRunning,
  setWaiting,
  stateOf,
  statusOf,
  STOP,
  stopLooking,
  unclaim,
  unpark,
  wakep,
} from "../../../src/internal/scheduler/index.ts"
import { LONG, MODEL, promise, RAN, REPLACE, type Sim, type SimMachine, STARTED, SUSPENDED } from "./ghosts.ts"

/** Tasks: spawns as many children as the last digit says and joins them; they do what is left of the number. */
const DIGIT = 10
/** A task that suspends once. A join cannot run it. */
export const ASYNC = 1000
/** A task that suspends until two Gs were started in all. */
export const ASYNC_LONG = 1001
/** A task that spawns a child and does not end before that was started by another machine. */
export const NEEDS_HELP = 3000
/** A task that holds its machine until two Gs were started in all. */
export const NEEDS_PEER = 3001
/** A task that ends when it is asked to. */
export const ENDLESS = 2000

const PARK_MS = 250
const NAP = 100
const MAX_HELPING = 64

/** machine/loop.ts, `runLoop`. */
export function runMachine(s: Sim, t: SimMachine): void {
  for (;;) {
    endCancelled(s, t)
    const g = findRunnable(s, t)
    if (g === STOP) return
    if (g !== NOTHING) {
      run(s, t, g)
    } else if (s.mem[s.ghosts + SUSPENDED + t.m] === 0 || s.mem[s.ghosts + LONG + t.m] > s.mem[s.ghosts + STARTED]) {
      parkBlocking(s, t.p, t.m, PARK_MS)
      leaveIdle(s, t)
    } else {
      // `sleep`: the event loop goes on, and what happens there pokes the loop.
      leaveIdle(s, t)
      resume(s, t)
    }
  }
}

/** Crew: the machine that takes a dead one's place, if any dies. */
export function runReplacement(s: Sim, machines: ReadonlyArray<SimMachine>): void {
  while (s.mem[s.ghosts + REPLACE] === 0) Atomics.wait(s.mem, s.ghosts + REPLACE, 0)
  const t = machines[s.mem[s.ghosts + REPLACE] - 1]
  s.mem[s.ghosts + REPLACE] = 0
  t.spinning = false
  t.tick = 0
  t.streak = 0
  t.roots = 0
  t.helping = 0
  s.mem[s.ghosts + SUSPENDED + t.m] = 0
  runMachine(s, t)
}

/** The model's book: a G starts. */
export function started(s: Sim, g: number): void {
  s.mem[s.ghosts + RAN + g]++
  s.mem[s.ghosts + STARTED]++
  Atomics.notify(s.mem, s.ghosts + RAN + g)
  if (s.mem[s.ghosts + STARTED] === 2) Atomics.notify(s.mem, s.ghosts + STARTED)
  for (let m = 0; m < s.procs; m++) {
    // Here an event on the event loop is told like a call from another machine.
    if (s.mem[s.ghosts + LONG + m] > 0 && s.mem[s.ghosts + SUSPENDED + m] !== 0) unpark(s, m)
  }
  promise(s.mem[s.ghosts + RAN + g] === 1, `G${g} was started twice`)
}

/** MachineRuntime.run and call. */
export function run(s: Sim, t: SimMachine, g: number): void {
  started(s, g)
  const G = gw(s, g)
  if (s.mem[G + G_PARENT] === 0) {
    t.roots++
    promise(!s.bounded || t.roots === 1, `machine ${t.m} of a bounded pool has ${t.roots} roots in progress`)
  }
  const task = s.mem[G + G_TASK]
  if (task === ASYNC || task === ASYNC_LONG) {
    // So many Gs must have been started before it goes on.
    s.mem[s.ghosts + LONG + t.m] = task === ASYNC ? 0 : 2
    setWaiting(s, g, t.m)
    s.mem[s.ghosts + SUSPENDED + t.m] = g
    return
  }
  if (task === ENDLESS) {
    while (!isCancelled(s, g)) Atomics.wait(s.mem, s.ghosts + MODEL, -1)
  } else if (task === NEEDS_PEER) {
    while (s.mem[s.ghosts + STARTED] < 2) Atomics.wait(s.mem, s.ghosts + STARTED, 1)
  } else if (task === NEEDS_HELP) {
    const child = spawn(s, t, g, 0)
    const ran = s.ghosts + RAN + (child & 0x3fffff)
    // The judge finds it waiting here if nobody comes.
    while (s.mem[ran] === 0) Atomics.wait(s.mem, ran, 0)
    join(s, t, child, 0)
  } else {
    runChildren(s, t, g, task)
  }
  end(s, t, g)
}

/** The event loop goes on with the G that was suspended. */
function resume(s: Sim, t: SimMachine): void {
  const g = s.mem[s.ghosts + SUSPENDED + t.m]
  s.mem[s.ghosts + SUSPENDED + t.m] = 0
  s.mem[s.ghosts + LONG + t.m] = 0
  promise(setRunning(s, g, t.m), `G${g} was taken from machine ${t.m} while it was suspended there`)
  end(s, t, g)
}

/** MachineRuntime.endCancelled. */
function endCancelled(s: Sim, t: SimMachine): void {
  const g = s.mem[s.ghosts + SUSPENDED + t.m]
  if (g === 0) return
  if (Atomics.load(s.mem, CANCEL_EPOCH) === 0 || !isCancelled(s, g)) return
  s.mem[s.ghosts + SUSPENDED + t.m] = 0
  end(s, t, g)
}

function isCancelled(s: Sim, g: number): boolean {
  return (Atomics.load(s.mem, gw(s, g) + G_FLAGS) & FLAG_CANCEL) !== 0
}

/** MachineRuntime.end. */
export function end(s: Sim, t: SimMachine, g: number): void {
  const G = gw(s, g)
  const waiter = s.mem[G + G_WAITER]
  if (s.mem[G + G_PARENT] === 0) t.roots--
  const ended = finish(s, g, t.m)
  if (ended === LOST) return
  if (waiter === 0) pushHost(s, g)
  else if (ended === ENDED_WAKE) unpark(s, waiter - 1)
}

function runChildren(s: Sim, t: SimMachine, g: number, task: number): void {
  const count = task % DIGIT
  const rest = Math.floor(task / DIGIT)
  if (count === 0) return
  const first = spawn(s, t, g, rest)
  const second = count > 1 ? spawn(s, t, g, rest) : 0
  if (first !== 0) join(s, t, first, rest)
  if (second !== 0) join(s, t, second, rest)
}

/** spawn.ts, `spawn`. 0 if there is no record: then the child is a function call, and has no part here. */
function spawn(s: Sim, t: SimMachine, parent: number, task: number): number {
  const g = allocate(s, listOf(t.p), homeOf(t.p), t.m)
  if (g === 0) return 0
  const G = gw(s, g)
  s.mem[G + G_TASK] = task
  s.mem[G + G_FLAGS] = FLAG_SYNC
  s.mem[G + G_PARENT] = parent
  s.mem[G + G_WAITER] = t.m + 1
  s.mem[s.ghosts + RAN + g] = 0
  const hint = makeRunnable(s, g)
  put(s, t.p, hint, true, t.m, t.spill)
  wakep(s)
  return hint
}

/** spawn.ts, `join`. */
function join(s: Sim, t: SimMachine, hint: number, task: number): void {
  const g = hint & 0x3fffff
  if (claimChild(s, t, hint) || !waitFor(s, t, g, hint)) {
    started(s, g)
    runChildren(s, t, g, task) // runClaimed
  }
  promise(hintOf(g, generationOf(statusOf(s, g))) === hint, `the record of G${g} was reused before it was joined`)
  release(s, listOf(t.p), homeOf(t.p), g, t.m)
}

/** spawn.ts, `claimChild`. */
function claimChild(s: Sim, t: SimMachine, hint: number): boolean {
  if (claim(s, hint, t.m) === 0) return false
  const next = pw(t.p) + P_NEXT
  if (Atomics.load(s.mem, next) === hint) Atomics.compareExchange(s.mem, next, hint, 0)
  return true
}

/** spawn.ts, `waitFor`. True: the child has ended. False: this machine has claimed it. */
function waitFor(s: Sim, t: SimMachine, g: number, hint: number): boolean {
  let mayHelp = t.helping < MAX_HELPING
  for (;;) {
    if (stateOf(statusOf(s, g)) === DONE) {
      stopLooking(s, t)
      return true
    }
    if (claimChild(s, t, hint)) {
      stopLooking(s, t)
      return false
    }
    if (mayHelp) {
      const found = findRunnable(s, t)
      if (found === STOP) promise(false, "the model stopped the pool while a join was waiting")
      if (found !== NOTHING) {
        mayHelp = help(s, t, found)
        continue
      }
    } else {
      Atomics.store(s.mem, mw(s, t.m) + M_PARK, 0)
    }
    if (askForWake(s, g)) parkBlocking(s, t.p, t.m, NAP)
    if (mayHelp) leaveIdle(s, t)
  }
}

/** spawn.ts, `help`. */
function help(s: Sim, t: SimMachine, g: number): boolean {
  if (s.mem[gw(s, g) + G_TASK] === ASYNC) {
    t.spill[0] = unclaim(s, g, t.m)
    append(s, s.gq, t.spill, 1, t.m)
    stopLooking(s, t)
    wakep(s)
    return false
  }
  t.helping++
  run(s, t, g)
  t.helping--
  return true
}
