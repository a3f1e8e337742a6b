import { describe, expect, it, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Pool } from "../src/index.ts"
import * as tasks from "./fixtures/tasks/basic.ts"
import { NOTHING_LEFT, rawPool, settledIn } from "./fixtures/tasks/pools.ts"
import { respawns } from "./fixtures/tasks/wakeups.ts"
import { opensPool } from "./fixtures/cases/inner.ts"

const { add, fanOut, fib, gated, identity, mark, nest, newCells, NOW, open, reached, relay, STARTED } = tasks

const range = (n: number): Array<number> => Array.from({ length: n }, (_, i) => i)

describe("Calls within calls", () => {
  layer(Pool.layer({ procs: 1 }), { excludeTestServices: true })("on one machine", (it) => {
    it.effect("finish when nested a thousand deep", () =>
      Effect.gen(function* () {
        expect(yield* nest(1000)).toBe(1000)
        expect(yield* Pool.forEach(range(20), () => nest(200))).toEqual(range(20).map(() => 200))
      }))

    it.effect("finish however many wait for children of theirs", () =>
      Effect.gen(function* () {
        expect(yield* Pool.forEach(range(50), () => fib(8))).toEqual(range(50).map(() => 21))
        expect(yield* fanOut(2000)).toBe((2000 * 2001) / 2)
      }))

    it.effect("are waited for, if nobody joins them", () =>
      Effect.gen(function* () {
        const cells = newCells()
        yield* relay(cells, 500)
        expect(cells[NOW]).toBe(501)
      }))

    it.effect("leave nothing behind", () =>
      Effect.gen(function* () {
        expect(yield* settledIn(yield* Pool)).toEqual(NOTHING_LEFT)
      }))
  })

  for (
    const options of [
      { procs: 3 },
      { procs: 2, global: true },
      { procs: 2, capacity: 16 },
      { procs: 2, bounded: true },
      { procs: 1, capacity: 16, global: true },
    ]
  ) {
    it.scopedLive(`give the same results with ${JSON.stringify(options)}`, () =>
      Effect.gen(function* () {
        const pool = yield* rawPool(options)
        const results = yield* Pool.all([fib(15), nest(300), fanOut(1000), add(1, 2), fib(12), nest(100)]).pipe(
          Effect.provideService(Pool, pool),
        )
        expect(results).toEqual([610, 300, 500_500, 3, 144, 100])
        expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
      }))
  }
})

describe("Calls nested without end", () => {
  it.scopedLive("fail when the stack is full, and the pool goes on", () =>
    Effect.gen(function* () {
      const pool = yield* rawPool({ procs: 1 })
      const error = yield* Effect.flip(pool.run(nest(100_000)))
      expect(error).toMatchObject({ _tag: "TaskFailed", task: "nest" })
      expect(error.message.length).toBeLessThan(1000)
      expect(yield* pool.run(nest(500))).toBe(500)
      expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
    }))

  it.scopedLive("let others finish beside them", () =>
    Effect.gen(function* () {
      const pool = yield* rawPool({ procs: 1 })
      const cells = newCells()
      const fiber = yield* Effect.fork(Effect.exit(pool.run(respawns(cells))))
      for (let i = 0; i < 50; i++) expect(yield* pool.run(add(i, 1))).toBe(i + 1)
      Atomics.store(cells, 0, 1)
      yield* Fiber.join(fiber)
      expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
    }))
})

describe("A pool opened inside a task of another pool", () => {
  it.scopedLive("works, and is closed there", () =>
    Effect.gen(function* () {
      const pool = yield* rawPool({ procs: 1 })
      expect(yield* pool.run(opensPool(20))).toBe(42)
      expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
    }))
})

describe("Calls that wait for room", () => {
  it.scopedLive("are let in, in order, as it comes", () =>
    Effect.gen(function* () {
      // With local queues every 61st look goes to the global one first, ahead of what was let in before.
      // 16 records, and an arena that holds a few payloads.
      const pool = yield* rawPool({ procs: 1, capacity: 16, arena: 16_384, global: true })
      const cells = newCells()
      const starts = yield* Effect.forEach(range(200), () => pool.run(mark(cells, STARTED)), {
        concurrency: "unbounded",
      })
      expect(starts).toEqual(range(200).map((i) => i + 1))
      const texts = range(100).map((i) => `${i} `.repeat(500))
      expect(yield* Pool.forEach(texts, (text) => identity(text)).pipe(Effect.provideService(Pool, pool))).toEqual(
        texts,
      )
      expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
    }))

  it.scopedLive("end when their callers do not want them any more", () =>
    Effect.gen(function* () {
      const pool = yield* rawPool({ procs: 1, capacity: 16 })
      const cells = newCells()
      const busy = yield* Effect.fork(pool.run(gated(cells, 1)))
      yield* Effect.promise(() => reached(cells, STARTED, 1))
      const waiting = yield* Effect.forEach(range(100), (i) => Effect.fork(pool.run(add(i, 0))))
      yield* Effect.yieldNow()
      yield* Fiber.interruptAll(waiting.filter((_, i) => i % 2 === 0))
      open(cells)
      expect(yield* Fiber.join(busy)).toBe(1)
      const odd = range(100).filter((i) => i % 2 === 1)
      expect(yield* Effect.forEach(odd, (i) => Fiber.join(waiting[i]))).toEqual(odd)
      expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
    }))
})
