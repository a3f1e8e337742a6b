/** Threads that wait for mail and post it, without a schedule loop around them. */
import {
  get,
  indexOf,
  M_BOX,
  MAIL_SLOTS,
  mw,
  parkBlocking,
  steal,
  takeMail,
  takeNext,
  takeOne,
  wokenUp,
} from "../../../src/internal/scheduler/index.ts"
import { promise, SILENT, type Sim, type SimMachine } from "./ghosts.ts"
import { starter } from "./parts.ts"
import { awaitsAny, call, collect, hasArrived } from "./suspended.ts"

/** Who has called, in models without a record for it. */
export const NOBODY = 7

/**
 * Waits for calls that others have in hand, and makes some more as those before come back. Runs what it finds in its
 * queues itself, like any machine.
 */
export function caller(s: Sim, t: SimMachine, hints: ReadonlyArray<number>, more: number): void {
  for (const hint of hints) {
    t.awaited[indexOf(hint)] = hint
    t.callers[indexOf(hint)] = NOBODY
  }
  let left = more
  let waiting = hints.length
  for (;;) {
    collect(s, t)
    for (let now = awaited(s, t); left > 0 && now < waiting; now++) {
      left--
      call(s, t, NOBODY, 0)
    }
    waiting = awaited(s, t)
    if (!awaitsAny(s, t)) return lookAgain(s, t)
    let hint = takeNext(s, t.p)
    if (hint === 0) hint = get(s, t.p)
    if (hint === 0) hint = takeOne(s, s.gq, t.p, t.m)
    if (hint !== 0) starter(s, t, hint)
    else if (!hasArrived(s, t)) {
      parkBlocking(s, t.p, t.m, 250)
      wokenUp(s, t.m)
    }
  }
}

/** When all others have posted what they had to, mail that was taken is gone: a look costs nothing then. */
function lookAgain(s: Sim, t: SimMachine): void {
  if (s.mem[s.ghosts + SILENT] < s.procs - 1) return
  const hints = new Int32Array(MAIL_SLOTS)
  takeMail(s, t.m, hints)
  promise(takeMail(s, t.m, hints) === 0, "mail was taken twice")
  for (let i = 0; i < MAIL_SLOTS; i++) {
    promise(s.mem[mw(s, t.m) + M_BOX + i] === 0, "mail that was taken is still there")
  }
}

function awaited(s: Sim, t: SimMachine): number {
  let n = 0
  for (let g = 1; g <= s.capacity; g++) {
    if (t.awaited[g] !== 0) n++
  }
  return n
}

/** Runs calls that it has in hand, and then some that it steals. */
export function finisher(s: Sim, t: SimMachine, hints: ReadonlyArray<number>, steals: number): void {
  for (const hint of hints) starter(s, t, hint)
  for (let i = 0; i < steals; i++) {
    const hint = steal(s, 0, t.p, true)
    if (hint !== 0) starter(s, t, hint)
  }
  s.mem[s.ghosts + SILENT]++
}
