import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Pool, type PoolService } from "../src/index.ts"
import * as basic from "./fixtures/tasks/basic.ts"
import { bump, install, nextRandom, spread } from "./fixtures/tasks/cells.ts"
import { NOTHING_LEFT, onEvery, rawPool, settledIn } from "./fixtures/tasks/pools.ts"

const makeCells = (n: number) => new Int32Array(new SharedArrayBuffer(4 * n))

const installed = (pool: PoolService, n: number) =>
  Effect.gen(function* () {
    const cells = makeCells(n)
    yield* onEvery(pool, (met, procs) => install(cells, met, procs))
    return cells
  })

const allOnce = (cells: Int32Array) => {
  const wrong = []
  for (let i = 0; i < cells.length && wrong.length < 10; i++) if (cells[i] !== 1) wrong.push([i, cells[i]])
  expect(wrong).toEqual([])
}

/** Parts of 0 to `n`, of random size, `mean` on average. */
const parts = (n: number, mean: number): Array<readonly [lo: number, hi: number]> => {
  const result: Array<readonly [number, number]> = []
  for (let lo = 0, random = 1; lo < n;) {
    random = nextRandom(random)
    const hi = Math.min(n, lo + 1 + (random >>> 8) % (2 * mean))
    result.push([lo, hi])
    lo = hi
  }
  return result
}

const bumpAll = (pool: PoolService, n: number, mean: number) =>
  Effect.gen(function* () {
    const cells = yield* installed(pool, n)
    const sizes = yield* Pool.forEach(parts(n, mean), ([lo, hi]) => spread(lo, hi, lo)).pipe(
      Effect.provideService(Pool, pool),
    )
    expect(sizes.reduce((a, b) => a + b, 0)).toBe(n)
    allOnce(cells)
    expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
  })

describe("A million calls", () => {
  it.scopedLive("from the host run exactly once each, and leave the table and the arena empty", () =>
    Effect.gen(function* () {
      const n = 1_000_000
      const pool = yield* rawPool({ procs: 2, spins: 1000 })
      const cells = yield* installed(pool, n)
      yield* Pool.forEach(cells, (_, i) => bump(i), { discard: true }).pipe(Effect.provideService(Pool, pool))
      allOnce(cells)
      expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
    }))

  for (const procs of [1, 2, 4, 16]) {
    it.scopedLive(`from the host and from tasks run exactly once each on ${procs} workers`, () =>
      Effect.flatMap(rawPool({ procs }), (pool) => bumpAll(pool, 1_000_000, 8)))
  }
})

describe("Each call runs exactly once", () => {
  it.scopedLive("in a table of 64 records, which is full all the time", () =>
    Effect.flatMap(rawPool({ procs: 3, capacity: 64 }), (pool) => bumpAll(pool, 100_000, 8)))

  it.scopedLive("in a table of 16 records", () =>
    Effect.flatMap(rawPool({ procs: 2, capacity: 16 }), (pool) => bumpAll(pool, 20_000, 4)))

  for (const [name, startIndex] of [["2^31", 2 ** 31 - 500], ["2^32", 2 ** 32 - 500]] as const) {
    it.scopedLive(`when the indices of the queues pass ${name}`, () =>
      Effect.flatMap(rawPool({ procs: 2, startIndex }), (pool) => bumpAll(pool, 100_000, 8)))
  }

  it.scopedLive("with one queue for all", () =>
    Effect.flatMap(rawPool({ procs: 2, global: true }), (pool) => bumpAll(pool, 100_000, 8)))

  it.scopedLive("in a bounded pool", () =>
    Effect.flatMap(rawPool({ procs: 3, bounded: true }), (pool) => bumpAll(pool, 100_000, 8)))
})

// A machine takes half a second of a processor to start on Node, and a tenth elsewhere.
const MANY = Number(process.env.RUNON_MACHINES ?? 24)

describe("Many machines", () => {
  it.scopedLive(
    `${MANY} on two cores share the work of a task`,
    () =>
      Effect.gen(function* () {
        // Each loads all that a machine needs, and there are two cores for it.
        const pool = yield* rawPool({ procs: MANY, capacity: 4096, startTimeout: 150_000 })
        yield* onEvery(pool, basic.meet)
        expect(yield* pool.run(basic.fib(18))).toBe(2584)
        yield* bumpAll(pool, 50_000, 16)
      }),
    180_000,
  )
})
