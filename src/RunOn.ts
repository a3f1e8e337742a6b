/**
 * The bounded pool in one call.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { type AllError, allOn, type AllOptions, type AllValue } from "./Bulk.ts"
import type { Call } from "./Call.ts"
import type { PoolError } from "./Errors.ts"
import { checkCalls } from "./internal/notACall.ts"
import { wrongBulk } from "./internal/options.ts"
import { OF_BOUNDED, type PoolOptions, resolveOptions } from "./Options.ts"
import { makePool } from "./Pool.ts"

/**
 * Options of {@link runOn}: those of `Effect.all` that make sense here, and those of a pool.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunOnOptions extends Omit<AllOptions, "concurrency">, Omit<PoolOptions, "procs"> {}

/**
 * Opens a pool of `workers` machines, runs the calls, closes the pool, and only then succeeds, fails or is
 * interrupted: by that time every machine has ended, with proof. At most `workers` of the calls are in progress at any
 * moment; an async call counts until its promise has settled. What tasks spawn is not counted.
 *
 * Results are in the order of the calls. After the first failure queued calls are cancelled, running ones are asked to
 * stop and may end, the machines exit, and then it fails. An empty list succeeds at once and starts nothing.
 *
 * @example
 * import { Effect } from "effect"
 * import { runOn } from "runon"
 * import { countPrimes } from "./primes.ts"
 *
 * const [a, b] = await Effect.runPromise(runOn(4, [countPrimes(0, 1e6), countPrimes(1e6, 2e6)]))
 *
 * @since 0.1.0
 * @category constructors
 */
export const runOn = <
  const Arg extends Iterable<Call<unknown, unknown>> | Record<string, Call<unknown, unknown>>,
  O extends RunOnOptions = RunOnOptions,
>(
  workers: number,
  calls: Arg,
  options?: O,
): Effect.Effect<AllValue<Arg, O>, AllError<Arg, O> | PoolError> =>
  Effect.suspend((): Effect.Effect<unknown, unknown> => {
    const wrong = wrongBulk(OF_BOUNDED, options)
    if (wrong !== undefined) return Effect.fail(wrong)
    if (typeof calls === "number") throw new TypeError("the number of workers comes first: runOn(workers, calls)")
    checkCalls(calls)
    const list = Symbol.iterator in calls ? Array.from(calls) : calls
    const poolOptions = { ...options, procs: workers }
    if ((Array.isArray(list) ? list : Object.keys(list)).length === 0) {
      const nothing = options?.discard === true ? undefined : list
      return Effect.as(resolveOptions(poolOptions, true), nothing)
    }
    return Effect.scoped(Effect.flatMap(makePool(poolOptions, { bounded: true }), (pool) => allOn(pool, list, options)))
  }) as never
