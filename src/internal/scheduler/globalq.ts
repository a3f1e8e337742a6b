/**
 * A FIFO of hints behind a lock: Go's global run queue, for what the host submits, overflow and yields. A bounded
 * pool has a second one for roots.
 *
 * Entries are hints held by value, in a ring, not links through the G records as in Go: here a G in the queue may be
 * started by someone who never took it out (a join, a sweep, a cancellation), and its record be reused, while the
 * entry stays. That needs no unlinking, and a machine that dies at any point of any function here leaves a ring that
 * can be read: at worst the hints it had in hand are missing, and the sweep queues those Gs again.
 */
import {
  C_GLOBAL_TAKES,
  markWords,
  P_COUNTERS,
  P_HEAD,
  P_RING,
  P_TAIL,
  pw,
  Q_HEAD,
  Q_LOCK,
  Q_SLOTS,
  Q_TAIL,
  RING,
  RING_MASK,
  type Sched,
} from "./layout.ts"
import { acquire, unlock } from "./lock.ts"
import { indexOf, isLive } from "./status.ts"

/** Most Gs that move from the global queue to a P at once: half a ring, as in Go. */
const BATCH = RING / 2

/** Number of entries, stale ones included. A momentary value. */
export function sizeOf(s: Sched, q: number): number {
  return (Atomics.load(s.mem, q + Q_TAIL) - Atomics.load(s.mem, q + Q_HEAD)) >>> 0
}

/**
 * Appends `n` hints for `me` under one lock. False, with nothing done, only for the host when the lock stays taken.
 * Slots get plain stores: the atomic store of the tail publishes them, and only the holder of the lock reads them.
 */
export function append(s: Sched, q: number, hints: Int32Array, n: number, me: number): boolean {
  if (!acquire(s, q + Q_LOCK, me)) return false
  if (sizeOf(s, q) + n > s.queueMask + 1) compact(s, q)
  const tail = Atomics.load(s.mem, q + Q_TAIL)
  for (let i = 0; i < n; i++) s.mem[q + Q_SLOTS + ((tail + i) & s.queueMask)] = hints[i]
  Atomics.store(s.mem, q + Q_TAIL, tail + n)
  unlock(s, q + Q_LOCK)
  return true
}

/**
 * Drops stale entries and repeats. The ring has two slots per G and at most one entry per G is left, so afterwards
 * any batch fits. Entries slide towards the tail and the head follows at the end: at every step each live hint is
 * somewhere between head and tail, so a death in here loses none.
 */
export function compact(s: Sched, q: number): void {
  const marks = s.marks + (q === s.gq ? 0 : markWords(s.capacity))
  const words = markWords(s.capacity)
  for (let i = 0; i < words; i++) s.mem[marks + i] = 0
  const head = Atomics.load(s.mem, q + Q_HEAD)
  const tail = Atomics.load(s.mem, q + Q_TAIL)
  let to = tail
  for (let from = tail; from !== head;) {
    from = (from - 1) | 0
    const hint = s.mem[q + Q_SLOTS + (from & s.queueMask)]
    const g = indexOf(hint)
    const word = marks + (g >>> 5)
    const bit = 1 << (g & 31)
    if ((s.mem[word] & bit) !== 0 || !isLive(s, hint)) continue
    s.mem[word] |= bit
    to = (to - 1) | 0
    s.mem[q + Q_SLOTS + (to & s.queueMask)] = hint
  }
  Atomics.store(s.mem, q + Q_HEAD, to)
}

/** Takes the oldest hint, 0 if there is none. */
export function takeOne(s: Sched, q: number, p: number, me: number): number {
  if (sizeOf(s, q) === 0) return 0
  acquire(s, q + Q_LOCK, me)
  let hint = 0
  const head = Atomics.load(s.mem, q + Q_HEAD)
  if (head !== Atomics.load(s.mem, q + Q_TAIL)) {
    hint = s.mem[q + Q_SLOTS + (head & s.queueMask)]
    Atomics.store(s.mem, q + Q_HEAD, head + 1)
  }
  unlock(s, q + Q_LOCK)
  if (hint !== 0) s.mem[pw(p) + P_COUNTERS + C_GLOBAL_TAKES]++
  return hint
}

/**
 * Go's `globrunqget`: takes `min(size, size/procs + 1, 128)` hints, returns the oldest and puts the others in the
 * local ring of `p`, whose owner the caller is. 0 if there is none.
 */
export function takeBatch(s: Sched, q: number, p: number, me: number): number {
  if (sizeOf(s, q) === 0) return 0
  const P = pw(p)
  const tail = s.mem[P + P_TAIL] // own word
  // Room can only grow while we look: thieves move the head forward.
  const room = RING - ((tail - Atomics.load(s.mem, P + P_HEAD)) >>> 0)
  acquire(s, q + Q_LOCK, me)
  const head = Atomics.load(s.mem, q + Q_HEAD)
  const size = (Atomics.load(s.mem, q + Q_TAIL) - head) >>> 0
  const n = Math.min(size, Math.floor(size / s.procs) + 1, BATCH, room + 1)
  const first = n === 0 ? 0 : s.mem[q + Q_SLOTS + (head & s.queueMask)]
  for (let i = 1; i < n; i++) {
    s.mem[P + P_RING + ((tail + i - 1) & RING_MASK)] = s.mem[q + Q_SLOTS + ((head + i) & s.queueMask)]
  }
  Atomics.store(s.mem, q + Q_HEAD, head + n)
  unlock(s, q + Q_LOCK)
  if (n > 1) Atomics.store(s.mem, P + P_TAIL, tail + n - 1)
  if (n > 0) s.mem[P + P_COUNTERS + C_GLOBAL_TAKES]++
  return first
}
