/**
 * A pool of machines that runs calls: Go's M:N scheduler as a scoped Effect service.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { all, forEach } from "./Bulk.ts"
import type { Call } from "./Call.ts"
import type { PoolError, TaskError } from "./Errors.ts"
import { InvalidOptions, MachineStartFailed, MissingGuard } from "./Errors.ts"
import type { Backend } from "./internal/host/HostPool.ts"
import { readStray } from "./internal/codec/stray.ts"
import { openPool, simulated } from "./internal/host/open.ts"
import { wrongOptions } from "./internal/options.ts"
import { type hostOf, setSubmitter } from "./internal/poolHost.ts"
import { runCall } from "./internal/run.ts"
import { POOL_KEY, POOL_TYPE_ID } from "./internal/tag.ts"
import { inUse, snapshot } from "./internal/scheduler/index.ts"
import { OF_POOLS, OF_SIMULATED, type PoolOptions, resolveOptions } from "./Options.ts"
import { range } from "./Range.ts"
import { reduce } from "./Reduce.ts"
import type { PoolStats } from "./Stats.ts"

/** @since 0.1.0 */
export const TypeId: typeof POOL_TYPE_ID = POOL_TYPE_ID

/**
 * An open pool.
 *
 * @since 0.1.0
 * @category models
 */
export interface PoolService {
  readonly [TypeId]: typeof TypeId
  /** Number of its processors, and so of its machines. */
  readonly procs: number
  /** Runs a call on this pool, whatever the context. */
  readonly run: <A, E>(call: Call<A, E>) => Effect.Effect<A, E | TaskError>
  /** Counters and queues as they are now. */
  readonly stats: Effect.Effect<PoolStats>
}

const PoolBase: Context.TagClass<Pool, typeof POOL_KEY, PoolService> = Context.Tag(POOL_KEY)<Pool, PoolService>()

/**
 * The pool in the context, on which calls run.
 *
 * @example
 * import { Effect } from "effect"
 * import { Pool } from "runon"
 * import { countPrimes } from "./primes.ts"
 *
 * const program = Effect.gen(function*() {
 *   const one = yield* countPrimes(0, 1e6)
 *   const many = yield* Pool.forEach([[0, 10], [10, 20]], ([lo, hi]) => countPrimes(lo, hi))
 *   return [one, ...many]
 * }).pipe(Effect.provide(Pool.layer({ procs: 4 })))
 *
 * @since 0.1.0
 * @category tags
 */
export class Pool extends PoolBase {
  /**
   * Opens a pool for the life of the scope. When the scope closes, for whatever reason, the pool takes no more calls,
   * queued ones fail with `PoolClosed`, running ones are asked to stop and may end within the grace; the scope has
   * closed only when every machine has ended, with proof.
   */
  static readonly make: (options?: PoolOptions) => Effect.Effect<PoolService, PoolError, Scope.Scope> = (
    options = {},
  ) => Effect.suspend(() => failure(wrongOptions(OF_POOLS, options)) ?? makePool(options))

  /** {@link Pool.make} as a layer. */
  static readonly layer: (options?: PoolOptions) => Layer.Layer<Pool, PoolError> = (options) =>
    Layer.scoped(Pool, Pool.make(options))

  /**
   * A pool without workers, for tests: the same scheduler, with machines that are simulated in the calling thread.
   * The same seed gives the same order of everything that does not depend on timers. By default one processor and one
   * queue, hence the order of submission. Tasks run in this thread while the program waits for them, on copies of
   * their arguments as elsewhere; nothing runs in parallel. `seed`: default 0. `procs`: default 1. `queue`: by default
   * `"global"` with one processor, else `"local"`.
   */
  static readonly layerDeterministic: (options?: DeterministicOptions) => Layer.Layer<Pool, PoolError> = (
    options = {},
  ) =>
    Layer.scoped(
      Pool,
      Effect.suspend(() => {
        const wrong = failure(wrongOptions(OF_SIMULATED, options))
        if (wrong !== undefined) return wrong
        const { procs = 1, seed = 0, ...others } = options
        if (!Number.isInteger(seed)) {
          return Effect.fail(new InvalidOptions({ option: "seed", value: seed, expected: "a whole number" }))
        }
        const queue = procs === 1 ? "global" : "local"
        return makePool({ queue, capacity: 4096, arena: 2 ** 22, ...others, procs }, { backend: simulated(seed) })
      }),
    )

