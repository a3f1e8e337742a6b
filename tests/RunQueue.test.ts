import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as scheduler from "../src/internal/scheduler/index.ts"
import {
  type Config,
  counters,
  create,
  get,
  isEmpty,
  length,
  put,
  type Sched,
  sizeOf,
  steal,
  takeNext,
} from "../src/internal/scheduler/index.ts"
import { NOTHING_LEFT, onEvery, rawPool, settledIn } from "./fixtures/tasks/pools.ts"
import { fanOutOf, install } from "./fixtures/tasks/fan.ts"
import { newCells } from "./fixtures/tasks/basic.ts"
import * as rings from "./fixtures/tasks/rings.ts"

const base: Config = {
  procs: 2,
  machines: 2,
  capacity: 2048,
  arena: 4096,
  global: false,
  bounded: false,
  spins: 0,
  startIndex: 0,
}

const plain = (config: Partial<Config> = {}): Sched => create({ ...base, ...config }, (bytes) => new ArrayBuffer(bytes))
const spill = new Int32Array(256)
const fill = (s: Sched, n: number, from = 1): void => {
  for (let i = 0; i < n; i++) put(s, 0, from + i, false, 0, spill)
}
const drain = (s: Sched, p: number): Array<number> => {
  const taken = []
  for (let hint = get(s, p); hint !== 0; hint = get(s, p)) taken.push(hint)
  return taken
}
const upTo = (n: number): Array<number> => Array.from({ length: n }, (_, i) => i + 1)

/** Live hints: those that overflow must point to runnable Gs. */
const hints = (s: Sched, n: number): Array<number> =>
  Array.from({ length: n }, () => {
    const g = scheduler.allocate(s, scheduler.HOST_FREE, scheduler.HOST_HOME, scheduler.HOST)
    return scheduler.makeRunnable(s, g)
  })

describe.each([0, 2 ** 31 - 200, 2 ** 32 - 200])("The ring of a P whose indices start at %i", (startIndex) => {
  it("is first in, first out, at every length", () => {
    const s = plain({ startIndex })
    for (let n = 0; n <= 256; n++) {
      fill(s, n)
      expect(length(s, 0)).toBe(n)
      expect(isEmpty(s, 0)).toBe(n === 0)
      expect(drain(s, 0)).toEqual(upTo(n))
    }
  })

  it("gives half to a thief, rounded up, at most 128, each once", () => {
    const s = plain({ startIndex })
    for (let n = 1; n <= 256; n++) {
      fill(s, n)
      const half = Math.min(128, n - Math.floor(n / 2))
      const first = steal(s, 0, 1, false)
      expect(first).toBe(half) // the newest of the oldest half
      expect(length(s, 1)).toBe(half - 1)
      expect([...drain(s, 1), first, ...drain(s, 0)]).toEqual(upTo(n))
    }
    const { stealsTried, stealsWon, stolen } = counters(s, 1)
    expect([stealsTried, stealsWon, stolen]).toEqual([
      256,
      256,
      upTo(256).reduce((sum, n) => sum + Math.ceil(n / 2), 0),
    ])
  })

  it("holds 256, and sends the oldest half and the 257th to the global queue, once", () => {
    const s = plain({ startIndex })
    const all = hints(s, 257)
    for (const hint of all) put(s, 0, hint, false, 0, spill)
    expect([length(s, 0), sizeOf(s, s.gq), counters(s, 0).overflows]).toEqual([128, 129, 1])
    expect(drain(s, 0)).toEqual(all.slice(128, 256))
    const taken = []
    for (let hint = scheduler.takeOne(s, s.gq, 0, 0); hint !== 0; hint = scheduler.takeOne(s, s.gq, 0, 0)) {
      taken.push(hint)
    }
    expect(taken).toEqual([...all.slice(0, 128), all[256]])
  })

  it("puts the one that was next behind all others", () => {
    const s = plain({ startIndex })
    fill(s, 3)
    put(s, 0, 10, true, 0, spill)
    put(s, 0, 11, true, 0, spill)
    expect(takeNext(s, 0)).toBe(11)
    expect(takeNext(s, 0)).toBe(0)
    expect(drain(s, 0)).toEqual([1, 2, 3, 10])
  })

  it("gives its next to a thief only if asked, and only from an empty ring", () => {
    const s = plain({ startIndex })
    put(s, 0, 10, true, 0, spill)
    expect(steal(s, 0, 1, false)).toBe(0)
    fill(s, 1)
    expect(steal(s, 0, 1, true)).toBe(1)
    expect(steal(s, 0, 1, true)).toBe(10)
    expect(isEmpty(s, 0)).toBe(true)
  })
})

