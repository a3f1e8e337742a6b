/** Threads that use one part of the scheduler, without a schedule loop around it. */
import {
  acquire,
  allocate,
  allocateBlock,
  append,
  askForWake,
  cancelQueued,
  claim,
  DONE,
  ENDED_WAKE,
  finish,
  G_BLOCK,
  G_WAITER,
  generationOf,
  get,
  gw,
  homeOf,
  HOST,
  isEmpty,
  leaveIdle,
  listOf,
  LOST,
  M_PARK,
  makeRunnable,
  mw,
  parkBlocking,
  pushHost,
  put,
  release,
  requestCancel,
  setRunning,
  setWaiting,
  stateOf,
  statusOf,
  steal,
  takeBatch,
  takeNext,
  takeOne,
  unclaim,
  unlock,
  unpark,
  wakep,
} from "./scheduler.ts"
import { EXPECTED, IN_FLIGHT, MODEL, promise, RAN, type Sim, type SimMachine, STRICT, TAKEN } from "./ghosts.ts"
import { watch } from "./host.ts"
import { runMachine, started } from "./machines.ts"
import { end, freePayload } from "./suspended.ts"

// ---- queues -----------------------------------------------------------------------------------------------------

/** A hint was taken out of a queue. With nobody dying, that happens once. */
function take(s: Sim, t: SimMachine, hint: number): void {
  const g = hint & 0x3fffff
  s.mem[s.ghosts + TAKEN + g]++
  promise(
    s.mem[s.ghosts + STRICT] === 0 || s.mem[s.ghosts + TAKEN + g] === 1,
    `the entry of G${g} was taken out of a queue twice`,
  )
  if (claim(s, hint, t.m) !== 0) started(s, g)
}

function takeAll(s: Sim, t: SimMachine): void {
  for (;;) {
    let hint = takeNext(s, t.p)
    if (hint === 0) hint = get(s, t.p)
    if (hint === 0) return
    take(s, t, hint)
  }
}

/** Puts entries, of which some may go to the global queue, and takes what is left. */
export function owner(s: Sim, t: SimMachine, hints: ReadonlyArray<number>, next: boolean): void {
  for (const hint of hints) put(s, t.p, hint, next, t.m, t.spill)
  takeAll(s, t)
}

/** Puts two, takes one, puts the rest. */
export function alternatingOwner(s: Sim, t: SimMachine, hints: ReadonlyArray<number>): void {
  for (let i = 0; i < hints.length; i++) {
    put(s, t.p, hints[i], false, t.m, t.spill)
    if (i % 2 === 1) {
      const hint = get(s, t.p)
      if (hint !== 0) take(s, t, hint)
    }
  }
}

/** Steals once, and takes what that put into its own ring. */
export function thief(s: Sim, t: SimMachine, victim: number, stealNext: boolean, times: number): void {
  for (let i = 0; i < times; i++) {
    const hint = steal(s, victim, t.p, stealNext)
    if (hint !== 0) take(s, t, hint)
    takeAll(s, t)
  }
}

/** Steals, and leaves what it put into its own ring for a while. */
export function lazyThief(s: Sim, t: SimMachine, victim: number): void {
  const hint = steal(s, victim, t.p, false)
  if (hint !== 0) take(s, t, hint)
}

/** Takes a batch from the global queue, and what that put into its own ring. */
export function taker(s: Sim, t: SimMachine, times: number): void {
  for (let i = 0; i < times; i++) {
    const hint = takeBatch(s, s.gq, t.p, t.m)
    if (hint !== 0) take(s, t, hint)
    takeAll(s, t)
  }
}

/** Takes single entries from the global queue. */
export function singleTaker(s: Sim, t: SimMachine, times: number): void {
  for (let i = 0; i < times; i++) {
    const hint = takeOne(s, s.gq, t.p, t.m)
    if (hint !== 0) take(s, t, hint)
  }
}

/** Appends entries to the global queue one by one. */
export function appender(s: Sim, t: SimMachine, hints: ReadonlyArray<number>): void {
  for (const hint of hints) {
    t.spill[0] = hint
    append(s, s.gq, t.spill, 1, t.m)
  }
}

/** Sees no empty queue while there is always something in it. */
export function observer(s: Sim, p: number): void {
  promise(!isEmpty(s, p), `the queue of P${p} looked empty while an entry moved through it`)
}

