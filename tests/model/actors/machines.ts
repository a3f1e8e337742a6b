/**
 * What machines do, in the composition of machine/loop.ts, MachineRuntime.ts, spawn.ts and waiting.ts, without values, functions
 * and the event loop. Kept close to them: whoever changes the order of scheduler calls there changes it here.
 */
import {
  allocate,
  append,
  askForWake,
  CANCEL_EPOCH,
  claim,
  DONE,
  findRunnable,
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
  M_PARK,
  makeRunnable,
  mw,
  NOTHING,
  P_NEXT,
  parkBlocking,
  pollRunnable,
  put,
  pw,
  release,
  stateOf,
  statusOf,
  STOP,
  stopLooking,
  unclaim,
  unpark,
  wakep,
} from "../../../src/internal/scheduler/index.ts"
import { KNOWN, LONG, MODEL, promise, RAN, REPLACE, type Sim, type SimMachine, STARTED } from "./ghosts.ts"
import { makeReports } from "./progress.ts"
import {
  ASYNC,
  awaitsAny,
  BUFFER,
  CALLER,
  collect,
  continueCallers,
  end,
  endCancelled,
  ENDLESS,
  EVENT,
  FOREVER,
  happen,
  hasArrived,
  isCancelled,
  LATE_FOREVER,
  lookAtCalls,
  makeCalls,
  NEEDS_BUFFER,
  NEVER,
  ready,
  REPORTER,
  suspend,
} from "./suspended.ts"

/** Tasks: spawns as many children as the last digit says and joins them; they do what is left of the number. */
const DIGIT = 10
/** A task that suspends until two Gs were started in all. */
export const ASYNC_LONG = 1001
/** A task that spawns a child and does not end before that was started by another machine. */
export const NEEDS_HELP = 3000
/** A task that holds its machine until two Gs were started in all. */
export const NEEDS_PEER = 3001

const PARK_MS = 250
const NAP = 100
const MAX_HELPING = 64

/** machine/loop.ts, `runLoop`. */
export function runMachine(s: Sim, t: SimMachine): void {
  for (;;) {
    collect(s, t)
    endCancelled(s, t)
    continueCallers(s, t)
    lookAtCalls(s, t)
    const busy = hasArrived(s, t)
    // Notes of what a look at all has taken are gone with the next round.
    t.vain = busy && !awaitsAny(s, t) ? t.vain + 1 : 0
    promise(t.vain < 2, `machine ${t.m} is kept awake by a note of what it has taken`)
    const g = busy ? pollRunnable(s, t) : findRunnable(s, t)
    if (g === STOP) return
    if (g !== NOTHING) {
      run(s, t, g)
    } else if (!busy) {
      // To sleep is the same with and without the event loop; what happens there pokes the loop.
      const event = ready(s, t)
      if (event === 0) parkBlocking(s, t.p, t.m, PARK_MS)
      leaveIdle(s, t)
      if (event !== 0) happen(s, t, event)
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
  t.seenEpoch = 0
  t.vain = 0
  s.mem[s.ghosts + LONG + t.m] = 0
  for (let g = 1; g <= s.capacity; g++) {
    t.awaited[g] = 0
    t.arrived[g] = 0
    t.suspended[g] = 0
  }
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
    if (s.mem[s.ghosts + LONG + m] > 0) unpark(s, m)
  }
  promise(s.mem[s.ghosts + RAN + g] === 1, `G${g} was started twice`)
}

/** MachineRuntime.run and call. */
export function run(s: Sim, t: SimMachine, g: number): void {
  const G = gw(s, g)
  if (s.mem[G + G_PARENT] === 0) {
    t.roots++
    promise(!s.bounded || t.roots === 1, `machine ${t.m} of a bounded pool has ${t.roots} roots in progress`)
  }
  const task = s.mem[G + G_TASK]
  if ((task === NEEDS_BUFFER || task === LATE_FOREVER) && s.mem[s.ghosts + KNOWN] === 0) return suspend(s, t, g, BUFFER)
  started(s, g)
  if (task === ASYNC || task === ASYNC_LONG) {
    // So many Gs must have been started before it goes on.
    s.mem[s.ghosts + LONG + t.m] = task === ASYNC ? 0 : 2
    return suspend(s, t, g, EVENT)
  }
  if (task === FOREVER || task === LATE_FOREVER) return suspend(s, t, g, NEVER)
  if (task >= CALLER && task < REPORTER) return makeCalls(s, t, g, task)
  if (task === ENDLESS) {
    untilCancelled(s, t, g)
  } else if (task === NEEDS_PEER) {
    while (s.mem[s.ghosts + STARTED] < 2) Atomics.wait(s.mem, s.ghosts + STARTED, 1)
  } else if (task === NEEDS_HELP) {
    const child = spawn(s, t, g, 0)
    const ran = s.ghosts + RAN + (child & 0x3fffff)
    // The judge finds it waiting here if nobody comes.
    while (s.mem[ran] === 0) Atomics.wait(s.mem, ran, 0)
    join(s, t, child, 0)
  } else if (task >= REPORTER) {
    makeReports(s, g, task - REPORTER)
  } else if (task !== NEEDS_BUFFER) {
    runChildren(s, t, g, task)
  }
  end(s, t, g)
}

/** waiting.ts, `checkpoint` and `passOn`, again and again. */
function untilCancelled(s: Sim, t: SimMachine, g: number): void {
  let clean = -1
  for (;;) {
    const epoch = Atomics.load(s.mem, CANCEL_EPOCH)
    if (epoch !== clean) {
      if (isCancelled(s, g)) return
      clean = epoch
      if (endCancelled(s, t)) continueCallers(s, t)
      if (isCancelled(s, g)) return
    }
    Atomics.wait(s.mem, s.ghosts + MODEL, -1)
  }
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

/** waiting.ts, `claimChild`. */
function claimChild(s: Sim, t: SimMachine, hint: number): boolean {
  if (claim(s, hint, t.m) === 0) return false
  const next = pw(t.p) + P_NEXT
  if (s.mem[next] === hint) Atomics.compareExchange(s.mem, next, hint, 0)
  return true
}

/** waiting.ts, `waitFor`. True: the child has ended. False: this machine has claimed it. */
function waitFor(s: Sim, t: SimMachine, g: number, hint: number): boolean {
  let mayHelp = t.helping < MAX_HELPING
  for (;;) {
    if (!mayHelp) Atomics.store(s.mem, mw(s, t.m) + M_PARK, 0)
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
    }
    if (askForWake(s, g)) parkBlocking(s, t.p, t.m, NAP)
    if (mayHelp) leaveIdle(s, t)
  }
}

/** waiting.ts, `help`. */
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
