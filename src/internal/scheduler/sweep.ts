/**
 * What is done when a machine is gone, at whatever instruction it stopped. Run by the host, once it has proof that the
 * thread has ended, or has given the thread up; nobody else touches what belonged to the dead machine and its P.
 *
 * - A lock it held: what the lock protects is made sound from data that is always sound, then the lock is opened.
 * - Gs that it ran (RUNNING or WAITING with its index): ended by {@link finish}, for the caller to fail. They had
 *   started, so they are not run again.
 * - Gs whose hint it had in hand: every RUNNABLE G that no queue holds is queued again. A hint in motion on another
 *   thread may be missed and doubled; that is harmless.
 * - DONE Gs that it had not yet put in the host's inbox: the caller delivers them, after emptying the inbox.
 * - DONE Gs that it waited for, and those that it will not wait for any more: left to the caller as orphans.
 * - Its bits, the free list of its P, its arena blocks: put right from the table and the tags.
 */
import { freeBlock, rebuildArena, usedBlocks } from "./arena.ts"
import { append, sizeOf } from "./globalq.ts"
import { clearBits } from "./idle.ts"
import {
  ARENA_LOCK,
  G_BLOCK,
  G_PARENT,
  G_WAITER,
  gw,
  HOST,
  M_EXITED,
  M_LIFE,
  mw,
  P_HEAD,
  P_NEXT,
  P_RING,
  P_TAIL,
  pw,
  Q_HEAD,
  Q_LOCK,
  Q_SLOTS,
  RING_MASK,
  type Sched,
  SLOTS_FREE,
  SLOTS_LOCK,
  TASKS_LOCK,
} from "./layout.ts"
import { acquire, holder, unlock } from "./lock.ts"
import { CENTRAL_HOME, homeOf, listOf, newestRecord, rebuild } from "./slots.ts"
import {
  DONE,
  FREE,
  generationOf,
  hintOf,
  indexOf,
  machineOf,
  RUNNABLE,
  RUNNING,
  stateOf,
  statusOf,
  WAITING,
} from "./status.ts"

/** What {@link sweep} found for the caller to deal with. */
export interface Remains {
  /** Gs that were in progress on the dead machine. Still in that state: write an outcome, then `finish` them. */
  readonly running: ReadonlyArray<number>
  /** Gs that ended there; those for the host which are not in its inbox must be delivered by the caller. */
  readonly done: ReadonlyArray<number>
  /** Gs spawned by the dead machine that have not ended: nobody waits for them any more. */
  readonly orphans: ReadonlyArray<number>
}

/**
 * Puts everything right but the Gs it returns. `m` is the dead machine, `p` the P that it served. Undefined if a lock
 * that a living machine holds could not be had in a bounded time: call again on a later turn; what was done by then is
 * done once and needs no undoing.
 */
export function sweep(s: Sched, m: number, p: number): Remains | undefined {
  Atomics.store(s.mem, mw(s, m) + M_LIFE, M_EXITED)
  openLocks(s, m)
  clearBits(s, p)
  rebuild(s, listOf(p), homeOf(p))
  const queued = reachable(s)
  if (queued === undefined || !freeHeld(s, m)) return undefined

  const running: Array<number> = []
  const done: Array<number> = []
  const orphans: Array<number> = []
  const lost: Array<number> = []
  const lostRoots: Array<number> = []
  for (let g = newestRecord(s); g >= 1; g--) {
    const status = statusOf(s, g)
    const state = stateOf(status)
    if (state === FREE) continue
    const started = state === RUNNING || state === WAITING
    if (started && machineOf(status) === m) running.push(g)
    else if (state === DONE && machineOf(status) === m) done.push(g)
    if (s.mem[gw(s, g) + G_WAITER] === m + 1) orphans.push(g)
    else if (state === RUNNABLE && queued[g] === 0) {
      const hints = s.bounded && s.mem[gw(s, g) + G_PARENT] === 0 ? lostRoots : lost
      hints.push(hintOf(g, generationOf(status)))
    }
  }
  if (lost.length > 0 && !append(s, s.gq, Int32Array.from(lost), lost.length, HOST)) return undefined
  if (lostRoots.length > 0 && !append(s, s.rq, Int32Array.from(lostRoots), lostRoots.length, HOST)) return undefined
  return { running, done, orphans }
}

