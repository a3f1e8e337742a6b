/**
 * A pool among other services of a program.
 *
 *     deno run --allow-read=. examples/layers.ts
 *     bun examples/layers.ts
 *     npx tsx examples/layers.ts
 *
 * What it shows: a pool in a graph of layers. It is opened with what another service says, used by a third one, whose
 * methods need no pool in their type, and closed before what it depends on, with every worker gone.
 *
 * @module
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { isMain, Pool, type TaskError } from "../mod.ts"
import { longest } from "./layers_tasks.ts"

const say = (message: string): Effect.Effect<void> => Effect.sync(() => console.log(message))

/** What the program is run with. */
class Settings extends Context.Tag("example/Settings")<Settings, { readonly workers: number }>() {
  static readonly layer = Layer.succeed(Settings, { workers: 2 })
}

/** Numbers that are remembered, by name. */
class Store extends Context.Tag("example/Store")<Store, Map<string, number>>() {
  static readonly layer = Layer.scoped(
    Store,
    Effect.acquireRelease(
      Effect.as(say("store opens"), new Map<string, number>()),
      (entries) => say(`store closes, with ${entries.size} entries`),
    ),
  )
}

/** The pool, as the settings say. */
const poolLayer = Layer.scoped(
  Pool,
  Effect.gen(function* () {
    const { workers } = yield* Settings
    // Finalizers run in reverse order: this one when the pool has closed.
    yield* Effect.addFinalizer(() => say("pool has closed: every worker has ended"))
    const pool = yield* Pool.make({ procs: workers })
    yield* say(`pool opens, with ${pool.procs} workers`)
    return pool
  }),
)

/** Answers from the store, or else computes on the pool and remembers. */
class Collatz extends Context.Tag("example/Collatz")<Collatz, {
  readonly longest: (limit: number) => Effect.Effect<number, TaskError>
}>() {
  static readonly layer = Layer.effect(
    Collatz,
    Effect.gen(function* () {
      const pool = yield* Pool
      const store = yield* Store
      return {
        longest: (limit) =>
          Effect.gen(function* () {
            const name = `longest up to ${limit}`
            const known = store.get(name)
            const value = known ?? (yield* pool.run(longest(limit)))
            store.set(name, value)
            yield* say(`${name}: ${value}, ${known === undefined ? "computed" : "remembered"}`)
            return value
          }),
      }
    }),
  )
}

const program = Effect.gen(function* () {
  const collatz = yield* Collatz
  yield* Effect.forEach([1_000, 300_000, 1_000], collatz.longest, { discard: true })
})

const live = Collatz.layer.pipe(
  Layer.provide(poolLayer),
  Layer.provide(Store.layer),
  Layer.provide(Settings.layer),
)

if (isMain(import.meta)) await Effect.runPromise(Effect.provide(program, live))
