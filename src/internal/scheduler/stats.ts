/** What a pool's shared memory tells about its past and present. */
import { sizeOf } from "./globalq.ts"
import { idleCount, spinningCount } from "./idle.ts"
import { COUNTERS, P_COUNTERS, P_M, pw, type Sched } from "./layout.ts"
import { isEmpty, length } from "./runq.ts"

/** Counters of one P; see {@link snapshot}. */
export type Counters = { readonly [K in (typeof COUNTERS)[number]]: number }

/** Reads the counters of P `p`. Each has one writer, so each is exact up to a moment ago. They wrap at 2^32. */
export function counters(s: Sched, p: number): Counters {
  const at = pw(p) + P_COUNTERS
  return Object.fromEntries(COUNTERS.map((name, i) => [name, Atomics.load(s.mem, at + i) >>> 0])) as Counters
}

/** The state of the queues and bitmaps. Momentary values that need not belong to the same moment. */
export function snapshot(s: Sched): {
  readonly idle: number
  readonly spinning: number
  readonly globalQueue: number
  readonly rootQueue: number
  readonly ps: ReadonlyArray<{ readonly machine: number; readonly queue: number; readonly counters: Counters }>
} {
  return {
    idle: idleCount(s),
    spinning: spinningCount(s),
    globalQueue: sizeOf(s, s.gq),
    rootQueue: s.bounded ? sizeOf(s, s.rq) : 0,
    ps: Array.from({ length: s.procs }, (_, p) => ({
      machine: Atomics.load(s.mem, pw(p) + P_M),
      queue: length(s, p) || (isEmpty(s, p) ? 0 : 1),
      counters: counters(s, p),
    })),
  }
}
