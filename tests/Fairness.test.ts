import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Pool, runOn } from "../mod.ts"
import {
  asyncMeeting,
  breeds,
  counted,
  effectMeeting,
  generatorMeeting,
  goOn,
  hogs,
  longUntil,
  mixes,
  pairs,
  short,
  sleeps,
  sleepsBelow,
  sleepsByTurns,
  sleepsToo,
  takesTurn,
  ticks,
  toldTwice,
  whirls,
} from "./fixtures/fairness/tasks.ts"
import { threadCount } from "./support/threads.ts"

const cells = (n: number) => new Int32Array(new SharedArrayBuffer(4 * n))

describe("Fairness", () => {
  it.live("pairs that hand a value to and fro, a timer and Gs that compute all get on", () =>
    Effect.gen(function* () {
      const going = new Int32Array(new SharedArrayBuffer(4))
      const turns = cells(100)
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
      yield* sleepsBelow(cells(2), 1, 1)
      const asleep = cells(2)
      const before = threadCount()
      // None ends before all sleep; some of them for others that wait for them.
      const direct = Array.from({ length: 9000 }, (_, i) => (i % 2 === 0 ? sleeps : sleepsToo)(asleep, 1000, 10_000))
      const below = Array.from({ length: 500 }, () => sleepsBelow(asleep, 1000, 10_000))
      yield* Pool.all([...direct, ...below], { discard: true })
      expect(Atomics.load(asleep, 1)).toBe(10_000)
      expect(Atomics.load(asleep, 0)).toBe(0)
      // A runtime may start another thread of its own, for its garbage collector say.
      expect((threadCount() ?? 0) - (before ?? 0)).toBeLessThan(8)
    }).pipe(Effect.provide(Pool.layer({ procs: 2 }))), 60_000)

  it.live("runOn has never more calls in progress than workers, also if they wait", () =>
    Effect.gen(function* () {
      for (const sleep of [sleeps, sleepsToo, sleepsByTurns]) {
        const asleep = cells(2)
        // Three must be in progress at once before any of them ends, and there are never more.
        yield* runOn(3, Array.from({ length: 60 }, () => sleep(asleep, 2, 3)))
        expect(Array.from(asleep)).toEqual([0, 3])
      }
    }), 60_000)

  it.live("no machine idles while a call waits for one, whatever kind of task made it", () =>
    Effect.gen(function* () {
      for (const meeting of [asyncMeeting, effectMeeting, generatorMeeting]) yield* meeting(3, 30)
    }).pipe(Effect.provide(Pool.layer({ procs: 3 }))), 120_000)

  it.live(
    "a caller whose calls have ended goes on before a call that has not begun, whatever kind of task it is",
    () =>
      Effect.gen(function* () {
        for (const caller of Object.values(goOn)) {
          const turns = cells(3)
          yield* Pool.all([caller(turns, 1), takesTurn(turns, 2)])
          yield* Pool.all([caller(turns, 1), takesTurn(turns, 2)]) // its modules are loaded now
          expect([...turns]).toEqual([4, 2, 3])
        }
      }).pipe(Effect.provide(Pool.layer({ procs: 1 }))),
    60_000,
  )

  it.live("no call waits behind a long one while a machine is free, whoever makes it", () =>
    Effect.gen(function* () {
      const machines = 10
      const items = Array.from({ length: 200 }, (_, i) => i)
      for (const callsMixed of [undefined, mixes.async, mixes.effect, mixes.generator]) {
        for (let round = 0; round < 5; round++) {
          // All machines but one are held until every short call has ended.
          const long = new Set(items.filter((i) => (i + round) % 20 === 7).slice(0, machines - 1))
          const shorts = items.length - long.size
          const ended = cells(1)
          if (callsMixed !== undefined) yield* callsMixed(items.map((i) => long.has(i)), ended, shorts)
          else yield* Pool.forEach(items, (i) => long.has(i) ? longUntil(ended, shorts) : short(ended))
          expect(Atomics.load(ended, 0)).toBe(shorts)
        }
      }
    }).pipe(Effect.provide(Pool.layer({ procs: 10 }))), 120_000)

  for (const yields of [true, false]) {
    it.live(
      `an Effect that computes for ever ${yields ? "and yields" : "without yielding"} lets a timer ring`,
      () =>
        Effect.gen(function* () {
          const ended = cells(1)
          const beats = cells(1)
          const whirling = yield* Effect.fork(Pool.forEach([0, 1, 2], () => whirls(ended, yields)))
          const ticking = yield* Effect.fork(ticks(ended, beats))
          while (Atomics.load(beats, 0) < 5) yield* Effect.sleep(5)
          Atomics.store(ended, 0, 1)
          yield* Fiber.join(ticking)
          expect((yield* Fiber.join(whirling)).every((n) => n > 0)).toBe(true)
        }).pipe(Effect.provide(Pool.layer({ procs: 1 }))),
      60_000,
    )
  }

  it.live(
    "all machines go to sleep when there is nothing to do, however the last ends were told",
    () =>
      Effect.gen(function* () {
        for (let round = 0; round < 10; round++) {
          yield* toldTwice(cells(1), 200)
          for (let looks = 0; (yield* Pool.stats).idle < 2; looks++) {
            if (looks === 2000) throw new Error(`a machine is awake for nothing in round ${round}`)
            yield* Effect.sleep(2)
          }
        }
      }).pipe(Effect.provide(Pool.layer({ procs: 2 }))),
    120_000,
  )
})
