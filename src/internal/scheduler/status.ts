/**
 * The status word of a G: the one truth about it. Entries in queues are only hints.
 *
 * ```
 * bits 0-3    state
 * bits 4-14   the machine that runs it, or ran it last
 * bit  15     the machine that waits for it sleeps and wants to be woken
 * bits 16-31  generation: how often this record has been reused
 * ```
 *
 * - A G runs if and only if somebody wins the CAS from RUNNABLE to RUNNING. However many hints to it exist, and
 *   however old they are, it runs exactly once.
 * - Only the machine in the word may move a RUNNING or WAITING G on; when that machine is dead, only the sweep.
 *   Both use CAS, so that a machine which was given up but comes back cannot deliver twice.
 * - DONE is final until the waiter frees the record. Freeing raises the generation, so that a handle or a hint
 *   from a former life does not match.
 */
import { CANCEL_EPOCH, FLAG_CANCEL, G_FLAGS, G_STATUS, G_WAITER, gw, M_PARK, mw, type Sched } from "./layout.ts"

/** The record stands in a free list. */
export const FREE = 0
/** May be started by anyone. */
export const RUNNABLE = 1
/** Runs on the machine in the word. */
export const RUNNING = 2
/** Suspended on the machine in the word: its continuation lives in that machine's heap. */
export const WAITING = 4
/** Ended; the outcome is in the record. */
export const DONE = 6

const STATE_MASK = 0xf
const M_SHIFT = 4
const M_MASK = 0x7ff
const WAKE_BIT = 1 << 15
const GEN_SHIFT = 16

/** Bits of the record index in a hint; the rest is the low part of the generation. */
const INDEX_BITS = 22
const INDEX_MASK = (1 << INDEX_BITS) - 1

/** The state in a status word. */
export function stateOf(status: number): number {
  return status & STATE_MASK
}

/** The machine in a status word. */
export function machineOf(status: number): number {
  return (status >>> M_SHIFT) & M_MASK
}

/** The generation in a status word. */
export function generationOf(status: number): number {
  return status >>> GEN_SHIFT
}

const pack = (generation: number, m: number, state: number): number =>
  (generation << GEN_SHIFT) | (m << M_SHIFT) | state

/** The entry that queues hold for G `g`: its index and the low bits of its generation. Never 0. */
export function hintOf(g: number, generation: number): number {
  return (generation << INDEX_BITS) | g
}

/** The record a hint points to. */
export function indexOf(hint: number): number {
  return hint & INDEX_MASK
}

/**
 * Makes a record that the caller owns runnable and returns its hint. The fields were written with plain stores;
 * this atomic store publishes them to whoever wins the CAS in {@link claim}. Until then no one else may write the
 * record: a stale hint can at most read the status.
 */
export function makeRunnable(s: Sched, g: number): number {
  const at = gw(s, g) + G_STATUS
  const generation = generationOf(s.mem[at]) // own word
  Atomics.store(s.mem, at, pack(generation, 0, RUNNABLE))
  return hintOf(g, generation)
}

/**
 * Whether a hint still points to a G that waits to be run. A plain read, as in {@link claim}: what it sees may be gone
 * at once.
 */
export function isLive(s: Sched, hint: number): boolean {
  const status = s.mem[gw(s, indexOf(hint)) + G_STATUS]
  return stateOf(status) === RUNNABLE && hintOf(indexOf(hint), generationOf(status)) === hint
}

/**
 * Tries to win the right to run the G of a hint on machine `m`. Returns its index, or 0 if the hint is stale:
 * someone else runs it, or it was cancelled, or the record has been reused.
 *
 * The first read is plain, since V8 calls a function for every atomic one. It cannot see less than what came before
 * the hint was published: whoever has a hint took it from a queue by an atomic operation. If it sees an older value
 * than others do, the CAS fails.
 */
export function claim(s: Sched, hint: number, m: number): number {
  const g = indexOf(hint)
  const at = gw(s, g) + G_STATUS
  const status = s.mem[at]
  const generation = generationOf(status)
  if (stateOf(status) !== RUNNABLE || hintOf(g, generation) !== hint) return 0
  return Atomics.compareExchange(s.mem, at, status, pack(generation, m, RUNNING)) === status ? g : 0
}

/**
 * Puts a G back that machine `m` has claimed but not begun, and returns its hint to be queued again. A machine that
 * sleeps until the G ends is woken: it may run it itself now, and the one that will might not know of the sleeper.
 */
export function unclaim(s: Sched, g: number, m: number): number {
  const at = gw(s, g) + G_STATUS
  for (;;) {
    const status = Atomics.load(s.mem, at)
    const generation = generationOf(status)
    const waiter = s.mem[gw(s, g) + G_WAITER]
    if (stateOf(status) !== RUNNING || machineOf(status) !== m) return hintOf(g, generation)
    if (Atomics.compareExchange(s.mem, at, status, pack(generation, 0, RUNNABLE)) !== status) continue
    if ((status & WAKE_BIT) !== 0) unpark(s, waiter - 1)
    return hintOf(g, generation)
  }
}

