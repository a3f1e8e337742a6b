/** Whether anybody still wants a G: it is not, if it or one of its callers was cancelled. */
import { FLAG_CANCEL, G_FLAGS, G_PARENT, gw, type Sched } from "../scheduler/index.ts"

/** Callers outlive those they spawned, so the chain of records can be followed. */
export const isCancelled = (s: Sched, g: number): boolean => {
  for (let at = g; at !== 0; at = s.mem[gw(s, at) + G_PARENT]) {
    if ((Atomics.load(s.mem, gw(s, at) + G_FLAGS) & FLAG_CANCEL) !== 0) return true
  }
  return false
}
