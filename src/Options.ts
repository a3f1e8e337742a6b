/**
 * Options of a pool.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import type { DurationInput } from "effect/Duration"
import * as Effect from "effect/Effect"
import { InvalidOptions } from "./Errors.ts"
import type { HostPoolOptions, ResourceLimits } from "./internal/host/HostPool.ts"
import { type Taken, TIME, wrongOptions } from "./internal/options.ts"
import { MAX_CAPACITY, MAX_PROCS } from "./internal/scheduler/index.ts"
import { availableParallelism } from "./Procs.ts"

export type { ResourceLimits }

/**
 * How a pool is made. Every option has a default.
 *
 * @since 0.1.0
 * @category models
 */
export interface PoolOptions {
  /** Number of machines (workers), 1 to 1,024. Default: the available parallelism. */
  readonly procs?: number | undefined
  /**
   * `"local"`: a run queue per processor, with stealing (default). `"global"`: one queue behind one lock, as simple
   * pools have it; for comparison.
   */
  readonly queue?: "local" | "global" | undefined
  /**
   * Most calls that can be in memory at once, queued and running, 16 to 4,194,302. Default 65,536. More may be
   * submitted: they wait their turn. A record takes 128 bytes once it is used.
   */
  readonly capacity?: number | undefined
  /**
   * Bytes reserved for arguments and results that do not fit a record, 4 KiB to 1 GiB, rounded up to a power of two.
   * Default 64 MiB. Only what is used takes memory. A full arena holds submitters back.
   */
  readonly arena?: number | undefined
  /** Longest time for a machine to become ready when it starts. Default 30 seconds. A number is in ms, as below. */
  readonly startTimeout?: DurationInput | undefined
  /** Longest time for the module of a task to be imported. Default 30 seconds. */
  readonly loadTimeout?: DurationInput | undefined
  /**
   * How long tasks may take to end once they are asked to. Default 30 seconds.
   * - When the pool closes, machines whose tasks have not ended by then are ended by force, at most two seconds later.
   *   Deno cannot end a busy worker: there, closing dies with `MachineStuck` then. `runOn` begins to close when it is
   *   interrupted or a call fails.
   * - When a call is interrupted in a pool that stays open, its caller waits no longer for a sync or async task, which
   *   goes on without one; a warning names it. Callers of Effect tasks wait until the finalizers have run.
   */
  readonly grace?: DurationInput | undefined
  /**
   * Limits of each machine's heap, in megabytes, on Node; other runtimes ignore it. A machine that exceeds them ends:
   * its calls fail with `MachineExited`, and it is replaced. Without limits an exhausted heap ends the process.
   */
  readonly resourceLimits?: ResourceLimits | undefined
  /** Reserved: a limit for tasks that never give their machine back. Setting it is an error for now. */
  readonly killAfter?: undefined
}

/** Polls of a spinning machine before it gives up: some 20 microseconds, about the cost of a sleep and a wake-up. */
const SPINS = 400

const DEFAULT_CAPACITY = 65_536
const DEFAULT_ARENA = 64 * 1024 * 1024

const whole = (option: string, value: unknown, min: number, max: number): Effect.Effect<number, InvalidOptions> =>
  typeof value === "number" && Number.isInteger(value) && value >= min && value <= max
    ? Effect.succeed(value)
    : Effect.fail(
      new InvalidOptions({
        option,
        value,
        expected: `a whole number from ${min.toLocaleString("en-US")} to ${max.toLocaleString("en-US")}`,
      }),
    )

/** Longest time that timers can wait, in ms: some 25 days. More, of which they would make 1 ms, is the same wish. */
const LONGEST = 2 ** 31 - 1

/** Effect takes these for nothing, where they are more likely a mistake. */
const isLessThanNothing = (value: unknown): boolean => {
  if (typeof value === "string") return value.startsWith("-")
  if (Array.isArray(value)) return value.some(isLessThanNothing)
  return (typeof value === "number" || typeof value === "bigint") && !(value >= 0)
}