/** The queue is never empty: each entry pushes the one before from `next` into the ring, and is taken itself. */
export function mover(s: Sim, t: SimMachine, hints: ReadonlyArray<number>): void {
  for (const hint of hints) {
    put(s, t.p, hint, true, t.m, t.spill)
    const next = takeNext(s, t.p)
    if (next !== 0) take(s, t, next)
  }
}

/** Only wakes somebody. */
export function waker(s: Sim): void {
  wakep(s)
}

/** A machine that wakes up by itself at the start. */
export function sleeper(s: Sim, t: SimMachine): void {
  leaveIdle(s, t)
  runMachine(s, t)
}

// ---- locks ------------------------------------------------------------------------------------------------------

/** Enters a section that only one may be in. */
export function section(s: Sim, t: SimMachine, at: number, times: number): void {
  for (let i = 0; i < times; i++) {
    acquire(s, at, t.m)
    s.mem[s.ghosts + MODEL + 1]++
    promise(s.mem[s.ghosts + MODEL + 1] === 1 || s.mem[s.ghosts + STRICT] === 0, "two threads hold a lock")
    // The holder can be stopped in here.
    Atomics.load(s.mem, at)
    s.mem[s.ghosts + MODEL + 1]--
    unlock(s, at)
  }
}

/** The host in such a section: it gives up after some tries. */
export function hostSection(s: Sim, at: number): void {
  if (acquire(s, at, HOST)) {
    s.mem[s.ghosts + MODEL + 1]++
    promise(s.mem[s.ghosts + MODEL + 1] === 1 || s.mem[s.ghosts + STRICT] === 0, "two threads hold a lock")
    Atomics.load(s.mem, at)
    s.mem[s.ghosts + MODEL + 1]--
    unlock(s, at)
  }
  watch(s)
}

// ---- records ----------------------------------------------------------------------------------------------------

/** Takes and gives back two records at a time, as children that are spawned and joined. */
export function recordUser(s: Sim, t: SimMachine, times: number): void {
  const list = listOf(t.p)
  const home = homeOf(t.p)
  for (let i = 0; i < times; i++) {
    const a = allocate(s, list, home, t.m)
    mine(s, a)
    const b = allocate(s, list, home, t.m)
    mine(s, b)
    const c = allocate(s, list, home, t.m)
    mine(s, c)
    giveBack(s, t, a)
    giveBack(s, t, b)
    giveBack(s, t, c)
  }
}

function mine(s: Sim, g: number): void {
  if (g === 0) return
  s.mem[s.ghosts + TAKEN + g]++
  promise(s.mem[s.ghosts + STRICT] === 0 || s.mem[s.ghosts + TAKEN + g] === 1, `G${g} was given out twice`)
}

function giveBack(s: Sim, t: SimMachine, g: number): void {
  if (g === 0) return
  s.mem[s.ghosts + TAKEN + g]--
  release(s, listOf(t.p), homeOf(t.p), g, t.m)
}

// ---- status -----------------------------------------------------------------------------------------------------

/** Starts a G by its hint if it can, ends it and tells. */
export function starter(s: Sim, t: SimMachine, hint: number): void {
  const g = claim(s, hint, t.m)
  if (g === 0) return
  started(s, g)
  end(s, t, g)
}

/** Starts a G, suspends it, goes on with it and ends it. */
export function suspender(s: Sim, t: SimMachine, hint: number): void {
  const g = claim(s, hint, t.m)
  if (g === 0) return
  started(s, g)
  if (!setWaiting(s, g, t.m)) return
  if (!setRunning(s, g, t.m)) return
  end(s, t, g)
}

/** Claims a G, finds that it cannot run it, and puts it back. */
export function returner(s: Sim, t: SimMachine, hint: number): void {
  const g = claim(s, hint, t.m)
  if (g === 0) return
  t.spill[0] = unclaim(s, g, t.m)
  append(s, s.gq, t.spill, 1, t.m)
}

/** Returns a G, and then runs what is in the global queue. */
export function returnerAndTaker(s: Sim, t: SimMachine, hint: number): void {
  returner(s, t, hint)
  for (let hint = takeOne(s, s.gq, t.p, t.m); hint !== 0; hint = takeOne(s, s.gq, t.p, t.m)) starter(s, t, hint)
}

/** The host cancels a G and waits for the end of those that it could not. */
export function canceller(s: Sim, g: number): void {
  if (cancelQueued(s, g, generationOf(statusOf(s, g)))) {
    promise(s.mem[s.ghosts + RAN + g] === 0, `G${g} was cancelled as not started, and had started`)
    s.mem[s.ghosts + EXPECTED + g] = 0
    s.mem[s.ghosts + IN_FLIGHT]--
    release(s, s.mem[s.ghosts + MODEL + 2], 1, g, HOST)
  } else {
    requestCancel(s, g)
  }
  watch(s)
}

