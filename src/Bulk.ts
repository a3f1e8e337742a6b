/**
 * Many calls as one Effect: no fiber, promise or Effect for each.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dual } from "effect/Function"
import * as Option from "effect/Option"
import { type Call, isCall } from "./Call.ts"
import type { TaskError } from "./Errors.ts"
import { checkCalls, checkFunction, checkOrder, itemIsNoCall } from "./internal/notACall.ts"
import { BY_EFFECT, check, type Taken, wrongBulk } from "./internal/options.ts"
import { type BulkOptions, type Outcomes, runBulk } from "./internal/run.ts"
import { causeOf } from "./internal/taskError.ts"
import { poolTag } from "./internal/tag.ts"
import type { Pool, PoolService } from "./Pool.ts"
import { type Progress, toProgress } from "./Progress.ts"

/**
 * Options of {@link forEach}, as those of `Effect.forEach`. `concurrency`: most calls in progress at once; by default
 * the pool alone limits them. `discard`: do not keep the values. `onProgress`: told what the task of each call says by
 * `Task.progress`, with the index of the call: the latest report about every 30 ms, and the last one before the outcome.
 * It must be quick, as it runs between outcomes; if it throws, the calls are interrupted and the whole dies of that.
 *
 * @since 0.1.0
 * @category models
 */
export interface ForEachOptions {
  readonly concurrency?: number | "unbounded" | undefined
  readonly discard?: boolean | undefined
  readonly onProgress?: ((progress: Progress, index: number) => void) | undefined
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

/**
 * What a call succeeds with.
 *
 * @since 0.1.0
 * @category models
 */
export type CallSuccess<C> = C extends Call<infer A, unknown> ? A : never

/**
 * What a call fails with.
 *
 * @since 0.1.0
 * @category models
 */
export type CallError<C> = C extends Call<unknown, infer E> ? E | TaskError : never

type AnyCall = Call<unknown, unknown>

type Calls = Iterable<AnyCall> | Record<string, AnyCall>

type Outcome<C, Mode> = Mode extends "either" ? Either.Either<CallSuccess<C>, CallError<C>>
  : Mode extends "error" ? Option.Option<CallError<C>>
  : CallSuccess<C>

type Mapped<Arg, Mode> = Arg extends ReadonlyArray<unknown> ? { -readonly [K in keyof Arg]: Outcome<Arg[K], Mode> }
  : Arg extends Iterable<infer C> ? Array<Outcome<C, Mode>>
  : { -readonly [K in keyof Arg]: Outcome<Arg[K], Mode> }

type AnyError<Arg> = Arg extends Iterable<infer C> ? CallError<C> : { [K in keyof Arg]: CallError<Arg[K]> }[keyof Arg]

/**
 * The values of {@link all} for its argument and options.
 *
 * @since 0.1.0
 * @category models
 */
export type AllValue<Arg, O> = [O] extends [{ readonly discard: true }] ? void
  : [O] extends [{ readonly mode: "either" }] ? Mapped<Arg, "either">
  : Mapped<Arg, "value">

/**
 * The failure of {@link all} for its argument and options.
 *
 * @since 0.1.0
 * @category models
 */
export type AllError<Arg, O> = [O] extends [{ readonly mode: "either" }] ? never
  : [O] extends [{ readonly mode: "validate" }] ? Mapped<Arg, "error">
  : AnyError<Arg>

const OF_FOR_EACH: Taken = {
  of: "Pool.forEach",
  names: ["concurrency", "discard", "onProgress"],
  instead: BY_EFFECT,
}
const OF_ALL: Taken = { ...OF_FOR_EACH, of: "Pool.all", names: [...OF_FOR_EACH.names, "mode"] }

const limitOf = (options: ForEachOptions | undefined): number =>
  typeof options?.concurrency === "number" ? options.concurrency : Infinity

const listenerOf = (options: ForEachOptions | undefined): BulkOptions["onProgress"] => {
  const listener = options?.onProgress
  return listener && ((index, reported) => listener(toProgress(reported), index))
}

/** The first failure as an Effect, if there was one. */
const firstFailure = (outcomes: Outcomes): Effect.Effect<never, unknown> | undefined => {
  const [first] = outcomes.failures.values()
  return first && Effect.failCause(causeOf(first))
}

/** What is neither a value nor a typed failure, a defect or an interruption, fails the whole in every mode. */
const untyped = (outcomes: Outcomes): Effect.Effect<never> | undefined => {
  for (const failure of outcomes.failures.values()) {
    const either = Cause.failureOrCause(causeOf(failure))
    if (Either.isRight(either)) return Effect.failCause(either.right)
  }
  return undefined
}

const errorAt = (outcomes: Outcomes, index: number): Option.Option<unknown> => {
  const failure = outcomes.failures.get(index)
  return failure === undefined ? Option.none() : Cause.failureOption(causeOf(failure))
}

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
  <A, B, E = never, O extends ForEachOptions = ForEachOptions>(
    f: (item: A, index: number) => Call<B, E>,
    options?: O,
  ): (
    items: Iterable<A>,
  ) => Effect.Effect<[O] extends [{ readonly discard: true }] ? void : Array<B>, E | TaskError, Pool>
  <A, B, E = never, O extends ForEachOptions = ForEachOptions>(
    items: Iterable<A>,
    f: (item: A, index: number) => Call<B, E>,
    options?: O,
  ): Effect.Effect<[O] extends [{ readonly discard: true }] ? void : Array<B>, E | TaskError, Pool>
} = dual(
  (args) => {
    checkOrder("Pool.forEach(items, f)", args[1])
    const dataFirst = typeof args[0] !== "function"
    if (dataFirst) checkFunction("what makes the calls of Pool.forEach(items, f)", args[1])
    return dataFirst
  },
  <A, B, E>(items: Iterable<A>, f: (item: A, index: number) => Call<B, E>, options?: ForEachOptions) =>
    Effect.flatMap(poolTag, (pool) => forEachOn(pool, items, f, options)),
)