function openLocks(s: Sched, m: number): void {
  if (holder(s, SLOTS_LOCK) === m) {
    rebuild(s, SLOTS_FREE, CENTRAL_HOME)
    unlock(s, SLOTS_LOCK)
  }
  if (holder(s, ARENA_LOCK) === m) {
    rebuildArena(s)
    unlock(s, ARENA_LOCK)
  }
  // Their data are sound at every step.
  if (holder(s, TASKS_LOCK) === m) unlock(s, TASKS_LOCK)
  if (holder(s, s.gq + Q_LOCK) === m) unlock(s, s.gq + Q_LOCK)
  if (s.bounded && holder(s, s.rq + Q_LOCK) === m) unlock(s, s.rq + Q_LOCK)
  // It may have died between opening a lock and the notify that goes with it, or woken up for the lock and died.
  for (const at of [SLOTS_LOCK, ARENA_LOCK, TASKS_LOCK, s.gq + Q_LOCK, s.rq + Q_LOCK]) Atomics.notify(s.mem, at)
}

/** One byte per G: whether some queue held a live hint to it a moment ago. */
function reachable(s: Sched): Uint8Array | undefined {
  const seen = new Uint8Array(s.capacity + 1)
  for (const q of s.bounded ? [s.gq, s.rq] : [s.gq]) {
    if (!acquire(s, q + Q_LOCK, HOST)) return undefined
    const head = Atomics.load(s.mem, q + Q_HEAD)
    for (let i = sizeOf(s, q) - 1; i >= 0; i--) mark(s, seen, s.mem[q + Q_SLOTS + ((head + i) & s.queueMask)])
    unlock(s, q + Q_LOCK)
  }
  for (let p = 0; p < s.procs; p++) {
    const P = pw(p)
    mark(s, seen, Atomics.load(s.mem, P + P_NEXT))
    const head = Atomics.load(s.mem, P + P_HEAD)
    const tail = Atomics.load(s.mem, P + P_TAIL)
    for (let i = Math.min((tail - head) >>> 0, RING_MASK + 1) - 1; i >= 0; i--) {
      mark(s, seen, Atomics.load(s.mem, P + P_RING + ((head + i) & RING_MASK)))
    }
  }
  return seen
}

function mark(s: Sched, seen: Uint8Array, hint: number): void {
  const g = indexOf(hint)
  if (hint !== 0 && hintOf(g, generationOf(statusOf(s, g))) === hint) seen[g] = 1
}

/**
 * Frees the arena blocks that only the dead machine answered for: with its stamp, and in no G's record. The records are
 * read first. A living machine that takes such a block out of a record puts its own stamp on it before, so a block that
 * the records did not have any more does not bear the dead machine's stamp either; the other way round it could be
 * seen with the stamp, then be taken out and freed by the living, and be freed a second time here.
 */
function freeHeld(s: Sched, m: number): boolean {
  const referenced = new Set<number>()
  for (let g = newestRecord(s); g >= 1; g--) {
    if (stateOf(statusOf(s, g)) !== FREE) referenced.add(Atomics.load(s.mem, gw(s, g) + G_BLOCK))
  }
  if (!acquire(s, ARENA_LOCK, HOST)) return false
  const held = usedBlocks(s).filter((b) => b.owner === m && !referenced.has(b.block)).map((b) => b.block)
  unlock(s, ARENA_LOCK)
  return held.every((block) => freeBlock(s, block, HOST))
}
