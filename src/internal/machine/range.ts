/**
 * Loops over ranges of indices that split themselves as machines become free: the adaptive splitting of rayon's
 * `bridge_producer_consumer` (its `Splitter` and `LengthSplitter`).
 *
 * A piece has a budget of splits, at first one for each processor, which halves with every split: so there are some
 * pieces per processor and no more, as long as nobody is idle. A piece that runs on another machine than the one that
 * spawned it was stolen, so somebody was idle: it gets a new budget.
 */
import { TaskFailed } from "../../Errors.ts"
import { defineTask, type TaskDef } from "../registry.ts"
import { currentMachine } from "./current.ts"
import { type Child, spawn } from "./spawn.ts"
import { checkpoint } from "./waiting.ts"

/** What stands for the machine that spawned a piece in the arguments of a whole range. */
const NOBODY = -1

type Body = (lo: number, hi: number, ...args: ReadonlyArray<unknown>) => unknown
type Combine = (left: unknown, right: unknown) => unknown

/** The arguments of a G that runs a whole range. */
export const wholeRange = (
  from: number,
  to: number,
  grain: number,
  args: ReadonlyArray<unknown>,
): ReadonlyArray<unknown> => [from, to, grain, 0, NOBODY, ...args]

/** Makes a task that runs ranges. With no `combine`, values of the body are dropped. */
export const defineRange = (meta: ImportMeta, name: string, body: Body, combine: Combine | undefined): TaskDef => {
  if (typeof body !== "function") throw new TypeError(`the body of range "${name}" in ${meta?.url} is not a function`)
  const piece = (
    from: number,
    to: number,
    grain: number,
    budget: number,
    spawner: number,
    ...args: ReadonlyArray<unknown>
  ): unknown => {
    const r = currentMachine()
    if (r === undefined) throw new Error(`range "${name}" does not run on a machine`)
    const { procs } = r.s
    let splits = spawner === NOBODY ? procs : budget
    let stolen = spawner !== NOBODY && spawner !== r.m
    let end = to
    // The right halves, the larger ones first: thieves take the oldest.
    const rights: Array<Child> = []
    for (;;) {
      const half = Math.floor((end - from) / 2)
      if (half < grain || !(stolen || splits > 0)) break
      splits = stolen ? Math.max(procs, splits >>> 1) : splits >>> 1
      stolen = false
      rights.push(spawn(r, def, [from + half, end, grain, splits, r.m, ...args]))
      end = from + half
    }
    checkpoint(r)
    let value = combine === undefined && from === end ? undefined : body(from, end, ...args)
    if (isThenable(value)) {
      Promise.resolve(value).catch(() => {}) // what is wrong with it is told here
      throw new TypeError(`the body of range "${name}" returned a promise: it must be a sync function`)
    }
    // From left to right, so that `combine` need not commute. If something throws, the rest is ended with this G.
    for (let i = rights.length - 1; i >= 0; i--) {
      const right = valueOf(def, rights[i])
      if (combine !== undefined) value = combine(value, right)
    }
    return combine === undefined ? undefined : value
  }
  const def = defineTask(meta, name, piece as never)
  return def
}

/** The value of a piece, or what its body threw: a range fails with that, however often it was split. */
const valueOf = (def: TaskDef, child: Child): unknown => {
  try {
    return child.join()
  } catch (error) {
    throw error instanceof TaskFailed && error.task === def.name ? error.error : error
  }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && typeof (value as PromiseLike<unknown>).then === "function"
