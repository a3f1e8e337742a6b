/**
 * Many calls as one Effect: no fiber, promise or Effect for each.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dual } from "effect/Function"
import * as Option from "effect/Option"
import { type Call, isCall } from "./Call.ts"
import type { TaskError } from "./Errors.ts"
import { type Outcomes, runBulk } from "./internal/run.ts"
import { poolTag } from "./internal/tag.ts"
import type { Pool, PoolService } from "./Pool.ts"

/**
 * Options of {@link forEach}, as those of `Effect.forEach`. `concurrency`: most calls in progress at once; by default
 * the pool alone limits them. `discard`: do not keep the values.
 *
 * @since 0.1.0
 * @category models
 */
export interface ForEachOptions {
  readonly concurrency?: number | "unbounded" | undefined
  readonly discard?: boolean | undefined
}

/**
 * Options of {@link all}, as those of `Effect.all`. `mode`: `"default"` stops at the first failure; `"either"` gives
 * every outcome; `"validate"` runs all and fails with an `Option` of each one's error if any failed.
 *
 * @since 0.1.0
 * @category models
 */
export interface AllOptions extends ForEachOptions {
  readonly mode?: "default" | "either" | "validate" | undefined
}

/** @since 0.1.0 */
export type CallSuccess<C> = C extends Call<infer A> ? A : never

type Calls = Iterable<Call<unknown>> | Record<string, Call<unknown>>

type Mapped<Arg, O, W> = [O] extends [{ readonly discard: true }] ? void
  : Arg extends ReadonlyArray<unknown> ? { -readonly [K in keyof Arg]: W extends "either" ? Either.Either<CallSuccess<Arg[K]>, TaskError> : CallSuccess<Arg[K]> }
  : Arg extends Iterable<infer C> ? Array<W extends "either" ? Either.Either<CallSuccess<C>, TaskError> : CallSuccess<C>>
  : { -readonly [K in keyof Arg]: W extends "either" ? Either.Either<CallSuccess<Arg[K]>, TaskError> : CallSuccess<Arg[K]> }

type Errors<Arg> = Arg extends ReadonlyArray<unknown> ? { -readonly [K in keyof Arg]: Option.Option<TaskError> }
  : Arg extends Iterable<unknown> ? Array<Option.Option<TaskError>>
  : { -readonly [K in keyof Arg]: Option.Option<TaskError> }

/**
 * The values of {@link all} for its argument and options.
 *
 * @since 0.1.0
 * @category models
 */
export type AllValue<Arg, O> = [O] extends [{ readonly mode: "either" }] ? Mapped<Arg, O, "either"> : Mapped<Arg, O, "value">

/**
 * The failure of {@link all} for its argument and options.
 *
 * @since 0.1.0
 * @category models
 */
export type AllError<Arg, O> = [O] extends [{ readonly mode: "either" }] ? never
  : [O] extends [{ readonly mode: "validate" }] ? Errors<Arg>
  : TaskError

const limitOf = (options: ForEachOptions | undefined): number =>
  typeof options?.concurrency === "number" ? Math.max(1, Math.floor(options.concurrency)) : Infinity

const firstError = (outcomes: Outcomes): TaskError | undefined => outcomes.errors.values().next().value

/**
 * Runs a call for each item on the pool in the context, as `Effect.forEach` does, but as one Effect: `f` is called
 * for each item as there is room for its call, in order, and results are in the order of the items. The first failure
 * cancels the calls that have not started, waits for those that run, and is the failure of the whole. So does
 * interruption.
 *
 * @since 0.1.0
 * @category bulk
 */
export const forEach: {
  <A, B, O extends ForEachOptions = ForEachOptions>(
    f: (item: A, index: number) => Call<B>,
    options?: O
  ): (
    items: Iterable<A>
  ) => Effect.Effect<[O] extends [{ readonly discard: true }] ? void : Array<B>, TaskError, Pool>
  <A, B, O extends ForEachOptions = ForEachOptions>(
    items: Iterable<A>,
    f: (item: A, index: number) => Call<B>,
    options?: O
  ): Effect.Effect<[O] extends [{ readonly discard: true }] ? void : Array<B>, TaskError, Pool>
} = dual(
  (args) => typeof args[1] === "function",
  <A, B>(items: Iterable<A>, f: (item: A, index: number) => Call<B>, options?: ForEachOptions) =>
    Effect.flatMap(poolTag, (pool) => forEachOn(pool, items, f, options))
)

/** @internal */
export const forEachOn = <A, B>(
  pool: PoolService,
  items: Iterable<A>,
  f: (item: A, index: number) => Call<B>,
  options: ForEachOptions | undefined
): Effect.Effect<Array<B> | void, TaskError> =>
  Effect.suspend(() => {
    const list = Array.isArray(items) ? items as ReadonlyArray<A> : Array.from(items)
    if (list.length === 0) return Effect.succeed(options?.discard === true ? undefined : [])
    return Effect.flatMap(
      runBulk(pool, list.length, (index) => checked(f(list[index], index), index), {
        limit: limitOf(options),
        failFast: true,
        keep: options?.discard !== true
      }),
      (outcomes) => {
        const error = firstError(outcomes)
        if (error !== undefined) return Effect.fail(error)
        return Effect.succeed(options?.discard === true ? undefined : outcomes.values as Array<B>)
      }
    )
  })

const checked = <A>(call: Call<A>, index: number): Call<A> => {
  if (!isCall(call)) throw new TypeError(`item ${index} is not a call: make it by calling a task`)
  return call
}

/**
 * Runs calls on the pool in the context, as `Effect.all` does: a tuple, an iterable or a record of calls, and the
 * results in that shape. As one Effect; see {@link forEach}.
 *
 * @since 0.1.0
 * @category bulk
 */
export const all: <const Arg extends Calls, O extends AllOptions = AllOptions>(
  calls: Arg,
  options?: O
) => Effect.Effect<AllValue<Arg, O>, AllError<Arg, O>, Pool> = (calls, options) =>
  Effect.flatMap(poolTag, (pool) => allOn(pool, calls, options)) as never

/** @internal */
export const allOn = (
  pool: PoolService,
  calls: Calls,
  options: AllOptions | undefined
): Effect.Effect<unknown, unknown> =>
  Effect.suspend(() => {
    const keys = Symbol.iterator in calls ? undefined : Object.keys(calls)
    const list = keys === undefined
      ? Array.from(calls as Iterable<Call<unknown>>)
      : keys.map((key) => (calls as Record<string, Call<unknown>>)[key])
    const shaped = <A>(values: ReadonlyArray<A>): unknown =>
      keys === undefined ? values : Object.fromEntries(keys.map((key, i) => [key, values[i]]))
    const discard = options?.discard === true
    const mode = options?.mode ?? "default"
    if (list.length === 0) return Effect.succeed(discard ? undefined : shaped([]))
    return Effect.flatMap(
      runBulk(pool, list.length, (index) => checked(list[index], index), {
        limit: limitOf(options),
        failFast: mode === "default",
        keep: !discard
      }),
      ({ errors, values }) => {
        if (mode === "either") {
          if (discard) return Effect.void
          return Effect.succeed(shaped(list.map((_, i) => {
            const error = errors.get(i)
            return error === undefined ? Either.right(values[i]) : Either.left(error)
          })))
        }
        if (errors.size > 0) {
          return Effect.fail(
            mode === "validate"
              ? shaped(list.map((_, i) => Option.fromNullable(errors.get(i))))
              : errors.values().next().value
          )
        }
        return Effect.succeed(discard ? undefined : shaped(values))
      }
    )
  })