/** The machine of a RUNNING G marks that its continuation waits for the event loop. */
export function setWaiting(s: Sched, g: number, m: number): boolean {
  return move(s, g, m, RUNNING, WAITING)
}

/** The machine of a WAITING G runs its continuation. */
export function setRunning(s: Sched, g: number, m: number): boolean {
  return move(s, g, m, WAITING, RUNNING)
}

function move(s: Sched, g: number, m: number, from: number, to: number): boolean {
  const at = gw(s, g) + G_STATUS
  for (;;) {
    const status = Atomics.load(s.mem, at)
    if (stateOf(status) !== from || machineOf(status) !== m) return false
    // Keeps the wake bit, which a sleeping waiter may set at any time.
    const next = (status & ~STATE_MASK) | to
    if (Atomics.compareExchange(s.mem, at, status, next) === status) return true
  }
}

/** What {@link finish} tells: not ours any more, ended, or ended and the waiting machine must be woken. */
export const LOST = 0
export const ENDED = 1
export const ENDED_WAKE = 2

/**
 * Ends a G that machine `m` has in hand, after its outcome was written. The CAS publishes the outcome. It fails
 * only if the sweep has given the machine up, or if a waiter sets the wake bit at this moment; then again.
 */
export function finish(s: Sched, g: number, m: number): number {
  const at = gw(s, g) + G_STATUS
  for (;;) {
    // Plain: machine m wrote that it has the G. Of what others wrote since, all but the wake bit is the sweep's, and
    // whoever sees an older value fails the CAS.
    const status = s.mem[at]
    const state = stateOf(status)
    if ((state !== RUNNING && state !== WAITING) || machineOf(status) !== m) return LOST
    const done = pack(generationOf(status), m, DONE)
    if (Atomics.compareExchange(s.mem, at, status, done) === status) {
      return (status & WAKE_BIT) === 0 ? ENDED : ENDED_WAKE
    }
  }
}

/**
 * A waiter about to sleep asks to be woken at the end of `g`. False if it has ended or may be run by the waiter
 * itself: look again. Pairs with the CAS in {@link finish}: either that sees the bit, or this sees DONE.
 */
export function askForWake(s: Sched, g: number): boolean {
  const at = gw(s, g) + G_STATUS
  for (;;) {
    const status = Atomics.load(s.mem, at)
    const state = stateOf(status)
    if (state !== RUNNING && state !== WAITING) return false
    if ((status & WAKE_BIT) !== 0) return true
    if (Atomics.compareExchange(s.mem, at, status, status | WAKE_BIT) === status) return true
  }
}

/**
 * Takes a G that has not been started out of play: RUNNABLE to DONE. Its hints become stale where they stand.
 * True if it will never run. The caller owns the record from then on.
 */
export function cancelQueued(s: Sched, g: number, generation: number): boolean {
  const runnable = pack(generation, 0, RUNNABLE)
  const at = gw(s, g) + G_STATUS
  return Atomics.compareExchange(s.mem, at, runnable, pack(generation, 0, DONE)) === runnable
}

/** Asks a started G to stop. The request is seen at its next check and by its children. */
export function requestCancel(s: Sched, g: number): void {
  Atomics.or(s.mem, gw(s, g) + G_FLAGS, FLAG_CANCEL)
}

/** Makes running Gs look for a cancel request at their next check. After {@link requestCancel}. */
export function announceCancel(s: Sched): void {
  Atomics.add(s.mem, CANCEL_EPOCH, 1)
}

/**
 * Ends the life of a record: FREE, next generation. The caller must be the only one who delivers it. Plain, since
 * nobody else may write the word of a record that is done, and who reads an older value from it, through a stale hint,
 * loses the CAS. Who gets the record next gets it from this thread's list, or through a lock.
 */
export function retire(s: Sched, g: number): void {
  const at = gw(s, g) + G_STATUS
  const generation = generationOf(s.mem[at]) // own word
  s.mem[at] = pack((generation + 1) & 0xffff, 0, FREE)
}

/** The status word of `g`, read atomically: what was written before it became DONE is visible. */
export function statusOf(s: Sched, g: number): number {
  return Atomics.load(s.mem, gw(s, g) + G_STATUS)
}

/**
 * Tells machine `m` to look again, whether it sleeps or is about to. Machines clear the word after they slept,
 * before they look at anything, and sleep only while it is 0, so no call that comes while they look is lost; one that
 * comes too early or too often costs one look.
 */
export function unpark(s: Sched, m: number): void {
  const at = mw(s, m) + M_PARK
  if (Atomics.exchange(s.mem, at, 1) === 0) Atomics.notify(s.mem, at)
}
