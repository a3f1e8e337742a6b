import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Option } from "effect"
import * as fc from "effect/FastCheck"
import { Pool, type PoolService, Task, TaskFailed } from "../src/index.ts"
import { gated, newCells, open, reached } from "./fixtures/tasks/basic.ts"
import { NOTHING_LEFT, rawPool, settledIn } from "./fixtures/tasks/pools.ts"
import * as ranges from "./fixtures/tasks/ranges.ts"

const { DONE, ENDED, FIRST, PIECES, STARTED } = ranges

const cellsFor = (n: number): Int32Array => new Int32Array(new SharedArrayBuffer(4 * (FIRST + n)))

const on = <A, E>(pool: PoolService, effect: Effect.Effect<A, E, Pool>): Effect.Effect<A, E> =>
  Effect.provideService(effect, Pool, pool)

const failureOf = <A, E>(exit: Exit.Exit<A, E>): E => {
  if (Exit.isSuccess(exit)) throw new Error(`it succeeded with ${String(exit.value)}`)
  return Option.getOrThrowWith(Cause.failureOption(exit.cause), () => new Error(Cause.pretty(exit.cause)))
}

const bounds = fc.record({
  from: fc.integer({ min: -5, max: 1_000_000 }),
  length: fc.oneof(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 2000 })),
  grain: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 600 })),
})

describe("A range", () => {
  for (const options of [{ procs: 1 }, { procs: 2 }, { procs: 4 }, { procs: 2, capacity: 16 }]) {
    it.scopedLive(`does each index once, and combines in order, with ${JSON.stringify(options)}`, () =>
      Effect.gen(function* () {
        const pool = yield* rawPool(options)
        const law = fc.asyncProperty(bounds, async ({ from, grain, length }) => {
          const cells = cellsFor(length)
          const at = { from, to: from + length, grain }
          const text = await Effect.runPromise(on(
            pool,
            Pool.range(ranges.visit, at, cells, from).pipe(Effect.zipRight(Pool.range(ranges.spell, at, "n"))),
          ))
          expect(Array.from(cells.subarray(FIRST))).toEqual(new Array(length).fill(1))
          expect(text).toBe(Array.from({ length }, (_, i) => `n${from + i} `).join(""))
          // Rayon's bound: no piece is smaller than the grain, but for a range that is.
          expect(cells[PIECES]).toBeLessThanOrEqual(Math.max(1, Math.floor(length / grain)))
        })
        yield* Effect.promise(() => fc.assert(law, { numRuns: 60 }))
        expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
      }))
  }

  it.scopedLive("works on shared memory, and gives what a plain loop gives", () =>
    Effect.gen(function* () {
      const pool = yield* rawPool({ procs: 2 })
      const array = new Float64Array(new SharedArrayBuffer(8 * 100_000)).map((_, i) => i)
      const shared = new Float64Array(new SharedArrayBuffer(array.byteLength))
      shared.set(array)
      yield* on(pool, Pool.range(ranges.scale, { to: shared.length, grain: 1000 }, shared, 3))
      expect(shared.every((value, i) => value === 3 * i)).toBe(true)
      const numbers = new Int32Array(new SharedArrayBuffer(40_000)).fill(0)
      for (let i = 0; i < numbers.length; i++) numbers[i] = (i * 7919) % 1000
      const plain = numbers.subarray(100, 9000).reduce((a, b) => a + b)
      expect(yield* on(pool, Pool.range(ranges.sum, { from: 100, to: 9000 }, numbers))).toBe(plain)
      expect(yield* pool.run(ranges.within(9000, numbers))).toBe(numbers.subarray(0, 9000).reduce((a, b) => a + b))
    }))

  it.scopedLive("has two pieces for each processor as long as nobody steals", () =>
    Effect.gen(function* () {
      for (const procs of [1, 2, 4]) {
        const pool = yield* rawPool({ procs })
        const busy = newCells()
        // All machines but one.
        const fiber = yield* Effect.fork(
          on(pool, Pool.forEach(Array.from({ length: procs - 1 }), () => gated(busy, 0), { discard: true })),
        )
        yield* Effect.promise(() => reached(busy, STARTED, procs - 1))
        const cells = cellsFor(1000)
        yield* on(pool, Pool.range(ranges.visit, { to: 1000 }, cells, 0))
        expect(cells[PIECES]).toBe(2 * procs)
        open(busy)
        yield* Fiber.join(fiber)
      }
    }))

  it.scopedLive("splits what was stolen again", () =>
    Effect.gen(function* () {
      const pool = yield* rawPool({ procs: 2 })
      const cells = cellsFor(0)
      yield* on(pool, Pool.range(ranges.others, { to: 1000 }, cells, 1000))
      expect(cells[DONE]).toBe(1000)
      expect(cells[PIECES]).toBeGreaterThan(4)
    }))

  it.scopedLive("fails with what a piece threw, once the others have ended", () =>
    Effect.gen(function* () {
      const pool = yield* rawPool({ procs: 2 })
      const cells = cellsFor(0)
      const error = failureOf(yield* Effect.exit(on(pool, Pool.range(ranges.fails, { to: 1000 }, cells))))
      expect(error).toBeInstanceOf(TaskFailed)
      expect(error).toMatchObject({ task: "fails", error: { name: "RangeError", message: "the first piece" } })
      expect(cells[STARTED]).toBe(2)
      expect(cells[ENDED]).toBe(2)
      expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
      const last = failureOf(yield* Effect.exit(on(pool, Pool.range(ranges.failsLast, { to: 1000 }, 1000))))
      expect(last).toMatchObject({ _tag: "TaskFailed", error: { name: "RangeError", message: "the last piece" } })
      expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
    }))

  it.scopedLive("ends when it is interrupted", () =>
    Effect.gen(function* () {
      const pool = yield* rawPool({ procs: 2 })
      const cells = cellsFor(0)
      const fiber = yield* Effect.fork(on(pool, Pool.range(ranges.endless, { to: 1000 }, cells)))
      yield* Effect.promise(() => reached(cells, STARTED, 2))
      expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
      expect([cells[STARTED], cells[ENDED]]).toEqual([2, 2])
      expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
    }))

  it.scopedLive("may be empty: nothing is run, or the body says what the value is", () =>
    Effect.gen(function* () {
      const pool = yield* rawPool({ procs: 1 })
      const cells = cellsFor(0)
      expect(yield* on(pool, Pool.range(ranges.visit, { from: 5, to: 5 }, cells, 0))).toBeUndefined()
      expect(yield* pool.run(ranges.visit({ to: 0 }, cells, 0))).toBeUndefined()
      expect(cells[PIECES]).toBe(0)
      expect(yield* on(pool, Pool.range(ranges.spell, { to: 0 }, "n"))).toBe("")
      expect(yield* on(pool, Pool.range(ranges.sum, { to: 0 }, cells))).toBe(0)
    }))

  it.scopedLive("is refused with bounds that make no sense, and with an async body", () =>
    Effect.gen(function* () {
      const pool = yield* rawPool({ procs: 1 })
      const wrong = [
        [{ to: Number.NaN }, "`to` must be a whole number, not NaN"],
        [{ to: 1.5 }, "`to` must be a whole number, not 1.5"],
        [{ to: undefined as never }, "`to` must be a whole number, not undefined"],
        [{ from: Number.NEGATIVE_INFINITY, to: 1 }, "`from` must be a whole number, not -Infinity"],
        [{ from: 2, to: 1 }, "`to` must be at least `from`, which is 2, not 1"],
        [{ to: 1, grain: 0 }, "`grain` must be a whole number of at least 1, not 0"],
      ] as const
      for (const [bounds, message] of wrong) {
        expect(() => ranges.spell(bounds, "")).toThrow(new RangeError(`range "spell": ${message}`))
        const exit = yield* Effect.exit(on(pool, Pool.range(ranges.spell, bounds, "")))
        const defect = Exit.isFailure(exit) ? Option.getOrThrow(Cause.dieOption(exit.cause)) : undefined
        expect(defect).toEqual(new RangeError(`range "spell": ${message}`))
      }
      const error = failureOf(yield* Effect.exit(on(pool, Pool.range(ranges.promised, { to: 10 }))))
      expect(error.message).toContain('the body of range "promised" returned a promise')
      expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
    }))

  it("must have a body and a name", () => {
    expect(() => Task.range(import.meta, "no body", undefined as never)).toThrow(/"no body" .* is not a function/)
    expect(() => Task.rangeReduce(import.meta, "no combine", () => 0, undefined as never)).toThrow(/"no combine"/)
  })

  it.effect("runs on simulated machines, the same for the same seed", () =>
    Effect.gen(function* () {
      const once = Effect.gen(function* () {
        const cells = cellsFor(300)
        yield* Pool.range(ranges.visit, { to: 300 }, cells, 0)
        expect(Array.from(cells.subarray(FIRST))).toEqual(new Array(300).fill(1))
        return [cells[PIECES], yield* Pool.range(ranges.spell, { to: 20 }, "")]
      }).pipe(Effect.provide(Pool.layerDeterministic({ procs: 3, seed: 7 })))
      const first = yield* once
      expect(first[1]).toBe(Array.from({ length: 20 }, (_, i) => `${i} `).join(""))
      expect(yield* once).toEqual(first)
    }))
})

