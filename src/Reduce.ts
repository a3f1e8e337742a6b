/**
 * Reduction of the values of many calls, without keeping them.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type { Call } from "./Call.ts"
import type { TaskError } from "./Errors.ts"
import { Feed } from "./internal/bulk/Feed.ts"
import { Reorder } from "./internal/bulk/Reorder.ts"
import { windowOf } from "./internal/bulk/window.ts"
import { checkFunction, checkOrder } from "./internal/notACall.ts"
import { BY_EFFECT, check, type Taken, wrongOptions } from "./internal/options.ts"
import { submitterOf } from "./internal/poolHost.ts"
import { poolTag } from "./internal/tag.ts"
import type { Pool, PoolService } from "./Pool.ts"

/**
 * How {@link reduce} reduces.
 *
 * @since 0.1.0
 * @category models
 */
export interface Reduction<A, B, E, Z> {
  /** What it starts with, and its value if there are no items. */
  readonly zero: Z
  /** The call for an item. */
  readonly map: (item: A, index: number) => Call<B, E>
  /** Adds a value to what came before it, in the thread that reduces. */
  readonly combine: (acc: Z, value: B, index: number) => Z
  /**
   * Most calls that are in progress, or have ended before one of an earlier item. Default: 64 for each processor, at
   * least 256.
   */
  readonly concurrency?: number | undefined
}

/**
 * Runs a call for each item on the pool in the context, and combines their values in the order of the items, whichever
 * comes first: so `combine` may be any function, as in `Effect.reduce`. Neither values nor items are kept: an iterator
 * is asked for an item when there is room for its call, and no more than `concurrency` are under way at a time.
 *
 * The first failure cancels the calls that have not started, waits for those that run, and is the failure of the
 * whole, as in `Pool.forEach`. So does interruption. What `map`, `combine` or the iterator throws is a defect.
 *
 * @example
 * import { Pool } from "runon"
 * import { countPrimes } from "./primes.ts"
 *
 * const total = Pool.reduce([[0, 1e5], [1e5, 2e5]], {
 *   zero: 0,
 *   map: ([lo, hi]) => countPrimes(lo, hi),
 *   combine: (sum, n) => sum + n,
 * })
 *
 * @since 0.1.0
 * @category bulk
 */
export const reduce: {
  <A, B, Z, E = never>(
    reduction: Reduction<A, B, E, Z>,
  ): (items: Iterable<A>) => Effect.Effect<Z, E | TaskError, Pool>
  <A, B, Z, E = never>(
    items: Iterable<A>,
    reduction: Reduction<A, B, E, Z>,
  ): Effect.Effect<Z, E | TaskError, Pool>
} = dual(
  2,
  <A, B, Z, E>(items: Iterable<A>, reduction: Reduction<A, B, E, Z>): Effect.Effect<Z, E | TaskError, Pool> =>
    Effect.flatMap(poolTag, (pool) => {
      checkOrder("Pool.reduce(items, { zero, map, combine })", reduction)
      check(wrongOptions(OF_REDUCE, reduction ?? null))
      checkFunction("map", reduction.map)
      checkFunction("combine", reduction.combine)
      return reduceOn(pool, items, reduction)
    }),
)

const OF_REDUCE: Taken = {
  of: "Pool.reduce",
  names: ["zero", "map", "combine", "concurrency"],
  instead: BY_EFFECT,
}

const reduceOn = <A, B, Z, E>(
  pool: PoolService,
  items: Iterable<A>,
  reduction: Reduction<A, B, E, Z>,
): Effect.Effect<Z, E | TaskError> =>
  Effect.async((resume) => {
    const window = windowOf(reduction.concurrency, Math.max(256, 64 * pool.procs))
    const iterator = items[Symbol.iterator]()
    const early = new Reorder<B>()
    let acc = reduction.zero
    let exhausted = false
    let scheduled = false
    const feed = new Feed<A>(submitterOf(pool), {
      call: (item, index) => reduction.map(item, index),
      onValue: (index, value) => {
        early.put(index, value as B)
        early.drain((value, index) => {
          if (!feed.cancelled) acc = reduction.combine(acc, value, index)
        })
        // Values come many at a time: once for all of them.
        if (scheduled || exhausted) return
        scheduled = true
        queueMicrotask(refill)
      },
      onIdle: () => {
        if (feed.cancelled || exhausted) onEnd()
      },
    })
    /** Tells the source that no more is wanted. Its error comes behind the one that it is told for. */
    const close = (): Cause.Cause<never> => {
      if (exhausted) return Cause.empty
      exhausted = true
      try {
        iterator.return?.()
        return Cause.empty
      } catch (error) {
        return Cause.die(error)
      }
    }
    let onEnd = (): void => {
      const closing = close()
      const failure = feed.failure as Cause.Cause<E | TaskError> | undefined
      if (failure === undefined) return resume(Effect.succeed(acc))
      resume(Effect.failCause(Cause.isEmpty(closing) ? failure : Cause.sequential(failure, closing)))
    }
    const refill = (): void => {
      scheduled = false
      if (feed.cancelled || exhausted) return
      const room = window - (feed.submitted - early.next)
      const batch: Array<A> = []
      try {
        while (batch.length < room) {
          const { done, value } = iterator.next()
          if (done === true) {
            exhausted = true
            break
          }
          batch.push(value)
        }
      } catch (error) {
        exhausted = true // it has ended by itself
        feed.fail(Cause.die(error))
      }
      feed.submit(batch, 0, batch.length)
      if (feed.idle && (feed.cancelled || exhausted)) onEnd()
    }
    refill()
    return Effect.async<void>((stopped) => {
      onEnd = () => {
        const closing = close()
        stopped(Cause.isEmpty(closing) ? Effect.void : Effect.failCause(closing))
      }
      feed.cancel()
      if (feed.idle) onEnd()
    })
  })
