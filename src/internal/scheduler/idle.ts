/**
 * Who sleeps, who looks for work, and who wakes whom: Go's `wakep`, `nmspinning`, `needspinning` and the rules around
 * them (proc.go, "Worker thread parking/unparking"), on two bitmaps with one bit per P.
 *
 * - idle bit: P's machine sleeps or is about to. Whoever clears it owns the right and the duty to make that machine
 *   look again; the machine itself may be the one.
 * - spinning bit: P's machine looks for work without having any. Go counts these machines; here the count is the
 *   number of bits, so that it can be put right when a machine dies: the sweep clears the bits of its P.
 *
 * No lost wake-up. A submitter first publishes work W, then calls {@link wakep}. All accesses are sequentially
 * consistent.
 * - It sees a spinning bit: that machine clears its bit before its last look, hence after W was published, and the
 *   last look sees W.
 * - It sees no spinning bit and an idle bit: it clears that bit and wakes the machine.
 * - It sees neither: every machine is busy and will look before it sleeps, or was on its way to sleep without
 *   spinning and has looked already. For the latter it sets `needspinning` and reads the idle bits again. Such a
 *   machine sets its idle bit before it reads `needspinning`, so one of the two sees the other.
 *
 * `needspinning` is a bit of the first idle word. While every machine is busy it stands, and a submitter to a pool of
 * up to 31 Ps learns from one load that there is nobody to wake and nothing to ask for.
 */
import {
  C_PARKS,
  C_WAKES,
  FIRST_BIT,
  IDLE_BITS,
  M_PARK,
  mw,
  P_COUNTERS,
  P_M,
  pw,
  type Sched,
  SPIN_BITS,
} from "./layout.ts"
import { unpark } from "./status.ts"

/** Go's `sched.needspinning`: a waker wanted a P and found none idle. In the first idle word. */
const NEED_SPINNING = 1

const words = (s: Sched): number => (s.procs + FIRST_BIT + 31) >>> 5

const wordOf = (bits: number, p: number): number => bits + ((p + FIRST_BIT) >>> 5)

const bitOf = (p: number): number => 1 << ((p + FIRST_BIT) & 31)

/** Word `i` of the idle bits, without `needspinning`. */
function idleWord(s: Sched, i: number): number {
  const word = Atomics.load(s.mem, IDLE_BITS + i)
  return i === 0 ? word & ~NEED_SPINNING : word
}

function setBit(s: Sched, bits: number, p: number): void {
  Atomics.or(s.mem, wordOf(bits, p), bitOf(p))
}

/** True if the bit was set, and this call cleared it. */
function clearBit(s: Sched, bits: number, p: number): boolean {
  const bit = bitOf(p)
  return (Atomics.and(s.mem, wordOf(bits, p), ~bit) & bit) !== 0
}

function anySpins(s: Sched): boolean {
  const n = words(s)
  for (let i = 0; i < n; i++) {
    if (Atomics.load(s.mem, SPIN_BITS + i) !== 0) return true
  }
  return false
}

function population(word: number): number {
  let count = 0
  for (let rest = word; rest !== 0; rest &= rest - 1) count++
  return count
}

/** Number of Ps whose machines sleep. A momentary value. */
export function idleCount(s: Sched): number {
  const n = words(s)
  let count = 0
  for (let i = 0; i < n; i++) count += population(idleWord(s, i))
  return count
}

/** Go's `nmspinning`. A momentary value. */
export function spinningCount(s: Sched): number {
  const n = words(s)
  let count = 0
  for (let i = 0; i < n; i++) count += population(Atomics.load(s.mem, SPIN_BITS + i))
  return count
}

/** The lowest P whose idle bit is set, or -1. A momentary value. */
function anyIdle(s: Sched): number {
  const n = words(s)
  for (let i = 0; i < n; i++) {
    const word = idleWord(s, i)
    if (word !== 0) return i * 32 + 31 - Math.clz32(word & -word) - FIRST_BIT
  }
  return -1
}

/**
 * Wakes the machine of `p` as a spinner, if its idle bit is still set. The spinning bit is set first: were it set
 * after the claim, a waker held up in between would set it for a machine that has long found work and keeps nobody
 * posted. A submitter that sees the bit in this window relies on us: if the claim fails, we take the bit back and the
 * caller must look for another machine. Taking it back may hit a bit that someone else had set for the same P; then a
 * machine spins without being counted, which costs at most a needless wake-up.
 */
