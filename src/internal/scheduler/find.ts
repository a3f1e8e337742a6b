/**
 * Go's `findRunnable`: where a machine looks for its next G, in which order, and when it goes to sleep.
 */
import { sizeOf, takeBatch, takeOne } from "./globalq.ts"
import {
  announceIdle,
  maySpin,
  revokeIdle,
  startSpinning,
  stopSpinning,
  takeNeedSpinning,
  wakep,
  wokenUp,
} from "./idle.ts"
import { C_SPINS, C_TICKS, P_COUNTERS, pw, type Sched, STATE, STOPPING } from "./layout.ts"
import { anyWork, get, isEmpty, length, steal, takeNext } from "./runq.ts"
import { claim } from "./status.ts"

/** A machine's own state, in its heap. */
export interface Machine {
  readonly m: number
  readonly p: number
  /** Looks for work; its bit is set in the spinning bitmap. */
  spinning: boolean
  /** Counts the Gs started from the queues; every 61st look goes to the global queue first. */
  tick: number
  /** Gs in a row that came from `next`. */
  streak: number
  /** Roots in progress here, for bounded pools. */
  roots: number
  /** State of the random numbers (xorshift). */
  random: number
  /** Scratch for overflows: half a ring and one. */
  readonly spill: Int32Array
}

/** {@link findRunnable} found nothing; the machine has announced itself idle and should park. */
export const NOTHING = 0
/** The pool is stopping. */
export const STOP = -1

/** A prime, so that the look at the global queue does not fall in step with the work (Go). */
const GLOBAL_EVERY = 61
/** Gs in a row from `next`, so that a pair that wakes each other cannot starve the ring (tokio). */
const NEXT_STREAK = 3
const STEAL_ROUNDS = 4

/** A machine's state at its start. `seed` must not be 0. */
export function makeMachine(m: number, p: number, seed: number): Machine {
  return { m, p, spinning: false, tick: 0, streak: 0, roots: 0, random: seed, spill: new Int32Array(256) }
}

/**
 * Finds a G, claims it (it is RUNNING on this machine afterwards) and returns its index. {@link NOTHING}: no work,
 * and the machine is announced as idle: it must park, or revoke. {@link STOP}: leave.
 */
export function findRunnable(s: Sched, t: Machine): number {
  for (;;) {
    if (Atomics.load(s.mem, STATE) === STOPPING) return STOP
    let g = fromQueues(s, t)
    if (g === 0 && !s.global) {
      if (!t.spinning && maySpin(s)) {
        t.spinning = true
        startSpinning(s, t.p)
      }
      if (t.spinning) g = stealWork(s, t)
    }
    if (g !== 0) {
      s.mem[pw(t.p) + P_COUNTERS + C_TICKS]++
      stopLooking(s, t)
      return g
    }
    if (goIdle(s, t)) return NOTHING
  }
}

/**
 * The next G from the queues that are nearest, claimed. {@link NOTHING} leaves the machine as it is: it has other
 * things to do and does not go to sleep.
 */
export function pollRunnable(s: Sched, t: Machine): number {
  if (Atomics.load(s.mem, STATE) === STOPPING) return STOP
  const g = fromQueues(s, t)
  stopLooking(s, t) // whether or not there was any: it does not look elsewhere now
  if (g === 0) return NOTHING
  s.mem[pw(t.p) + P_COUNTERS + C_TICKS]++
  return g
}

/**
 * Go's `resetspinning`: a machine that looked for work has some, or goes back to what it had. It stops spinning and
 * makes sure that another looks on in its place, if there is anything to be found: a submitter that saw our bit
 * published its work before we cleared it, so this look sees it or somebody has taken it. (Go wakes another in any
 * case; one needless wake-up for each lone G makes a round trip several times longer.)
 */
export function stopLooking(s: Sched, t: Machine): void {
  if (!t.spinning) return
  t.spinning = false
  stopSpinning(s, t.p)
  if (anyWork(s)) wakep(s)
}

/** The next G from `next`, the own ring, the global queue and, where allowed, the roots. 0 if there is none. */
function fromQueues(s: Sched, t: Machine): number {
  t.tick = (t.tick + 1) | 0
  if (t.tick % GLOBAL_EVERY === 0) {
    const g = claimFirst(s, t, false)
    if (g !== 0) return g
  }
  for (;;) {
    if (t.streak < NEXT_STREAK) {
      const next = takeNext(s, t.p)
      if (next !== 0) {
        const g = claim(s, next, t.m)
        if (g === 0) continue
        t.streak++
        return g
      }
    }
    t.streak = 0
    const hint = get(s, t.p)
    if (hint === 0) break
    const g = claim(s, hint, t.m)
    if (g !== 0) return g
  }
  const next = takeNext(s, t.p) // the streak ended and the ring was empty
  if (next !== 0) {
    const g = claim(s, next, t.m)
    if (g !== 0) return g
  }
  return claimFirst(s, t, true)
}