describe("The types of a range", () => {
  // Never called: the compiler is the test.
  const typed = (meta: ImportMeta) => {
    const scale = Task.range(meta, "scale", (_lo: number, _hi: number, _array: Float64Array, _k: number) => {})
    const text = Task.rangeReduce(meta, "text", (lo: number) => String(lo), (a, b) => a + b)
    const value: Effect.Effect<string, unknown, Pool> = Pool.range(text, { to: 1 })
    const nothing: Effect.Effect<void, unknown, Pool> = Pool.range(scale, { to: 1 }, new Float64Array(1), 2)
    // @ts-expect-error -- an argument of the wrong type
    void Pool.range(scale, { to: 1 }, new Float64Array(1), "2")
    // @ts-expect-error -- an argument is missing
    void scale({ to: 1 }, new Float64Array(1))
    // @ts-expect-error -- a function cannot be sent
    Task.range(meta, "a", (_lo: number, _hi: number, f: () => void) => f())
    // @ts-expect-error -- nor can one be in a value
    Task.rangeReduce(meta, "b", () => [() => 1], (a, b) => a.concat(b))
    // @ts-expect-error -- a body is sync
    Task.range(meta, "c", async (lo: number) => void await Promise.resolve(lo))
    // @ts-expect-error -- likewise
    Task.rangeReduce(meta, "d", (lo: number) => Promise.resolve(lo), (a) => a)
    // @ts-expect-error -- an Effect would not be run
    Task.range(meta, "e", () => Effect.void)
    // @ts-expect-error -- the combination has another type
    Task.rangeReduce(meta, "f", (lo: number) => lo, (a, b) => `${a}${b}`)
    return [value, nothing]
  }

  it("refuse what cannot be sent, and bodies that are not sync", () => {
    expect(typed).toBeTypeOf("function")
  })
})
