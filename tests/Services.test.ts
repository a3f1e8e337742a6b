import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Logger, Scope } from "effect"
import { expectTypeOf } from "vitest"
import { type Call, Pool, runOn, Task, type TaskError } from "../mod.ts"
import {
  broken,
  BUILT,
  CLOSED,
  Connection,
  connection,
  FAILURES,
  flaky,
  GATE,
  order,
  OWN,
  scoped,
  SCOPES,
  slow,
  Unavailable,
  user,
  Users,
  UsersLayer,
} from "./fixtures/services/tasks.ts"

const memory = () => new Int32Array(new SharedArrayBuffer(32))

/** Waits until a word of shared memory is at least `n`. */
const reached = (cell: Int32Array, word: number, n: number) =>
  Effect.promise(async () => {
    for (let seen = Atomics.load(cell, word); seen < n; seen = Atomics.load(cell, word)) {
      await (Atomics.waitAsync(cell, word, seen, 50).value as Promise<unknown>)
    }
  })

const kinds = [
  ["real machines", (procs: number) => Pool.layer({ procs })],
  ["simulated machines", (procs: number) => Pool.layerDeterministic({ procs, seed: 3 })],
] as const

describe("Task.layer", () => {
  it.live("is built once for each machine and closed before the pool has", () =>
    Effect.gen(function* () {
      const cell = memory()
      const ids = yield* Pool.forEach([1, 2], () => connection(cell, 2)).pipe(
        Effect.tap(() => Pool.forEach([1, 2, 3, 4, 5, 6], (id) => user(cell, id))),
        Effect.tap(() => Effect.sync(() => expect(cell[CLOSED]).toBe(0))),
        Effect.provide(Pool.layer({ procs: 2 })),
      )
      expect(new Set(ids).size).toBe(2)
      expect([cell[BUILT], cell[CLOSED]]).toEqual([2, 2])
    }), 60_000)

  it.live("is closed before runOn returns, also if a call failed", () =>
    Effect.gen(function* () {
      const cell = memory()
      expect(yield* runOn(1, [user(cell, 1), user(cell, 2)])).toEqual(["user 1", "user 2"])
      expect([cell[BUILT], cell[CLOSED]]).toEqual([1, 1])
      cell[FAILURES] = 1
      const error = yield* Effect.flip(runOn(1, [user(cell, 1), flaky(cell)]))
      expect(error).toBeInstanceOf(Unavailable)
      expect([cell[BUILT], cell[CLOSED]]).toEqual([2, 2])
    }), 60_000)

  for (const [kind, layer] of kinds) {
    describe(`on ${kind}`, () => {
      it.live("shares what two layers are made of", () =>
        Effect.gen(function* () {
          const cell = memory()
          const shared = yield* Effect.gen(function* () {
            const mine = yield* connection(cell, 1)
            expect(yield* user(cell, 3)).toBe("user 3")
            return (yield* order(cell)) === mine
          }).pipe(Effect.provide(layer(1)))
          expect(shared).toBe(true)
          expect([cell[BUILT], cell[CLOSED]]).toEqual([1, 1])
        }), 60_000)

      it.live("fails the calls that need it with its error, and is tried again", () =>
        Effect.gen(function* () {
          const cell = memory()
          cell[FAILURES] = 2
          yield* Effect.gen(function* () {
            expect(yield* Effect.flip(flaky(cell))).toEqual(new Unavailable({ left: 2 }))
            const caught = yield* flaky(cell).pipe(Effect.catchTag("Unavailable", ({ left }) => Effect.succeed(-left)))
            expect(caught).toBe(-1)
            expect(yield* flaky(cell)).toBe(7)
            expect(yield* flaky(cell)).toBe(7)
          }).pipe(Effect.provide(layer(1)))
          // What the failed attempts had built was kept for the next.
          expect([cell[BUILT], cell[CLOSED]]).toEqual([1, 1])
        }), 60_000)

      it.live("goes on being built when the call that needed it first is interrupted", () =>
        Effect.gen(function* () {
          const cell = memory()
          yield* Effect.gen(function* () {
            const first = yield* Effect.fork(slow(cell))
            yield* reached(cell, BUILT, 1)
            const second = yield* Effect.fork(slow(cell))
            yield* Fiber.interrupt(first)
            Atomics.store(cell, GATE, 1)
            expect(yield* Fiber.join(second)).toBe("built")
            expect(cell[BUILT]).toBe(1)
          }).pipe(Effect.provide(layer(1)))
        }), 60_000)

      it.live("tells of a finalizer that fails where the pool was opened", () =>
        Effect.gen(function* () {
          const logged: Array<string> = []
          const logger = Logger.make((options) => void logged.push(Logger.stringLogger.log(options)))
          expect(yield* Effect.provide(broken(), layer(1)).pipe(Effect.provide(Logger.add(logger)))).toBe(1)
          expect(logged.join()).toMatch(/finalizer failed of the layers Broken.*it does not close/)
        }), 60_000)

      it.live(
        "gives each call a scope of its own, closed when the call ends or is interrupted",
        () =>
          Effect.gen(function* () {
            const cell = memory()
            yield* Effect.gen(function* () {
              expect(yield* scoped(cell, true)).toBe(1)
              expect(cell[OWN]).toBe(1)
              const fiber = yield* Effect.fork(scoped(cell, false))
              yield* reached(cell, SCOPES, 2)
              yield* Fiber.interrupt(fiber)
              expect(cell[OWN]).toBe(2)
            }).pipe(Effect.provide(layer(1)))
          }),
        60_000,
      )
    })
  }

  it("has the layer's error among the call's, and provides what the Effect needs", () => {
    const cell = memory()
    expectTypeOf(flaky(cell)).toEqualTypeOf<Call<number, Unavailable>>()
    expectTypeOf(flaky(cell)).toMatchTypeOf<Effect.Effect<number, Unavailable | TaskError, Pool>>()
    expectTypeOf(user(cell, 1)).toEqualTypeOf<Call<string, never>>()
    expectTypeOf(UsersLayer).toEqualTypeOf<ReturnType<typeof Task.layer<Users | Connection, never>>>()
    // The pool and a scope are there in any case.
    Task.effect(import.meta, "scope", () => Effect.as(Effect.zip(Effect.scope, Pool), 1))
  })

  it("is refused by the compiler where it does not provide what the Effect needs", () => {
    class Other extends Context.Tag("Other")<Other, string>() {}
    // @ts-expect-error -- no layer
    Task.effect(import.meta, "none", () => Other)
    // @ts-expect-error -- another layer
    Task.effect(import.meta, "wrong", () => Other, { layer: UsersLayer })
    // @ts-expect-error -- only part of it
    Task.effect(import.meta, "part", () => Effect.as(Effect.zip(Other, Users), 1), { layer: UsersLayer })
    // @ts-expect-error -- a layer that needs something itself
    Task.layer(import.meta, "needs", Layer.effect(Users, Effect.map(Other, () => ({ find: String }))))
    expectTypeOf<Scope.Scope>().not.toBeAny()
  })

  it("must have a name that no other of its module has", () => {
    Task.layer(import.meta, "one", Layer.empty)
    expect(() => Task.layer(import.meta, "one", Layer.empty)).toThrow(/two layers named "one"/)
    expect(() => Task.layer(import.meta, "", Layer.empty)).toThrow(/has no name/)
    expect(() => Task.layer(import.meta, "no layer", 1 as never)).toThrow(/is not a Layer/)
  })
})
