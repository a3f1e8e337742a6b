/**
 * Streams through tasks. A module of its own, `runon/stream`, and not part of `Pool`: machines import what the modules
 * of tasks import, and `effect/Stream` would make each of them start later.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Option from "effect/Option"
import { hasProperty } from "effect/Predicate"
import * as Stream from "effect/Stream"
import type { Call } from "./Call.ts"
import type { TaskError } from "./Errors.ts"
import { Feed } from "./internal/bulk/Feed.ts"
import { Reorder } from "./internal/bulk/Reorder.ts"
import { BY_EFFECT, check, type Taken, TIME, wrongOptions } from "./internal/options.ts"
import { type Submitter, submitterOf } from "./internal/poolHost.ts"
import { poolTag } from "./internal/tag.ts"
import { windowOf } from "./internal/bulk/window.ts"
import type { Pool } from "./Pool.ts"

/**
 * Options of {@link stream}. `concurrency`: most items between the two ends: their calls are in progress, or have ended
 * and their values were not yet taken. Default: two for each processor, at least 16. `ordered`: values in the order of
 * the items (default), or as calls end.
 *
 * @since 0.1.0
 * @category models
 */
export interface StreamOptions {
  readonly concurrency?: number | undefined
  readonly ordered?: boolean | undefined
}

/**
 * A stream through a task: a call for each item on the pool in the context, and the values as a stream. What
 * `Stream.mapEffect` does with calls, but with no fiber for each: what the upstream gives as a chunk is submitted as a
 * batch, and what has ended is passed on as a chunk.
 *
 * The upstream is asked for more only when there is room for an item, so it is never more than `concurrency` items
 * ahead of what the downstream has taken (and the rest of its last chunk, which cannot be taken in part). In order, a
 * slow call holds back the values of later ones; a larger `concurrency` lets more of them go on meanwhile.
 *
 * The first failure cancels the calls that have not started and waits for those that run. Values that are ready then
 * are still passed on (those before the failure, if ordered), and the stream fails. If the upstream fails, the calls for
 * the items it gave end first. On interruption, or when the downstream wants no more, calls are cancelled and have
 * ended before the finalizers of the upstream run.
 *
 * @example
 * import { Effect, Stream } from "effect"
 * import { Pool } from "runon"
 * import { stream } from "runon/stream"
 * import { countPrimes } from "./primes.ts"
 *
 * const program = Stream.range(1, 1000).pipe(
 *   stream((n) => countPrimes(n * 1000, (n + 1) * 1000)),
 *   Stream.runFold(0, (sum, n) => sum + n),
 *   Effect.provide(Pool.layer()),
 * )
 *
 * @since 0.1.0
 * @category bulk
 */
export const stream: {
  <A, B, E2 = never>(
    f: (item: A) => Call<B, E2>,
    options?: StreamOptions,
  ): <E, R>(stream: Stream.Stream<A, E, R>) => Stream.Stream<B, E | E2 | TaskError, R | Pool>
  <A, E, R, B, E2 = never>(
    stream: Stream.Stream<A, E, R>,
    f: (item: A) => Call<B, E2>,
    options?: StreamOptions,
  ): Stream.Stream<B, E | E2 | TaskError, R | Pool>
} = dual(
  (args) => {
    if (hasProperty(args[1], Stream.StreamTypeId)) throw new TypeError("the stream comes first: stream(items, f)")
    return typeof args[0] !== "function"
  },
  <A, E, R, B, E2>(
    upstream: Stream.Stream<A, E, R>,
    f: (item: A) => Call<B, E2>,
    options?: StreamOptions,
  ): Stream.Stream<B, E | E2 | TaskError, R | Pool> =>
    Stream.unwrapScoped(Effect.gen(function* () {
      const pool = yield* poolTag
      check(wrongOptions(OF_STREAM, options))
      // Closed in the opposite order: nothing more is submitted, calls end, and then what the upstream has opened.
      const pull = yield* Stream.toPull(upstream)
      const flow = new Flow<A, B, E | E2 | TaskError>(
        submitterOf(pool),
        f,
        windowOf(options?.concurrency, Math.max(16, 2 * pool.procs)),
        options?.ordered !== false,
      )
      yield* Effect.addFinalizer(() => flow.close)
      yield* Effect.forkScoped(feeding(flow, pull))
      return Stream.repeatEffectChunkOption(flow.take)
    })),
)

const OF_STREAM: Taken = {
  of: "stream",
  names: ["concurrency", "ordered"],
  instead: { ...BY_EFFECT, [TIME]: "use Stream.timeout" },
}

