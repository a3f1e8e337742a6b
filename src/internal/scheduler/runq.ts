/**
 * The run queue of a P: Go's `runqput`, `runqget`, `runqgrab` and `runqsteal` (proc.go), on hints.
 *
 * Words and who writes them:
 * - tail: the owner only. Its atomic store publishes the slots before it.
 * - head: by CAS, the owner and thieves. Whoever moves it owns the entries it passed. The owner reads it without an
 *   atomic load, which costs a call on V8: an older head makes the ring look fuller than it is, and then a CAS fails.
 * - slots: the owner only, at or beyond the tail. A thief copies slots first and moves the head after; if the owner
 *   has meanwhile reused a slot, then the head had moved and the thief's CAS fails. Heads and tails run freely over
 *   32 bits and are compared as `(t - h) >>> 0`, so the head would have to pass 2^32 entries to look unmoved.
 * - next: by CAS or exchange, the owner and thieves.
 *
 * A machine that dies in here can only take hints with it, never leave a queue that cannot be read; the sweep finds
 * the Gs by their status.
 */
import { append, sizeOf } from "./globalq.ts"
import {
  C_OVERFLOWS,
  C_STEALS_TRIED,
  C_STEALS_WON,
  C_STOLEN,
  P_COUNTERS,
  P_HEAD,
  P_NEXT,
  P_RING,
  P_TAIL,
  pw,
  RING,
  RING_MASK,
  type Sched,
} from "./layout.ts"
import { isLive } from "./status.ts"

/** Looks at a victim's `next` before a thief takes it. */
const NEXT_PATIENCE = 100

/** Entries in the ring of `p`, stale ones included, without `next`. A momentary value. */
export function length(s: Sched, p: number): number {
  const P = pw(p)
  return (Atomics.load(s.mem, P + P_TAIL) - Atomics.load(s.mem, P + P_HEAD)) >>> 0
}

/** Whether `p` has neither `next` nor ring entries. A momentary value. */
export function isEmpty(s: Sched, p: number): boolean {
  const P = pw(p)
  for (;;) {
    // Go: an entry moves from next to the ring without the queue ever looking empty, if the tail has not moved.
    const tail = Atomics.load(s.mem, P + P_TAIL)
    const head = Atomics.load(s.mem, P + P_HEAD)
    const next = Atomics.load(s.mem, P + P_NEXT)
    if (tail === Atomics.load(s.mem, P + P_TAIL)) return head === tail && next === 0
  }
}

/**
 * Puts a hint in the queue of `p`, whose owner `m` the caller is. With `next` it goes first, and who was first goes
 * to the ring. `spill` is scratch space for half a ring and one.
 */
export function put(s: Sched, p: number, hint: number, next: boolean, m: number, spill: Int32Array): void {
  const P = pw(p)
  if (s.global) {
    spill[0] = hint
    append(s, s.gq, spill, 1, m)
    return
  }
  let g = hint
  if (next) {
    g = Atomics.exchange(s.mem, P + P_NEXT, hint)
    if (g === 0) return
  }
  for (;;) {
    const head = s.mem[P + P_HEAD]
    const tail = s.mem[P + P_TAIL] // own word
    if ((tail - head) >>> 0 < RING) {
      s.mem[P + P_RING + (tail & RING_MASK)] = g // beyond the tail: nobody else reads it yet
      Atomics.store(s.mem, P + P_TAIL, tail + 1)
      return
    }
    if (overflow(s, p, g, head, m, spill)) return
  }
}

/**
 * Go's `runqputslow`: the oldest half and the new one go to the global queue. False if a thief was faster and there
 * is room again. Entries that became stale here are dropped instead of moved: after many joins most of them are.
 */
function overflow(s: Sched, p: number, hint: number, head: number, m: number, spill: Int32Array): boolean {
  const P = pw(p)
  const half = RING / 2
  for (let i = 0; i < half; i++) spill[i] = s.mem[P + P_RING + ((head + i) & RING_MASK)]
  if (Atomics.compareExchange(s.mem, P + P_HEAD, head, head + half) !== head) return false
  let n = 0
  for (let i = 0; i < half; i++) {
    if (isLive(s, spill[i])) spill[n++] = spill[i]
  }
  spill[n++] = hint
  append(s, s.gq, spill, n, m)
  s.mem[P + P_COUNTERS + C_OVERFLOWS]++
  return true
}