/** The first live G of the global queue, with a batch for the ring or alone; then of the roots. */
function claimFirst(s: Sched, t: Machine, batch: boolean): number {
  for (;;) {
    let hint = batch && !s.global ? takeBatch(s, s.gq, t.p, t.m) : takeOne(s, s.gq, t.p, t.m)
    if (hint === 0) break
    while (hint !== 0) {
      const g = claim(s, hint, t.m)
      if (g !== 0) return g
      // The first was stale. The rest of the batch comes next: who steals afterwards relies on an empty ring.
      hint = batch ? get(s, t.p) : 0
    }
  }
  if (!s.bounded) return 0
  while (t.roots === 0) {
    const hint = takeOne(s, s.rq, t.p, t.m)
    if (hint === 0) return 0
    const g = claim(s, hint, t.m)
    if (g !== 0) return g
  }
  return 0
}

/**
 * Go's `stealWork`: four rounds over all Ps from a random start with a step coprime to their number, so that each
 * round visits every P once. `next` only in the last. Then, for a bounded time, polls without stealing: a submitter
 * that sees us spin needs no system call to wake us.
 */
function stealWork(s: Sched, t: Machine): number {
  s.mem[pw(t.p) + P_COUNTERS + C_SPINS]++
  for (let round = 0; round < STEAL_ROUNDS; round++) {
    const g = stealRound(s, t, round === STEAL_ROUNDS - 1)
    if (g !== 0) return g
  }
  for (let i = 0; i < s.spins; i++) {
    if (sizeOf(s, s.gq) !== 0 || (s.bounded && t.roots === 0 && sizeOf(s, s.rq) !== 0)) {
      const g = claimFirst(s, t, true)
      if (g !== 0) return g
    }
    const victim = i % s.procs
    if (victim !== t.p && length(s, victim) !== 0) {
      const g = stealRound(s, t, false)
      if (g !== 0) return g
    }
    if ((i & 63) === 63 && Atomics.load(s.mem, STATE) === STOPPING) return 0
  }
  return 0
}

function stealRound(s: Sched, t: Machine, stealNext: boolean): number {
  const n = s.procs
  t.random ^= t.random << 13
  t.random ^= t.random >>> 17
  t.random ^= t.random << 5
  const start = (t.random >>> 0) % n
  let step = ((t.random >>> 8) % n) || 1
  while (gcd(step, n) !== 1) step++
  for (let i = 0, victim = start; i < n; i++, victim = (victim + step) % n) {
    if (victim === t.p || (stealNext ? isEmpty(s, victim) : length(s, victim) === 0)) continue
    let hint = steal(s, victim, t.p, stealNext)
    while (hint !== 0) {
      const g = claim(s, hint, t.m)
      if (g !== 0) return g
      hint = get(s, t.p) // the rest of a catch whose last entry was stale
    }
  }
  return 0
}

function gcd(a: number, b: number): number {
  while (b !== 0) {
    const r = a % b
    a = b
    b = r
  }
  return a
}

/**
 * Announces idleness and looks a last time. True: sleep. False: there may be work, look again. The order of the steps
 * is what makes {@link wakep} safe; the argument is in idle.ts.
 */
function goIdle(s: Sched, t: Machine): boolean {
  announceIdle(s, t.p)
  stopSpinning(s, t.p)
  let again: boolean
  if (t.spinning) {
    t.spinning = false
    again = anyWork(s)
  } else {
    // In a global-queue pool nobody becomes a spinner by itself, so everyone takes a last look.
    again = takeNeedSpinning(s) || (s.global && anyWork(s))
  }
  // Roots wake every idle machine (wakeEach), so whoever may take one must look for itself after its announcement.
  again ||= s.bounded && t.roots === 0 && sizeOf(s, s.rq) !== 0
  if (!again) return true
  if (!revokeIdle(s, t.p)) t.spinning = true
  if (!t.spinning && !s.global) {
    t.spinning = true
    startSpinning(s, t.p)
  }
  return false
}

/**
 * A parked machine goes on: woken, timed out or with something else to do. If a waker had claimed it, it is the
 * spinner that others rely on (the waker has set its bit), and must look everywhere.
 */
export function leaveIdle(s: Sched, t: Machine): void {
  wokenUp(s, t.m)
  if (!revokeIdle(s, t.p)) t.spinning = true
}