describe("The global queue", () => {
  it("gives a P its share, at most 128", () => {
    for (const [procs, size] of [[1, 1], [1, 50], [1, 500], [2, 1], [2, 10], [4, 100], [4, 2000], [16, 33]] as const) {
      const s = plain({ procs, machines: procs })
      const all = hints(s, size)
      scheduler.append(s, s.gq, Int32Array.from(all), size, 0)
      const share = Math.min(size, Math.floor(size / procs) + 1, 128)
      expect([scheduler.takeBatch(s, s.gq, 0, 0), ...drain(s, 0)]).toEqual(all.slice(0, share))
      expect(sizeOf(s, s.gq)).toBe(size - share)
    }
  })

  it("has room for one entry of every G, whatever stale ones it holds", () => {
    const s = plain({ capacity: 64 })
    const all = hints(s, 64)
    for (let round = 0; round < 20; round++) scheduler.append(s, s.gq, Int32Array.from(all), 64, 0)
    const seen = new Set<number>()
    for (let hint = scheduler.takeOne(s, s.gq, 0, 0); hint !== 0; hint = scheduler.takeOne(s, s.gq, 0, 0)) {
      seen.add(hint)
    }
    expect(seen).toEqual(new Set(all))
  })
})

const shared = (config: Partial<Config>): Sched =>
  create({ ...base, ...config }, (bytes) => new SharedArrayBuffer(bytes))

describe("On real threads", () => {
  for (const startIndex of [0, 2 ** 31 - 1000, 2 ** 32 - 1000]) {
    it.scopedLive(`each entry is taken once by its owner and three thieves, from index ${startIndex}`, () =>
      Effect.gen(function* () {
        const n = 100_000
        const s = shared({ procs: 4, machines: 4, startIndex })
        const pool = yield* rawPool({ procs: 4 })
        const cells = newCells()
        const taken = new Int32Array(new SharedArrayBuffer(4 * (n + 1)))
        const faults = yield* Effect.all(
          [
            pool.run(rings.owns(s.mem, cells, taken, n, 4)),
            ...[1, 2, 3].map((p) => pool.run(rings.thieves(s.mem, cells, taken, p, 4))),
          ],
          { concurrency: "unbounded" },
        )
        expect(faults).toEqual([undefined, "", "", ""])
        const wrong = []
        for (let i = 1; i <= n; i++) if (taken[i] !== 1) wrong.push([i, taken[i]])
        expect(wrong.slice(0, 10)).toEqual([])
      }))
  }

  it.scopedLive("a queue never looks empty while something moves through it", () =>
    Effect.gen(function* () {
      const s = shared({})
      const pool = yield* rawPool({ procs: 2 })
      const cells = newCells()
      const [, wrong] = yield* Effect.all(
        [pool.run(rings.moves(s.mem, cells, 100_000)), pool.run(rings.watches(s.mem, cells))],
        { concurrency: "unbounded" },
      )
      expect(wrong).toBe(0)
    }))

  it.scopedLive("256 Gs on one queue give work to every P, by halves", () =>
    Effect.gen(function* () {
      const pool = yield* rawPool({ procs: 4 })
      yield* onEvery(pool, install)
      const who = new Int32Array(new SharedArrayBuffer(4 * 16))
      // Its children wait for each other, four at a time: all Ps must take part, or none gets on.
      expect(yield* pool.run(fanOutOf(who, 256, 4))).toBe(256)
      expect(Array.from(who.slice(0, 4)).filter((n) => n === 0)).toEqual([])
      expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
    }))
})