const millis = (option: string, value: DurationInput): Effect.Effect<number, InvalidOptions> =>
  Effect.try({
    try: () => {
      if (isLessThanNothing(value)) throw new RangeError()
      const ms = Duration.toMillis(Duration.decode(value))
      // A grace without end has its own meaning.
      return ms === Infinity && option === "grace" ? ms : Math.min(ms, LONGEST)
    },
    catch: () => new InvalidOptions({ option, value, expected: `a duration, such as 5000, in ms, or "5 seconds"` }),
  })

const OF_LIMITS: Taken = {
  of: `"resourceLimits"`,
  option: "resourceLimits",
  names: ["maxOldGenerationSizeMb", "maxYoungGenerationSizeMb", "stackSizeMb"],
}

const limits = (limits: ResourceLimits | undefined): Effect.Effect<ResourceLimits | undefined, InvalidOptions> => {
  const wrong = wrongOptions(OF_LIMITS, limits)
  if (wrong !== undefined) return Effect.fail(wrong)
  const bad = Object.entries(limits ?? {}).find(([, value]) =>
    value !== undefined && !(typeof value === "number" && value > 0)
  )
  if (bad === undefined) return Effect.succeed(limits)
  return Effect.fail(new InvalidOptions({ option: bad[0], value: bad[1], expected: "a number of megabytes above 0" }))
}

const names = ["procs", "queue", "capacity", "arena", "startTimeout", "loadTimeout", "grace", "resourceLimits"]

/** @internal */
export const OF_POOLS: Taken = {
  of: "a pool",
  names,
  instead: { [TIME]: "use startTimeout, loadTimeout or grace, or limit the calls", killAfter: "it is reserved" },
}

/** @internal */
export const OF_BOUNDED: Taken = {
  of: "runOn",
  names: [...names.filter((name) => name !== "procs"), "mode", "discard", "onProgress"],
  instead: {
    procs: "the number of workers comes first: runOn(workers, calls)",
    concurrency: "no more calls are in progress than there are workers: runOn(workers, calls)",
    [TIME]: "use Effect.timeout",
    signal: `interrupt the fiber, or use the runOn of "runon/promise"`,
    killAfter: "it is reserved",
  },
}

/** @internal */
export const OF_SIMULATED: Taken = { of: "a simulated pool", names: ["procs", "queue", "capacity", "arena", "seed"] }

/** @internal */
export const resolveOptions = (
  options: PoolOptions,
  bounded: boolean,
): Effect.Effect<Omit<HostPoolOptions, "onStray" | "onIgnored">, InvalidOptions> =>
  Effect.gen(function* () {
    const procs = yield* whole(bounded ? "workers" : "procs", options.procs ?? availableParallelism(), 1, MAX_PROCS)
    const queue = options.queue ?? "local"
    if (queue !== "local" && queue !== "global") {
      return yield* Effect.fail(
        new InvalidOptions({ option: "queue", value: queue, expected: `"local" or "global"` }),
      )
    }
    return {
      procs,
      global: queue === "global",
      bounded,
      capacity: yield* whole("capacity", options.capacity ?? DEFAULT_CAPACITY, 16, MAX_CAPACITY),
      arena: yield* whole("arena", options.arena ?? DEFAULT_ARENA, 4096, 1024 * 1024 * 1024),
      // A machine that spins on a processor that another one or the host needs is in the way.
      spins: procs < availableParallelism() ? SPINS : 0,
      startTimeout: yield* millis("startTimeout", options.startTimeout ?? "30 seconds"),
      loadTimeout: yield* millis("loadTimeout", options.loadTimeout ?? "30 seconds"),
      grace: yield* millis("grace", options.grace ?? "30 seconds"),
      startIndex: 0,
      resourceLimits: yield* limits(options.resourceLimits),
    }
  })
