import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { type DeterministicOptions, Pool, TaskFailed } from "../mod.ts"
import { fail, fib, grow, increment, later } from "./fixtures/tasks/plain.ts"

const items = Array.from({ length: 300 }, (_, i) => i)

/** The order in which calls ended, and what the scheduler counted meanwhile. */
const history = (options: DeterministicOptions) =>
  Effect.gen(function* () {
    const order: Array<number> = []
    const calls = items.map((i) => Effect.tap(increment(i), () => Effect.sync(() => order.push(i))))
    yield* Effect.all([...calls, Effect.asVoid(fib(12))], { concurrency: "unbounded", discard: true })
    const { ps } = yield* Pool.stats
    return { order, counters: ps.map((p) => p.counters) }
  }).pipe(Effect.provide(Pool.layerDeterministic(options)))

describe("Pool.layerDeterministic", () => {
  it.live("runs calls in the order of their submission by default", () =>
    Effect.gen(function* () {
      expect((yield* history({})).order).toEqual(items)
    }))

  it.live("does everything in the same order for the same seed, and in another for another", () =>
    Effect.gen(function* () {
      const orders = new Set<string>()
      for (let seed = 1; seed <= 20; seed++) {
        const first = yield* history({ procs: 3, seed })
        expect(yield* history({ procs: 3, seed })).toEqual(first)
        expect([...first.order].sort((a, b) => a - b)).toEqual(items)
        orders.add(first.order.join())
      }
      expect(orders.size).toBeGreaterThan(10)
    }))

  it.live("runs what real machines run: children, async tasks, copies, failures", () =>
    Effect.gen(function* () {
      expect(yield* fib(15)).toBe(610)
      expect(yield* Pool.forEach(items, (i) => later(i))).toEqual(items)
      const list = [5]
      expect(yield* grow(list)).toEqual([5, 1])
      expect(list).toEqual([5])
      const error = yield* Effect.flip(fail())
      expect(error).toBeInstanceOf(TaskFailed)
      expect((error as TaskFailed).error).toBeInstanceOf(RangeError)
      const { inFlight, records } = yield* Pool.stats
      expect({ inFlight, records }).toEqual({ inFlight: 0, records: 0 })
    }).pipe(Effect.provide(Pool.layerDeterministic({ procs: 2, seed: 7 }))))
})
