/**
 * Free G records. The host and every P have a list of their own, touched by one thread only; a central list behind a
 * lock evens them out, a chunk at a time (Go's `gfget` and `gfput`).
 *
 * `homes` names the list a record stands in or stood in last. It is written before the record is linked, so that
 * after a death the lists of the dead can be made anew from the table: a FREE record with that home belongs to it.
 */
import {
  G_BLOCK,
  G_CHILD,
  G_FLAGS,
  G_NEXT,
  gw,
  HOST,
  HOST_FREE,
  P_FREE,
  pw,
  type Sched,
  SLOTS_FREE,
  SLOTS_FRESH,
  SLOTS_LOCK,
  SLOTS_WANTED,
} from "./layout.ts"
import { ringHost } from "./inbox.ts"
import { acquire, unlock } from "./lock.ts"
import { FREE, retire, stateOf, statusOf } from "./status.ts"

/** Home of a record in the central list. */
export const CENTRAL_HOME = 0
/** Home of a record in the host's list. */
export const HOST_HOME = 1
/** Homes of the Ps' lists begin here. */
const P_HOME = 2

const COUNT = 1

/** Records that move between a list and the central one at once. */
function chunk(s: Sched): number {
  return Math.max(1, Math.min(64, s.capacity >>> 3))
}

/** Most records that the host has in use, so that those on machines can make calls too. */
export function hostShare(s: Sched): number {
  return Math.max(1, s.capacity - (s.capacity >>> 2))
}

/**
 * Most records a list keeps. Together the Ps keep at most a quarter of all, so that they cannot starve the host at a
 * small capacity: there, they give back what they free at once. The host keeps what it has use for until it has no
 * more calls to submit, see {@link giveBackSurplus}.
 */
function limit(s: Sched, list: number): number {
  return list === HOST_FREE ? hostShare(s) : Math.min(128, Math.floor(s.capacity / (4 * s.procs)))
}

/** The list that machine work on P `p` uses. */
export function listOf(p: number): number {
  return pw(p) + P_FREE
}

/** The home that belongs to P `p`. */
export function homeOf(p: number): number {
  return P_HOME + p
}

/** Takes a record for `me` from its list, 0 if there is none anywhere (or the host cannot have the lock now). */
export function allocate(s: Sched, list: number, home: number, me: number): number {
  if (s.mem[list] === 0 && !refill(s, list, home, me)) return 0
  const g = s.mem[list]
  const G = gw(s, g)
  s.mem[list] = s.mem[G + G_NEXT]
  s.mem[list + COUNT]--
  s.mem[G + G_FLAGS] = 0
  s.mem[G + G_BLOCK] = 0
  s.mem[G + G_CHILD] = 0
  return g
}

/** Ends the life of record `g` and puts it in the list of `me`, who delivered it. */
export function release(s: Sched, list: number, home: number, g: number, me: number): void {
  const G = gw(s, g)
  retire(s, g)
  s.mem[s.homes + g] = home
  s.mem[G + G_NEXT] = s.mem[list]
  s.mem[list] = g
  s.mem[list + COUNT]++
  const most = limit(s, list)
  if (s.mem[list + COUNT] > most) giveBack(s, list, most >>> 1, me)
}

/** The host has no more calls to submit: it gives back what it would keep from machines that need records. */
export function giveBackSurplus(s: Sched): void {
  if (s.mem[HOST_FREE + COUNT] > s.capacity >>> 1) giveBack(s, HOST_FREE, s.capacity >>> 2, HOST)
}

/** Moves a chunk from the central list, or records never used before, to an empty list. */
function refill(s: Sched, list: number, home: number, me: number): boolean {
  if (!acquire(s, SLOTS_LOCK, me)) return false
  let n = list === HOST_FREE ? chunk(s) : Math.min(chunk(s), Math.max(1, limit(s, list)))
  while (n > 0) {
    let g = s.mem[SLOTS_FREE]
    if (g !== 0) {
      s.mem[SLOTS_FREE] = s.mem[gw(s, g) + G_NEXT]
      s.mem[SLOTS_FREE + COUNT]--
    } else if (s.mem[SLOTS_FRESH] <= s.capacity) {
      g = s.mem[SLOTS_FRESH]
      s.mem[SLOTS_FRESH] = g + 1
    } else {
      break
    }
    const G = gw(s, g)
    s.mem[s.homes + g] = home
    s.mem[G + G_NEXT] = s.mem[list]
    s.mem[list] = g
    s.mem[list + COUNT]++
    n--
  }
  unlock(s, SLOTS_LOCK)
  return s.mem[list] !== 0
}

/** Moves all but `keep` records of a list to the central one, and tells the host if it waits for one. */
function giveBack(s: Sched, list: number, keep: number, me: number): void {
  if (!acquire(s, SLOTS_LOCK, me)) return // the host: it comes here again
  while (s.mem[list + COUNT] > keep) {
    const g = s.mem[list]
    const G = gw(s, g)
    s.mem[list] = s.mem[G + G_NEXT]
    s.mem[list + COUNT]--
    s.mem[s.homes + g] = CENTRAL_HOME
    s.mem[G + G_NEXT] = s.mem[SLOTS_FREE]
    s.mem[SLOTS_FREE] = g
    s.mem[SLOTS_FREE + COUNT]++
  }
  unlock(s, SLOTS_LOCK)
  if (Atomics.load(s.mem, SLOTS_WANTED) === 1 && Atomics.compareExchange(s.mem, SLOTS_WANTED, 1, 0) === 1) {
    ringHost(s)
  }
}

/** The host found no record and asks to be told when some are given back. It must try once more after this. */
export function wantSlots(s: Sched): void {
  Atomics.store(s.mem, SLOTS_WANTED, 1)
}

/**
 * Makes the list of `home` anew from the table. For the list of a dead machine's P, or, with the lock held by a dead
 * machine, for the central one: nobody else may touch the list meanwhile.
 */
export function rebuild(s: Sched, list: number, home: number): void {
  s.mem[list] = 0
  s.mem[list + COUNT] = 0
  for (let g = newestRecord(s); g >= 1; g--) {
    const G = gw(s, g)
    if (s.mem[s.homes + g] !== home || stateOf(statusOf(s, g)) !== FREE) continue
    s.mem[G + G_NEXT] = s.mem[list]
    s.mem[list] = g
    s.mem[list + COUNT]++
  }
}

/** The last record that was ever given out: those above it are FREE and always were. A momentary value. */
export function newestRecord(s: Sched): number {
  return Math.min(s.capacity, Atomics.load(s.mem, SLOTS_FRESH) - 1)
}

/** Records in use: neither free nor never used. A momentary value, and not a cheap one: it reads the table. */
export function inUse(s: Sched): number {
  let n = 0
  for (let g = newestRecord(s); g >= 1; g--) {
    if (stateOf(statusOf(s, g)) !== FREE) n++
  }
  return n
}