function wake(s: Sched, p: number): boolean {
  setBit(s, SPIN_BITS, p)
  if (clearBit(s, IDLE_BITS, p)) {
    unpark(s, Atomics.load(s.mem, pw(p) + P_M))
    return true
  }
  clearBit(s, SPIN_BITS, p)
  return false
}

/**
 * Work was published: makes sure that somebody looks. Wakes at most one machine, and none while one spins: a spinner
 * that finds work wakes the next. Costs one load when every machine of a small pool is busy.
 */
export function wakep(s: Sched): void {
  const single = words(s) === 1
  for (;;) {
    // Nobody sleeps, and `needspinning` stands: who goes to sleep after this sees it, and then our work as well.
    if (single && Atomics.load(s.mem, IDLE_BITS) === NEED_SPINNING) return
    if (anySpins(s)) return
    const p = anyIdle(s)
    if (p >= 0) {
      if (wake(s, p)) return
    } else {
      // Set already: whoever set it reads the idle bits after that, and then sees our work as well.
      if ((Atomics.or(s.mem, IDLE_BITS, NEED_SPINNING) & NEED_SPINNING) !== 0) return
      if (anyIdle(s) < 0) return
    }
  }
}

/**
 * Roots were published in a bounded pool: makes every idle machine look, since the one that {@link wakep} would pick
 * may have a root in progress and not be allowed to take another.
 */
export function wakeEach(s: Sched): void {
  for (let p = 0; p < s.procs; p++) {
    if ((Atomics.load(s.mem, wordOf(IDLE_BITS, p)) & bitOf(p)) !== 0) wake(s, p)
  }
}

/** Go's limit: a machine may start to look elsewhere while fewer than half of the busy ones do. */
export function maySpin(s: Sched): boolean {
  return 2 * spinningCount(s) < s.procs - idleCount(s)
}

/** The machine of `p` begins to look for work. */
export function startSpinning(s: Sched, p: number): void {
  setBit(s, SPIN_BITS, p)
}

/** The machine of `p` looks no more. Must come before its last look, see above. */
export function stopSpinning(s: Sched, p: number): void {
  clearBit(s, SPIN_BITS, p)
}

/** Announces that the machine of `p` is about to sleep. From here on others may claim it. */
export function announceIdle(s: Sched, p: number): void {
  setBit(s, IDLE_BITS, p)
}

/**
 * Machine `m` is awake and about to look again. Only here, before it looks at anything, may it forget that it was
 * told to: a call of {@link unpark} that comes while it looks must keep it from going to sleep, since what it is told
 * of, like the end of the pool or a cancellation, may be something that it has looked at already.
 */
export function wokenUp(s: Sched, m: number): void {
  Atomics.store(s.mem, mw(s, m) + M_PARK, 0)
}

/**
 * Takes the announcement back. False if a waker was faster: then this machine is the one that was chosen to look,
 * and must do so as a spinner.
 */
export function revokeIdle(s: Sched, p: number): boolean {
  return clearBit(s, IDLE_BITS, p)
}

/** A parking machine that did not spin asks whether a waker missed it; takes the request if there is one. */
export function takeNeedSpinning(s: Sched): boolean {
  return (Atomics.and(s.mem, IDLE_BITS, ~NEED_SPINNING) & NEED_SPINNING) !== 0
}

/** The machine of `p` is dead: it neither sleeps nor looks for work. */
export function clearBits(s: Sched, p: number): void {
  clearBit(s, IDLE_BITS, p)
  clearBit(s, SPIN_BITS, p)
}

/** Sleeps until {@link unpark}, at most `ms` milliseconds. The machine has announced itself. */
export function parkBlocking(s: Sched, p: number, m: number, ms: number): void {
  s.mem[pw(p) + P_COUNTERS + C_PARKS]++
  if (Atomics.wait(s.mem, mw(s, m) + M_PARK, 0, ms) === "ok") s.mem[pw(p) + P_COUNTERS + C_WAKES]++
}

/**
 * Makes every machine look again, asleep or not: for closing and after a death. A dead waker may have left a spinning
 * bit behind, so all are wiped; those that do spin go on without being counted.
 */
export function wakeAll(s: Sched): void {
  for (let i = 0; i < words(s); i++) Atomics.store(s.mem, SPIN_BITS + i, 0)
  for (let p = 0; p < s.procs; p++) {
    const m = Atomics.load(s.mem, pw(p) + P_M)
    clearBit(s, IDLE_BITS, p)
    unpark(s, m)
    // Even if the word was set: who set it may have died before the notify.
    Atomics.notify(s.mem, mw(s, m) + M_PARK)
  }
}