/** Feeds what the upstream gives, as there is room. Never fails: the flow is told. */
const feeding = <A, B, E, E1 extends E, R>(
  flow: Flow<A, B, E>,
  pull: Effect.Effect<Chunk.Chunk<A>, Option.Option<E1>, R>,
): Effect.Effect<void, never, R> =>
  flow.room.pipe(
    Effect.zipRight(pull),
    Effect.flatMap((chunk) => flow.feed(Chunk.toReadonlyArray(chunk), 0)),
    Effect.forever,
    Effect.catchAllCause((cause) => Effect.sync(() => flow.upstreamEnded(Cause.flipCauseOption(cause)))),
  )

/** What is between the two ends of the stream. */
class Flow<A, B, E> {
  readonly #feed: Feed<A>
  readonly #window: number
  readonly #early: Reorder<B> | undefined
  #ready: Array<B> = []
  /** How many values were taken. */
  #taken = 0
  #upstream: { readonly failure: Option.Option<Cause.Cause<E>> } | undefined
  #wakeFeeder: () => void = () => {}
  #wakeTaker: () => void = () => {}

  constructor(host: Submitter, call: (item: A) => Call<B, unknown>, window: number, ordered: boolean) {
    this.#window = window
    this.#early = ordered ? new Reorder() : undefined
    this.#feed = new Feed<A>(host, {
      call,
      onValue: (index, value) => {
        if (this.#early === undefined) {
          this.#ready.push(value as B)
        } else {
          this.#early.put(index, value as B)
          this.#early.drain((value) => this.#ready.push(value))
        }
        this.#wakeTaker()
      },
      onIdle: () => this.#wakeTaker(),
    })
  }

  get #free(): number {
    return this.#window - (this.#feed.submitted - this.#taken)
  }

  /** Waits until there is room for an item. (It looks when it begins to wait: a fiber may stop in front of that.) */
  readonly room: Effect.Effect<void> = Effect.async<void>((resume) => {
    this.#wakeFeeder = () => {
      if (this.#free <= 0 || this.#feed.cancelled) return
      this.#wakeFeeder = () => {}
      resume(Effect.void)
    }
    this.#wakeFeeder()
  })

  /** Submits calls for the items from `from` on, as there is room. */
  feed(items: ReadonlyArray<A>, from: number): Effect.Effect<void> {
    return Effect.flatMap(this.room, () => {
      const to = Math.min(items.length, from + this.#free)
      this.#feed.submit(items, from, to)
      return to < items.length ? this.feed(items, to) : Effect.void
    })
  }

  /** There are no more items, or `failure` is why. */
  upstreamEnded(failure: Option.Option<Cause.Cause<E>>): void {
    this.#upstream = { failure }
    this.#wakeTaker()
  }

  /** The values that are ready, as soon as there are any; fails with none at the end. */
  readonly take: Effect.Effect<Chunk.Chunk<B>, Option.Option<E>> = Effect.suspend(() => {
    if (this.#ready.length > 0) {
      const chunk = Chunk.unsafeFromArray(this.#ready)
      this.#taken += this.#ready.length
      this.#ready = []
      this.#wakeFeeder()
      return Effect.succeed(chunk)
    }
    if (!this.#settled) return Effect.zipRight(this.#news, this.take)
    const { failure } = this.#feed
    if (failure !== undefined) return Effect.failCause(Cause.map(failure as Cause.Cause<E>, Option.some))
    return Option.match(this.#upstream!.failure, {
      onNone: () => Effect.fail(Option.none()),
      onSome: (cause) => Effect.failCause(Cause.map(cause, Option.some)),
    })
  })

  /** Whether nothing is in progress, and nothing will be. */
  get #settled(): boolean {
    return this.#feed.idle && (this.#feed.cancelled || this.#upstream !== undefined)
  }

  /** Waits for values that can be taken, or for the end. */
  readonly #news: Effect.Effect<void> = Effect.async<void>((resume) => {
    this.#wakeTaker = () => {
      if (this.#ready.length === 0 && !this.#settled) return
      this.#wakeTaker = () => {}
      resume(Effect.void)
    }
    this.#wakeTaker()
  })

  /** Cancels all calls, and waits for those that run. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.#feed.cancel()
    this.#ready = []
    // Values still come of those that run: they are news as well, but not the end.
    return this.#settled ? Effect.void : Effect.zipRight(this.#news, this.close)
  })
}
