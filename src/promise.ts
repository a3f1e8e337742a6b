/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Pools for programs without Effect: the same tasks, calls, errors and machines, with promises, async iterators and
 * abort signals.
 *
 * @example
 * import { openPool } from "runon/promise"
 * import { countPrimes } from "./primes.ts"
 *
 * await using pool = await openPool({ procs: 4 })
 * console.log(await pool.run(countPrimes(0, 1e6)))
 *
 * @since 0.1.0
 * @module
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { AllValue } from "./Bulk.ts"
import { type Call, isCall } from "./Call.ts"
import { InvalidOptions } from "./Errors.ts"
import { runAbortable } from "./internal/promise/abortable.ts"
import { checkFunction, checkOrder, kindOf } from "./internal/notACall.ts"
import { check, type Taken, TIME, wrongListener } from "./internal/options.ts"
import { unwatch, watch } from "./internal/promise/abort.ts"
import { wrongWithSignal } from "./internal/promise/options.ts"
import { Mapping } from "./internal/promise/Mapping.ts"
import { SingleCall } from "./internal/promise/SingleCall.ts"
import { type Submitter, submitterOf } from "./internal/poolHost.ts"
import type { Reported } from "./internal/job/ProgressWatch.ts"
import { OF_BOUNDED, OF_POOLS, type PoolOptions } from "./Options.ts"
import { makePool, type PoolService } from "./Pool.ts"
import { type Progress, toProgress } from "./Progress.ts"
import { runOn as runOnEffect, type RunOnOptions as RunOnEffectOptions } from "./RunOn.ts"
import type { PoolStats } from "./Stats.ts"

/**
 * What can be given up before its end. When the signal is aborted, what has not started never will, what runs is asked
 * to stop, and the promise is rejected with the signal's reason once that has ended; a sync task sees the request in
 * `Task.checkpoint()`, an async one is given up. If the signal is aborted already, nothing is begun. The signal keeps
 * no listener afterwards, and has at most one meanwhile, however many calls it is for.
 *
 * @since 0.1.0
 * @category models
 */
export interface SignalOptions {
  readonly signal?: AbortSignal | undefined
}

/**
 * Options of {@link openPool}. The signal is for the opening alone: it does not close a pool that is open.
 *
 * @since 0.1.0
 * @category models
 */
export interface OpenOptions extends PoolOptions, SignalOptions {}

/**
 * Options of {@link PromisePool.run}.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunOptions extends SignalOptions {
  /**
   * Told what the task says by `Task.progress`: the latest report about every 30 ms, and the last one before the promise
   * is settled. It must be quick, as it runs between outcomes; if it throws, the call is cancelled and rejected with that.
   */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/**
 * Options of {@link PromisePool.map}.
 *
 * @since 0.1.0
 * @category models
 */
export interface MapOptions extends SignalOptions {
  /**
   * Look-ahead: most items that have been read from the source and whose results have not been taken, hence also the
   * most calls in progress; a whole number from 1. Default: twice the pool's processors, but at least 16.
   */
  readonly concurrency?: number | undefined
  /** Whether results come in the order of the items. Default true; with false they come as calls succeed. */
  readonly ordered?: boolean | undefined
}

/**
 * Options of {@link runOn}: those of the one with Effects, and a signal.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunOnOptions extends RunOnEffectOptions, SignalOptions {}

/**
 * The results of {@link PromisePool.map}, for one `for await` loop. Nothing is read from the source before the first
 * result is asked for.
 *
 * @since 0.1.0
 * @category models
 */
export interface MapResults<out A> extends AsyncIterableIterator<A, undefined>, AsyncDisposable {
  /**
   * Ends it, as leaving a `for await` loop does: cancels calls that have not started, asks those that run to stop and
   * waits for their end, and calls the `return` of the source's iterator, whose error is the one this rejects with. A
   * source that is waiting for its next item is told, but waited for no longer than a turn of the event loop.
   */
  readonly return: () => Promise<IteratorResult<A, undefined>>
  readonly [Symbol.asyncIterator]: () => MapResults<A>
}