const forEachOn = <A, B, E>(
  pool: PoolService,
  items: Iterable<A>,
  f: (item: A, index: number) => Call<B, E>,
  options: ForEachOptions | undefined,
): Effect.Effect<Array<B> | void, E | TaskError> =>
  Effect.suspend(() => {
    check(wrongBulk(OF_FOR_EACH, options))
    const list = Array.isArray(items) ? items as ReadonlyArray<A> : Array.from(items)
    if (list.length === 0) return Effect.succeed(options?.discard === true ? undefined : [])
    return Effect.flatMap(
      runBulk(pool, list.length, (index) => checked(f(list[index], index), index), {
        limit: limitOf(options),
        failFast: true,
        keep: options?.discard !== true,
        onProgress: listenerOf(options),
      }),
      (outcomes) =>
        (firstFailure(outcomes) as Effect.Effect<never, E | TaskError> | undefined) ??
          Effect.succeed(options?.discard === true ? undefined : outcomes.values as Array<B>),
    )
  })

const checked = <C extends AnyCall>(call: C, index: number): C => {
  if (!isCall(call)) throw itemIsNoCall(index, call)
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
  options?: O,
) => Effect.Effect<AllValue<Arg, O>, AllError<Arg, O>, Pool> = (calls, options) =>
  Effect.flatMap(poolTag, (pool) => {
    check(wrongBulk(OF_ALL, options))
    return allOn(pool, calls, options)
  }) as never

/** @internal */
export const allOn = (
  pool: PoolService,
  calls: Calls,
  options: AllOptions | undefined,
): Effect.Effect<unknown, unknown> =>
  Effect.suspend(() => {
    checkCalls(calls)
    const keys = Symbol.iterator in calls ? undefined : Object.keys(calls)
    const list = keys === undefined
      ? Array.from(calls as Iterable<AnyCall>)
      : keys.map((key) => (calls as Record<string, AnyCall>)[key])
    const shaped = <A>(values: ReadonlyArray<A>): unknown =>
      keys === undefined ? values : Object.fromEntries(keys.map((key, i) => [key, values[i]]))
    const discard = options?.discard === true
    const mode = options?.mode ?? "default"
    if (list.length === 0) return Effect.succeed(discard ? undefined : shaped([]))
    return Effect.flatMap(
      runBulk(pool, list.length, (index) => checked(list[index], index), {
        limit: limitOf(options),
        failFast: mode === "default",
        keep: !discard,
        onProgress: listenerOf(options),
      }),
      (outcomes): Effect.Effect<unknown, unknown> => {
        const { failures, values } = outcomes
        if (mode === "default") {
          return firstFailure(outcomes) ?? Effect.succeed(discard ? undefined : shaped(values))
        }
        const defect = untyped(outcomes)
        if (defect !== undefined) return defect
        const errors = list.map((_, i) => errorAt(outcomes, i))
        if (mode === "validate" && failures.size > 0) return Effect.fail(shaped(errors))
        if (discard) return Effect.void
        if (mode === "validate") return Effect.succeed(shaped(values))
        return Effect.succeed(
          shaped(errors.map((error, i) => Option.isSome(error) ? Either.left(error.value) : Either.right(values[i]))),
        )
      },
    )
  })
