/**
 * Parallel loops over ranges of indices, split while they run.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { Call } from "./Call.ts"
import type { TaskError } from "./Errors.ts"
import { describe } from "./internal/codec/unsendable.ts"
import { defineRange, wholeRange } from "./internal/machine/range.ts"
import { check, type Taken, wrongOptions } from "./internal/options.ts"
import type { Pool } from "./Pool.ts"
import type { Sendable, SendableArgs } from "./Sendable.ts"

/**
 * A range of indices, from `from` (default 0) up to and not including `to`: whole numbers, `from <= to`.
 *
 * `grain`: least number of indices in a piece, default 1. It matters for short loops: choose it so that a piece takes
 * at least some ten microseconds, since to spawn one costs about one. (A range that is shorter is one piece.)
 *
 * @since 0.1.0
 * @category models
 */
export interface RangeBounds {
  readonly from?: number | undefined
  readonly to: number
  readonly grain?: number | undefined
}

/**
 * A task that runs a loop over a range in pieces. Called with bounds and the arguments of its body it makes a
 * {@link Call}, so a running task may spawn it too. Throws a `RangeError` for bounds that make no sense, and
 * `InvalidOptions` for names that are none of theirs.
 *
 * @since 0.1.0
 * @category models
 */
export interface RangeTask<Args extends ReadonlyArray<unknown>, A> {
  (bounds: RangeBounds, ...args: Args): Call<A>
  /** The name it was given. */
  readonly task: string
  /** Whether it has a value, put together from those of the pieces. */
  readonly combines: boolean
}

/**
 * The body of a range without a value: a sync function that does the indices from `lo` up to and not including `hi`,
 * and whose arguments can be sent.
 *
 * @since 0.1.0
 * @category models
 */
export type RangeBody<Args extends ReadonlyArray<unknown>> =
  & ((lo: number, hi: number, ...args: Args) => void | undefined)
  & NoInfer<(lo: number, hi: number, ...args: SendableArgs<Args>) => void | undefined>

/**
 * As {@link RangeBody}, for a range with a value, which can be sent.
 *
 * @since 0.1.0
 * @category models
 */
export type RangeReduceBody<Args extends ReadonlyArray<unknown>, B> =
  & ((lo: number, hi: number, ...args: Args) => B)
  & NoInfer<(lo: number, hi: number, ...args: SendableArgs<Args>) => Sendable<B>>

/**
 * Makes a task that runs a loop in parallel: machines call `body` with pieces of the range, each index in exactly one
 * of them. As `Task.make`, it stands at the top level of a module. Results go into shared memory.
 *
 * A range is halved while it runs, the right half left to whoever is idle, as in rayon (`bridge_producer_consumer`):
 * at first into some two pieces per processor, and a piece that another machine has stolen is split again, so that
 * uneven work finds its way to idle machines without a thousand small tasks. What is sent with each piece is copied
 * for it: put what is large into shared memory.
 *
 * If a piece throws, those not started never are, those that run may end (they see it in `Task.checkpoint()`), and the
 * range fails with `TaskFailed` and what the body threw. Bodies are sync; the types refuse async ones.
 *
 * @example
 * import { Effect } from "effect"
 * import { Pool, Task } from "runon"
 *
 * export const scale = Task.range(import.meta, "scale", (lo: number, hi: number, array: Float64Array, k: number) => {
 *   for (let i = lo; i < hi; i++) array[i] *= k
 * })
 *
 * const doubled = Effect.gen(function*() {
 *   const array = new Float64Array(new SharedArrayBuffer(8e6)).fill(1)
 *   yield* Pool.range(scale, { to: array.length, grain: 10_000 }, array, 2)
 *   return array
 * })
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeRange = <Args extends ReadonlyArray<unknown>>(
  meta: ImportMeta,
  name: string,
  body: RangeBody<Args>,
): RangeTask<Args, void> => toRangeTask(defineRange(meta, name, body as never, undefined), false)

/**
 * Makes a task like {@link makeRange} with a value: `body` gives that of a piece, and `combine` puts those of two
 * neighbours together, on the machines. It must be associative, so that the same comes out however the range was split;
 * it need not commute, since the left piece is always the left argument. For an empty range the body is called once
 * with `lo === hi`, and says what its value is.
 *
 * (Sums of floating-point numbers are not quite associative: their last digits depend on the splits.)
 *
 * @example
 * import { Task } from "runon"
 *
 * export const sum = Task.rangeReduce(import.meta, "sum", (lo: number, hi: number, array: Int32Array) => {
 *   let total = 0
 *   for (let i = lo; i < hi; i++) total += array[i]
 *   return total
 * }, (left, right) => left + right)
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeRangeReduce = <Args extends ReadonlyArray<unknown>, B>(
  meta: ImportMeta,
  name: string,
  body: RangeReduceBody<Args, B>,
  combine: (left: NoInfer<B>, right: NoInfer<B>) => NoInfer<B>,
): RangeTask<Args, B> => {
  if (typeof combine !== "function") throw new TypeError(`range "${name}" has no function that combines its values`)
  return toRangeTask(defineRange(meta, name, body as never, combine as never), true)
}

const toRangeTask = <Args extends ReadonlyArray<unknown>, A>(
  def: ReturnType<typeof defineRange>,
  combines: boolean,
): RangeTask<Args, A> => {
  const task = (bounds: RangeBounds, ...args: Args): Call<A> => {
    const { from, grain, to } = checked(def.name, bounds)
    return new Call<A>(def, wholeRange(from, to, grain, args))
  }
  return Object.defineProperties(task, {
    task: { value: def.name },
    combines: { value: combines },
  }) as RangeTask<Args, A>
}

/**
 * Runs a range on the pool in the context: see `Task.range` and `Task.rangeReduce`. The same as `task(bounds, ...args)`
 * as an Effect, but dies with a `RangeError` if the bounds make no sense (not whole, `to` below `from`, a grain below
 * 1), and an empty range without a value succeeds at once. Interruption cancels the pieces that have not started, and
 * waits for those that run.
 *
 * @since 0.1.0
 * @category bulk
 */
export const range: <Args extends ReadonlyArray<unknown>, A>(
  task: RangeTask<Args, A>,
  bounds: RangeBounds,
  ...args: Args
) => Effect.Effect<A, TaskError, Pool> = (task, bounds, ...args) =>
  Effect.suspend(() => {
    const call = task(bounds, ...args)
    return !task.combines && bounds.to === (bounds.from ?? 0) ? Effect.void as never : call
  })

const OF_BOUNDS: Taken = { of: "a range", names: ["from", "to", "grain"] }

const checked = (name: string, bounds: RangeBounds): Required<{ [K in keyof RangeBounds]: number }> => {
  const refuse = (what: string, must: string, value: unknown): never => {
    throw new RangeError(`range "${name}": \`${what}\` must be ${must}, not ${describe(value)}`)
  }
  if (typeof bounds !== "object" || bounds === null || Array.isArray(bounds)) {
    throw new TypeError(`range "${name}" takes its bounds first, as { from, to }, not ${describe(bounds)}`)
  }
  check(wrongOptions(OF_BOUNDS, bounds))
  const { from = 0, grain = 1, to } = bounds
  if (!Number.isSafeInteger(from)) refuse("from", "a whole number", from)
  if (!Number.isSafeInteger(to)) refuse("to", "a whole number", to)
  if (to < from) refuse("to", `at least \`from\`, which is ${from}`, to)
  if (!Number.isSafeInteger(grain) || grain < 1) refuse("grain", "a whole number of at least 1", grain)
  return { from, grain, to }
}