  /** See {@link forEach}. */
  static readonly forEach: typeof forEach = forEach

  /** See {@link all}. */
  static readonly all: typeof all = all

  /** See {@link reduce}. */
  static readonly reduce: typeof reduce = reduce

  /** See {@link range}. */
  static readonly range: typeof range = range

  /** Counters and queues of the pool in the context. */
  static readonly stats: Effect.Effect<PoolStats, never, Pool> = Effect.flatMap(PoolBase, (pool) => pool.stats)
}

/**
 * Options of {@link Pool.layerDeterministic}.
 *
 * @since 0.1.0
 * @category models
 */
export interface DeterministicOptions extends Pick<PoolOptions, "procs" | "queue" | "capacity" | "arena"> {
  readonly seed?: number | undefined
}

/** What is wrong as an Effect, if anything is. */
const failure = (wrong: InvalidOptions | undefined): Effect.Effect<never, InvalidOptions> | undefined =>
  wrong && Effect.fail(wrong)

/** @internal */
export const makePool = (
  options: PoolOptions,
  how: { readonly bounded?: boolean; readonly backend?: Backend } = {},
): Effect.Effect<PoolService, PoolError, Scope.Scope> =>
  Effect.gen(function* () {
    const resolved = yield* resolveOptions(options, how.bounded === true)
    const runtime = yield* Effect.runtime()
    const opener = yield* Effect.getFiberRefs
    const warn = (...message: ReadonlyArray<unknown>): void => {
      Effect.logWarning(...message).pipe(
        Effect.provide(runtime),
        Effect.runFork,
      )
    }
    const onStray = (error: unknown): void => {
      const { cause, text } = readStray(error)
      // As a cause, since loggers write an error among the messages as JSON, which has nothing of it.
      warn(text, cause)
    }
    const onIgnored = (tasks: ReadonlyArray<string>): void => {
      const names = tasks.map((task) => `"${task}"`).join(", ")
      warn(`asked to stop, ${names} still ran when the grace ended: the caller goes on, the machine stays busy`)
    }
    // The machines must be closed whatever happens from the moment they exist, so they come into being and under the
    // scope's care in one uninterruptible step; waiting for them is interruptible.
    const { closed, pool, started } = yield* Effect.acquireRelease(
      Effect.try({
        try: () => {
          const opened = openPool({ ...resolved, opener, onStray, onIgnored }, how.backend)
          return { ...opened, closed: close(opened.pool) }
        },
        catch: (error) => error as MissingGuard,
      }),
      ({ closed }) => closed,
    )
    const service: PoolService = {
      [TypeId]: TypeId,
      procs: resolved.procs,
      run: (call) => runCall(service, call),
      stats: Effect.sync(() => ({
        ...snapshot(pool.s),
        inFlight: pool.inFlight,
        records: inUse(pool.s),
        deaths: pool.deaths,
      })),
    }
    setSubmitter(service, pool)
    yield* Effect.tryPromise({ try: () => started, catch: (error) => error as MachineStartFailed }).pipe(
      // Not when the scope closes, which may be much later: a pool that did not start is closed at once.
      Effect.onExit((exit) => Exit.isFailure(exit) ? closed : Effect.void),
    )
    return service
  })

const close = (pool: ReturnType<typeof hostOf>): Effect.Effect<void> =>
  Effect.promise(() => pool.close()).pipe(
    Effect.flatMap((stuck) => stuck.length === 0 ? Effect.void : Effect.die(stuck[0])),
  )
