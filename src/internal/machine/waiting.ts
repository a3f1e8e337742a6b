/**
 * Waiting for a child in sync code: claim it, or help until another machine has ended it, or sleep.
 */
import {
  append,
  askForWake,
  CANCEL_EPOCH,
  claim,
  DONE,
  findRunnable,
  leaveIdle,
  M_PARK,
  mw,
  NOTHING,
  P_NEXT,
  parkBlocking,
  pw,
  stateOf,
  statusOf,
  STOP,
  stopLooking,
  unclaim,
  wakep,
} from "../scheduler/index.ts"
import { isCancelled, isCancelledAbove } from "./cancel.ts"
import { Interrupted } from "./Interrupted.ts"
import type { MachineRuntime } from "./MachineRuntime.ts"
import { callOutside } from "./Running.ts"
import { ensureRoom } from "./stack.ts"

/** How deep joins may run other Gs on one stack before they only wait. */
const MAX_HELPING = 64
/** Longest sleep of a joiner in ms, after which it looks whether it is still wanted. */
const NAP = 100
/** Continuations of fibers that are run at most at a look at a cancellation. */
const READY_BATCH = 64

/** Claims a child that was not started. Its hint goes with it if it is still `next`, as it is for a quick join. */
export const claimChild = (r: MachineRuntime, hint: number): boolean => {
  if (claim(r.s, hint, r.m) === 0) return false
  const next = pw(r.p) + P_NEXT
  if (r.s.mem[next] === hint) Atomics.compareExchange(r.s.mem, next, hint, 0)
  return true
}

/**
 * Waits until a child that someone else has claimed has ended: true. False if it was given back and this machine has
 * claimed it. Throws if the parent is not wanted any more; the child is then seen to at the end of the parent.
 */
export const waitFor = (r: MachineRuntime, g: number, hint: number): boolean => {
  const { m, p, s, t } = r
  let mayHelp = r.helping < MAX_HELPING
  try {
    for (;;) {
      // Before it looks at anything: who tells it of news afterwards sets the word again. (To help is to look too.)
      if (!mayHelp) Atomics.store(s.mem, mw(s, m) + M_PARK, 0)
      if (stateOf(statusOf(s, g)) === DONE) return true
      if (claimChild(r, hint)) return false
      checkpoint(r)
      if (mayHelp) {
        const found = findRunnable(s, t)
        if (found === STOP) throw new Interrupted()
        if (found !== NOTHING) {
          mayHelp = help(r, found)
          continue
        }
      }
      // From here on the child's end is told through the park word, which was cleared before.
      if (askForWake(s, g)) parkBlocking(s, p, m, NAP)
      if (mayHelp) leaveIdle(s, t)
    }
  } finally {
    stopLooking(s, t) // it may have been chosen to look for work, and now goes back to its own
  }
}

/** Runs another G on top of the waiting one. False if that needs the event loop: then it goes to someone else. */
const help = (r: MachineRuntime, g: number): boolean => {
  const { m, s, t } = r
  if (!r.canRunNow(g)) {
    t.spill[0] = unclaim(s, g, m)
    append(s, s.gq, t.spill, 1, m)
    stopLooking(s, t)
    wakep(s)
    return false
  }
  r.helping++
  r.run(g)
  r.helping--
  return true
}

/** `Task.checkpoint`: throws if the current G or one of its callers is not wanted any more. One load if not. */
export const checkpoint = (r: MachineRuntime): void => {
  const epoch = Atomics.load(r.s.mem, CANCEL_EPOCH)
  if (epoch === r.cleanEpoch) return
  if (isCancelled(r.s, r.current)) throw new Interrupted()
  r.cleanEpoch = epoch
  if (r.suspensions.size === 0) return
  passOn(r)
  if (isCancelled(r.s, r.current)) throw new Interrupted()
}

/**
 * Lets the fibers and promises of this machine see what was cancelled: they could not before the current G has ended. It
 * may be one of theirs that is to be asked to end, here or elsewhere.
 */
const passOn = (r: MachineRuntime): void => {
  const { current, lent, running } = r
  try {
    ensureRoom()
  } catch {
    r.cleanEpoch = -1 // at another look, with more room
    return
  }
  const own = isCancelledAbove(r.s, current)
  // On top of the current one, but not in its name.
  r.current = 0
  r.lent = 0
  r.running = undefined
  callOutside(() => {
    if (r.suspensions.endCancelled() || own) r.ready.run(READY_BATCH)
  })
  r.current = current
  r.lent = lent
  r.running = running
  if (own && !r.ready.isEmpty) r.cleanEpoch = -1
}
