/** Whether anybody still wants a G: it is not, if it or one of its callers was cancelled. */
import { FLAG_CANCEL, FLAG_MAIL, G_FLAGS, G_PARENT, gw, type Sched } from "../scheduler/index.ts"

/**
 * Callers outlive those they spawned, so the chain of records can be followed. It ends at a G whose caller is suspended:
 * that cancels its calls itself when it is cancelled, but not those that its finalizers make.
 */
export const isCancelled = (s: Sched, g: number): boolean => {
  for (let at = g; at !== 0; at = s.mem[gw(s, at) + G_PARENT]) {
    const flags = Atomics.load(s.mem, gw(s, at) + G_FLAGS)
    if ((flags & FLAG_CANCEL) !== 0) return true
    if ((flags & FLAG_MAIL) !== 0) return false
  }
  return false
}

/**
 * Whether a caller of a G was cancelled that may have to pass it on: not at once, and perhaps never. A hint only: after a
 * death, records of callers may be those of others.
 */
export const isCancelledAbove = (s: Sched, g: number): boolean => {
  let at = s.mem[gw(s, g) + G_PARENT]
  for (let steps = 0; at !== 0 && steps < s.capacity; steps++) {
    if ((Atomics.load(s.mem, gw(s, at) + G_FLAGS) & FLAG_CANCEL) !== 0) return true
    at = s.mem[gw(s, at) + G_PARENT]
  }
  return false
}
