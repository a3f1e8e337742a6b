import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import process from "node:process"
import { mark, newCells } from "./fixtures/tasks/basic.ts"
import { oneByOne, onEvery, rawPool } from "./fixtures/tasks/pools.ts"
import * as tasks from "./fixtures/tasks/wakeups.ts"

const { insomnia, joinsTheStolen, noop, spawnsOneByOne } = tasks

/** A pool whose machines, once asleep, sleep until they are woken. */
const sleepers = (options: Parameters<typeof rawPool>[0]) =>
  Effect.gen(function* () {
    const pool = yield* rawPool(options)
    yield* onEvery(pool, insomnia)
    return pool
  })

describe("A wake-up is not lost", () => {
  // 100,000 in all. Without spinning every machine is asleep, or on its way to it, when the next call comes.
  for (
    const [options, n] of [
      [{ procs: 1, spins: 0 }, 25_000],
      [{ procs: 2, spins: 0 }, 25_000],
      [{ procs: 2, spins: 50 }, 15_000],
      [{ procs: 2, spins: 0, global: true }, 15_000],
      [{ procs: 2, spins: 0, bounded: true }, 15_000],
      [{ procs: 3, spins: 0 }, 5_000],
    ] as const
  ) {
    const { procs } = options
    const kind = "global" in options ? ", with one queue" : "bounded" in options ? ", bounded" : ""
    it.scopedLive(`in ${n} submissions one by one, on ${procs} machines${kind}, with ${options.spins} spins`, () =>
      Effect.gen(function* () {
        const pool = yield* sleepers(options)
        const cells = newCells()
        yield* Effect.promise(() => oneByOne(pool, n, (i) => i % 100 === 0 ? mark(cells, 0) : noop()))
        expect(cells[0]).toBe(n / 100)
      }))
  }

  it.scopedLive("when a task spawns for others, and when it waits for them", () =>
    Effect.gen(function* () {
      for (const spins of [0, 50]) {
        const pool = yield* sleepers({ procs: 2, spins })
        expect(yield* pool.run(spawnsOneByOne(newCells(), 10_000))).toBe(10_000)
        expect(yield* pool.run(joinsTheStolen(newCells(), 5000))).toBe((5000 * 4999) / 2)
      }
    }))

  it.scopedLive("in bursts from many callers", () =>
    Effect.gen(function* () {
      const pool = yield* sleepers({ procs: 2, spins: 0 })
      yield* Effect.promise(() => Promise.all(Array.from({ length: 8 }, () => oneByOne(pool, 2500, () => noop()))))
    }))
})

/** The share of one processor that this process uses. */
const cpuShare = Effect.gen(function* () {
  const started = performance.now()
  const before = process.cpuUsage()
  yield* Effect.sleep(500)
  const { system, user } = process.cpuUsage(before)
  return (user + system) / 1000 / (performance.now() - started)
})

describe("An idle pool", () => {
  it.scopedLive("uses next to no processor time", () =>
    Effect.gen(function* () {
      const pool = yield* rawPool({ procs: 4, spins: 1000 })
      yield* pool.run(noop())
      // The runtime may have work of its own after the start. A pool that spins does so for ever.
      const shares: Array<number> = []
      while (shares.length < 10 && !(shares.at(-1)! < 0.1)) shares.push(yield* cpuShare)
      expect(shares.at(-1)).toBeLessThan(0.1)
    }))
})
