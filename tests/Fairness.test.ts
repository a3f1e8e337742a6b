import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Pool, runOn } from "../mod.ts"
import { breeds, counted, hogs, pairs, sleeps, ticks } from "./fixtures/fairness/tasks.ts"
import { threadCount } from "./support/threads.ts"

const cells = (n: number) => new Int32Array(new SharedArrayBuffer(4 * n))

describe("Fairness", () => {
  it.live("pairs that hand a value to and fro, a timer and Gs that compute all get on", () =>
    Effect.gen(function* () {
      const going = new Int32Array(new SharedArrayBuffer(4))
      const turns = cells(40)
      const beats = cells(1)
      // More Gs that compute than machines, for as long as the others need.
      const computing = yield* Effect.fork(Pool.forEach([0, 1, 2, 3], () => hogs(going)))
      const beating = yield* Effect.fork(ticks(going, beats))
      yield* pairs(turns, 5)
      while (Atomics.load(beats, 0) < 5) yield* Effect.sleep(5)
      Atomics.store(going, 0, 1)
      yield* Fiber.join(beating)
      const runs = yield* Fiber.join(computing)
      expect(Array.from(turns)).toEqual(Array.from(turns, () => 5))
      expect(runs.every((n) => n > 0)).toBe(true)
    }).pipe(Effect.provide(Pool.layer({ procs: 2 }))), 120_000)

  it.live("one that calls itself again for ever does not keep others from their turn", () =>
    Effect.gen(function* () {
      const going = cells(2)
      yield* breeds(going)
      for (let i = 0; i < 20; i++) expect(yield* counted(going, i)).toBe(i)
      expect(Atomics.load(going, 1)).toBeGreaterThan(0)
      Atomics.store(going, 0, 1)
    }).pipe(Effect.provide(Pool.layer({ procs: 1 }))), 60_000)

  it.live("ten thousand sleep at once on two machines, with no thread more", () =>
    Effect.gen(function* () {
      yield* sleeps(cells(2), 1)
      const asleep = cells(2)
      const before = threadCount()
      const all = yield* Effect.fork(Pool.forEach(Array.from({ length: 10_000 }), () => sleeps(asleep, 1000)))
      yield* Fiber.join(all)
      // The most that slept at once: all of them, unless to start them took longer than a second.
      expect(Atomics.load(asleep, 1)).toBeGreaterThan(2000)
      // A runtime may start another thread of its own, for its garbage collector say.
      expect((threadCount() ?? 0) - (before ?? 0)).toBeLessThan(8)
    }).pipe(Effect.provide(Pool.layer({ procs: 2 }))), 60_000)

  it.live("runOn has never more calls in progress than workers, also if they wait", () =>
    Effect.gen(function* () {
      const asleep = cells(2)
      yield* runOn(3, Array.from({ length: 60 }, () => sleeps(asleep, 5)))
      expect(Atomics.load(asleep, 1)).toBeLessThanOrEqual(3)
      expect(Atomics.load(asleep, 0)).toBe(0)
    }), 60_000)
})