/** A machine waits for a child: `waitFor` of a join that may not help. Its end is told by {@link finisher}. */
export function waiter(s: Sim, t: SimMachine, hint: number): void {
  const g = hint & 0x3fffff
  for (;;) {
    Atomics.store(s.mem, mw(s, t.m) + M_PARK, 0)
    if (stateOf(statusOf(s, g)) === DONE) break
    if (claim(s, hint, t.m) !== 0) {
      started(s, g)
      freePayload(s, t, g)
      break
    }
    if (askForWake(s, g)) parkBlocking(s, t.p, t.m, 100)
  }
  release(s, listOf(t.p), homeOf(t.p), g, t.m)
}

/** Two lives of one record: the second must not be started by the first one's hint. */
export function twoLives(s: Sim, t: SimMachine): void {
  const list = listOf(t.p)
  const g = allocate(s, list, homeOf(t.p), t.m)
  s.mem[s.ghosts + RAN + g] = 0
  s.mem[gw(s, g) + G_WAITER] = t.m + 1
  const first = makeRunnable(s, g)
  t.spill[0] = first
  append(s, s.gq, t.spill, 1, t.m)
  if (!claimFor(s, t, first)) return
  release(s, list, homeOf(t.p), g, t.m)
  const again = allocate(s, list, homeOf(t.p), t.m)
  // From the allocation to the next line the record is its owner's alone.
  s.mem[s.ghosts + RAN + again] = 0
  s.mem[s.ghosts + MODEL + 3] = again
  s.mem[gw(s, again) + G_WAITER] = t.m + 1
  s.mem[s.ghosts + MODEL + 3] = 0
  const second = makeRunnable(s, again)
  if (claimFor(s, t, second)) release(s, list, homeOf(t.p), again, t.m)
}

function claimFor(s: Sim, t: SimMachine, hint: number): boolean {
  const g = claim(s, hint, t.m)
  if (g === 0) return false
  started(s, g)
  return true
}

/** Takes hints, stale ones too, and starts what they point to. */
export function hintUser(s: Sim, t: SimMachine, times: number): void {
  for (let i = 0; i < times; i++) {
    const hint = takeOne(s, s.gq, t.p, t.m)
    if (hint === 0) continue
    const g = claim(s, hint, t.m)
    if (g === 0) continue
    promise(s.mem[s.ghosts + MODEL + 3] !== g, `G${g} was started by a stale hint before it was made`)
    started(s, g)
    const waiter = s.mem[gw(s, g) + G_WAITER]
    const ended = finish(s, g, t.m)
    if (ended === LOST) continue
    if (waiter === 0) pushHost(s, t.m, g)
    else if (ended === ENDED_WAKE) unpark(s, waiter - 1)
  }
}

// ---- arena ------------------------------------------------------------------------------------------------------

/** Starts a G, takes its arguments out of the arena, and puts its result there. */
export function payloadUser(s: Sim, t: SimMachine, hint: number, bytes: number): void {
  const g = claim(s, hint, t.m)
  if (g === 0) return
  started(s, g)
  freePayload(s, t, g)
  const block = allocateBlock(s, bytes, t.m, 0)
  if (block > 0) s.mem[gw(s, g) + G_BLOCK] = block
  end(s, t, g)
}

/** Spawns a child whose arguments are in the arena, for another machine to steal; does not join it. */
export function payloadParent(s: Sim, t: SimMachine, bytes: number): void {
  const g = allocate(s, listOf(t.p), homeOf(t.p), t.m)
  s.mem[s.ghosts + RAN + g] = 0
  const block = allocateBlock(s, bytes, t.m, 0)
  if (block > 0) s.mem[gw(s, g) + G_BLOCK] = block
  s.mem[gw(s, g) + G_WAITER] = t.m + 1
  const hint = makeRunnable(s, g)
  put(s, t.p, hint, true, t.m, t.spill)
  waiter(s, t, hint)
}

/** Steals a child, takes its arguments, and ends it without a result. */
export function payloadThief(s: Sim, t: SimMachine, victim: number): void {
  const hint = steal(s, victim, t.p, true)
  if (hint === 0) return
  const g = claim(s, hint, t.m)
  if (g === 0) return
  started(s, g)
  freePayload(s, t, g)
  end(s, t, g)
}