/**
 * An open pool. `await using` closes it, and so does {@link PromisePool.close}.
 *
 * @since 0.1.0
 * @category models
 */
export interface PromisePool extends AsyncDisposable {
  /** Number of its processors, and so of its machines. */
  readonly procs: number
  /**
   * Runs a call. Rejects with what it failed with, itself: `TaskFailed` if the function threw, another `TaskError`, or
   * an Effect task's own error; a defect of an Effect task as it was thrown; with the signal's reason if it was
   * aborted. A call that closing the pool stopped while it ran is rejected with `PoolClosed` whose `started` is true.
   *
   * @example
   * const primes = await pool.run(countPrimes(0, 1e6), { signal: AbortSignal.timeout(1000) })
   */
  readonly run: <A, E>(call: Call<A, E>, options?: RunOptions) => Promise<A>
  /**
   * Runs a call for each item of an array, an iterable or an async iterable, and gives their results as they are asked
   * for, in order or as they come. The source is read no further ahead than `concurrency` tells: a consumer that stops
   * reading stops the reading of the source. The first failure of a call, of `f` or of the source cancels the other
   * calls, drops results that have not been taken, and is what the iteration ends with. Throws `InvalidOptions`.
   *
   * @example
   * for await (const digest of pool.map(files, (file) => sha256(file), { ordered: false })) console.log(digest)
   */
  readonly map: <A, B, E = never>(
    items: Iterable<A> | AsyncIterable<A>,
    f: (item: A, index: number) => Call<B, E>,
    options?: MapOptions,
  ) => MapResults<B>
  /** Counters and queues as they are now. */
  readonly stats: () => PoolStats
  /**
   * Closes the pool: it takes no more calls, queued ones fail with `PoolClosed`, running ones are asked to stop and may
   * end within the grace. Resolves only when every machine has ended, with proof; rejects with `MachineStuck` if one
   * could not be ended. Any number of calls get the same promise.
   */
  readonly close: () => Promise<void>
}

const time = { [TIME]: "use signal: AbortSignal.timeout(ms)" }
const OF_RUN: Taken = { of: "run", names: ["signal", "onProgress"], instead: time }
const OF_MAP: Taken = { of: "map", names: ["concurrency", "ordered", "signal"], instead: time }
const OF_OPEN: Taken = { ...OF_POOLS, of: "openPool", names: [...OF_POOLS.names, "signal"] }
const OF_RUN_ON: Taken = {
  ...OF_BOUNDED,
  names: [...OF_BOUNDED.names, "signal"],
  instead: { ...OF_BOUNDED.instead, ...time },
}

/** The least look-ahead unless told: machines should find work while the host is busy. */
const MIN_LOOK_AHEAD = 16

class OpenPool implements PromisePool {
  readonly procs: number
  readonly #service: PoolService
  readonly #scope: Scope.CloseableScope
  readonly #submitter: Submitter
  #closed: Promise<void> | undefined

  constructor(service: PoolService, scope: Scope.CloseableScope) {
    this.procs = service.procs
    this.#service = service
    this.#scope = scope
    this.#submitter = submitterOf(service)
  }