/** Takes `next` of `p`, 0 if there is none. Thieves compete for it. */
export function takeNext(s: Sched, p: number): number {
  const at = pw(p) + P_NEXT
  const hint = s.mem[at]
  // Only the owner sets it to something else than 0, so a lost CAS means that a thief took it.
  return hint !== 0 && Atomics.compareExchange(s.mem, at, hint, 0) === hint ? hint : 0
}

/** Takes the oldest entry of the ring of `p` for its owner, 0 if there is none. */
export function get(s: Sched, p: number): number {
  const P = pw(p)
  for (;;) {
    const head = s.mem[P + P_HEAD]
    if (head === s.mem[P + P_TAIL]) return 0 // own word
    const hint = s.mem[P + P_RING + (head & RING_MASK)] // own slot
    if (Atomics.compareExchange(s.mem, P + P_HEAD, head, (head + 1) | 0) === head) return hint
  }
}

/**
 * Go's `runqgrab`: copies half of `victim`'s ring, rounded up, behind the tail of `p`'s ring, and makes it ours by
 * moving the victim's head. With an empty ring and `stealNext`, takes `next` instead. Returns how many.
 */
function grab(s: Sched, victim: number, p: number, stealNext: boolean): number {
  const V = pw(victim)
  const P = pw(p)
  const to = s.mem[P + P_TAIL] // own word
  for (;;) {
    const head = Atomics.load(s.mem, V + P_HEAD)
    const tail = Atomics.load(s.mem, V + P_TAIL)
    const size = (tail - head) >>> 0
    const n = size - (size >>> 1)
    if (n === 0) {
      if (!stealNext) return 0
      const next = Atomics.load(s.mem, V + P_NEXT)
      if (next === 0) return 0
      // The victim is about to run it, most likely: only take what it leaves lying (Go sleeps 3 us here).
      for (let i = 0; i < NEXT_PATIENCE; i++) {
        if (Atomics.load(s.mem, V + P_NEXT) !== next) return 0
      }
      if (Atomics.compareExchange(s.mem, V + P_NEXT, next, 0) !== next) continue
      s.mem[P + P_RING + (to & RING_MASK)] = next
      return 1
    }
    if (n > RING / 2) continue // head and tail are from different moments
    for (let i = 0; i < n; i++) {
      s.mem[P + P_RING + ((to + i) & RING_MASK)] = Atomics.load(s.mem, V + P_RING + ((head + i) & RING_MASK))
    }
    if (Atomics.compareExchange(s.mem, V + P_HEAD, head, (head + n) | 0) === head) return n
  }
}

/**
 * Go's `runqsteal`: steals half of `victim`'s queue for `p`, whose ring is empty and whose owner the caller is. The
 * newest of them is returned to be run, the others are published in `p`'s ring. 0 if there was nothing.
 */
export function steal(s: Sched, victim: number, p: number, stealNext: boolean): number {
  const P = pw(p)
  s.mem[P + P_COUNTERS + C_STEALS_TRIED]++
  const n = grab(s, victim, p, stealNext)
  if (n === 0) return 0
  s.mem[P + P_COUNTERS + C_STEALS_WON]++
  s.mem[P + P_COUNTERS + C_STOLEN] += n
  const tail = s.mem[P + P_TAIL] // own word
  const hint = s.mem[P + P_RING + ((tail + n - 1) & RING_MASK)]
  if (n > 1) Atomics.store(s.mem, P + P_TAIL, tail + n - 1)
  return hint
}

/** Whether the global queue or any P's queue has an entry: the last look before a machine sleeps. */
export function anyWork(s: Sched): boolean {
  if (sizeOf(s, s.gq) !== 0) return true
  for (let p = 0; p < s.procs; p++) {
    if (!isEmpty(s, p)) return true
  }
  return false
}