  readonly run = <A, E>(call: Call<A, E>, options?: RunOptions): Promise<A> =>
    new Promise((resolve, reject) => {
      if (!isCall(call)) throw new TypeError(`run takes a call, run(task(...args)), not ${kindOf(call)}`)
      if (options !== undefined) check(wrongWithSignal(OF_RUN, options) ?? wrongListener(options.onProgress))
      const signal = options?.signal
      const listener = options?.onProgress
      const onProgress = listener && ((reported: Reported) => listener(toProgress(reported)))
      if (signal === undefined) {
        return new SingleCall(this.#submitter, call, resolve as (value: unknown) => void, reject, onProgress).submit()
      }
      if (signal.aborted) return reject(signal.reason)
      const single = new SingleCall(
        this.#submitter,
        call,
        (value) => {
          unwatch(signal, single)
          resolve(value as A)
        },
        (error) => {
          unwatch(signal, single)
          reject(error)
        },
        onProgress,
      )
      single.submit()
      if (!single.ended) watch(signal, single)
    })

  readonly map = <A, B, E = never>(
    items: Iterable<A> | AsyncIterable<A>,
    f: (item: A, index: number) => Call<B, E>,
    options?: MapOptions,
  ): MapResults<B> => {
    check(wrongWithSignal(OF_MAP, options))
    checkOrder("map(items, f)", f)
    checkFunction("what makes the calls of map(items, f)", f)
    const limit = options?.concurrency ?? Math.max(MIN_LOOK_AHEAD, 2 * this.procs)
    if (!Number.isInteger(limit) || limit < 1) {
      throw new InvalidOptions({ option: "concurrency", value: limit, expected: "a whole number from 1" })
    }
    const ordered = options?.ordered !== false
    return new Mapping<A, B>(this.#submitter, { items, call: f, limit, ordered, signal: options?.signal })
  }

  readonly stats = (): PoolStats => Effect.runSync(this.#service.stats)

  readonly close = (): Promise<void> => {
    this.#closed ??= runAbortable(Scope.close(this.#scope, Exit.void), undefined)
    return this.#closed
  };

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

const opening = (options: PoolOptions): Effect.Effect<OpenPool, unknown> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Scope.make(), (scope) =>
      restore(Scope.extend(makePool(options), scope)).pipe(
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause))),
        Effect.map((service) => new OpenPool(service, scope)),
      ))
  )

/**
 * Opens a pool, and resolves when its machines are ready. Close it, or nothing does before the process ends; an idle
 * pool does not keep the process alive.
 *
 * Rejects with `InvalidOptions`, `MachineStartFailed` or `MissingGuard` itself, or with the signal's reason; by then
 * every machine that was started has ended.
 *
 * @example
 * import { openPool } from "runon/promise"
 *
 * await using pool = await openPool({ procs: 2 })
 *
 * @since 0.1.0
 * @category constructors
 */
export const openPool = async (options: OpenOptions = {}): Promise<PromisePool> => {
  check(wrongWithSignal(OF_OPEN, options))
  const pool = await runAbortable(opening(options), options.signal)
  if (options.signal?.aborted === true) {
    await pool.close()
    throw options.signal.reason
  }
  return pool
}

/**
 * The bounded pool in one call: opens a pool of `workers` machines, runs the calls, at most `workers` of them in
 * progress at any moment, closes the pool, and only then resolves or rejects, when every machine has ended. Results are
 * in the order and the shape of the calls: a tuple, an iterable, or a record.
 *
 * Rejects with the first failure itself, in the `mode` that is the default, or as the `runOn` of `runon` fails;
 * with `InvalidOptions`, `MachineStartFailed` or `MissingGuard`; with the signal's reason; or with `MachineStuck` if a
 * task outlived the grace on Deno.
 *
 * @example
 * import { runOn } from "runon/promise"
 * import { countPrimes } from "./primes.ts"
 *
 * const [a, b] = await runOn(2, [countPrimes(0, 1e6), countPrimes(1e6, 2e6)])
 *
 * @since 0.1.0
 * @category constructors
 */
export const runOn = async <
  const Arg extends Iterable<Call<unknown, unknown>> | Record<string, Call<unknown, unknown>>,
  O extends RunOnOptions = RunOnOptions,
>(
  workers: number,
  calls: Arg,
  options?: O,
): Promise<AllValue<Arg, O>> => {
  check(wrongWithSignal(OF_RUN_ON, options))
  const { signal, ...others } = options ?? {}
  const results = await runAbortable(runOnEffect(workers, calls, others), signal)
  signal?.throwIfAborted()
  return results as AllValue<Arg, O>
}
