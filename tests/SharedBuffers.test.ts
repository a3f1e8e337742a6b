import { describe, expect, it, layer } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { Pool } from "../src/index.ts"
import { hostOf } from "../src/internal/poolHost.ts"
import { SLOTS } from "../src/internal/scheduler/mentions.ts"
import { NOTHING_LEFT, onEvery, settledIn } from "./fixtures/tasks/pools.ts"
import { exits, reached } from "./fixtures/tasks/basic.ts"
import * as tasks from "./fixtures/tasks/shared.ts"

const { addsUpElsewhere, addUp, blocks, givesSaved, increments, known, makes, saves, spawns, throwsOne, view } = tasks
const { makesLarge, makesMany, relays } = tasks

const range = (n: number): Array<number> => Array.from({ length: n }, (_, i) => i)

/** Sends so many buffers, each once. */
const churn = (n: number) =>
  Effect.gen(function* () {
    const sums = yield* Pool.forEach(range(n), (i) => addUp(view(2, i)), { concurrency: 50 })
    expect(sums).toEqual(range(n).map((i) => 2 * i))
  })

/** The most buffers that a thread of the pool knows, when all have heard what is to be forgotten. */
const mostKnown = (below: number) =>
  Effect.gen(function* () {
    const pool = yield* Pool
    for (let tries = 0;; tries++) {
      const counts = [hostOf(pool).shared.size, ...(yield* onEvery(pool, known)) as Array<number>]
      const most = Math.max(...counts)
      if (most < below || tries === 200) return most
      yield* Effect.sleep("10 millis")
    }
  })

describe("Shared buffers", () => {
  layer(Pool.layer({ procs: 2 }), { excludeTestServices: true })((it) => {
    it.effect("are forgotten by all threads when no call mentions them, whoever made them", () =>
      Effect.gen(function* () {
        yield* churn(2000)
        const made = yield* Pool.forEach(range(2000), (i) => makes(2, i), { concurrency: 50 })
        expect(made.map((cells) => cells[1])).toEqual(range(2000))
        for (const i of range(2000)) {
          if (i % 4 === 0) expect(Exit.isFailure(yield* Effect.exit(throwsOne(view(1))))).toBe(true)
          else if (i % 4 === 1) yield* Effect.exit(addUp([view(1), () => {}] as never))
          else if (i % 4 === 2) expect(yield* addsUpElsewhere(view(4, i), i)).toBe(9 * i)
          else expect(yield* spawns(view(3, i), i)).toBe(8 * i)
        }
        // 10,000 have been sent.
        expect(yield* mostKnown(1000)).toBeLessThan(1000)
        expect(yield* settledIn(yield* Pool)).toEqual(NOTHING_LEFT)
      }))

    it.effect("are the same memory when they come again, after they were forgotten and before", () =>
      Effect.gen(function* () {
        const cells = view(1)
        for (const i of range(10)) {
          expect(yield* increments(cells)).toBe(2 * i)
          expect(yield* increments(cells)).toBe(2 * i + 1)
          yield* churn(300)
        }
        expect(cells[0]).toBe(20)
      }))

    it.effect("that a task keeps can be used when they have been forgotten", () =>
      Effect.gen(function* () {
        const cells = view(1)
        yield* saves(cells)
        yield* churn(2000)
        const kept = (yield* onEvery(yield* Pool, givesSaved)) as Array<Int32Array>
        cells[0] = 7
        const same = kept.filter((given) => given[0] === 7)
        // The other machine has something of its own.
        expect(same).toHaveLength(1)
        same[0][0] = 8
        expect(cells[0]).toBe(8)
      }))

    it.effect("arrive with a result of several, of which the first is the one too many", () =>
      Effect.gen(function* () {
        for (const _ of range(8)) {
          const [large, small] = yield* makesLarge(7e7)
          expect([large.byteLength, small.byteLength]).toEqual([7e7, 8])
          const many = yield* makesMany(300, 1)
          expect(many.map(([i]) => i)).toEqual(range(300))
          expect(yield* relays(300, 7e7)).toBe(302)
        }
        expect(yield* settledIn(yield* Pool)).toEqual(NOTHING_LEFT)
      }))

    it.effect("are forgotten though one machine is busy and has not heard of it", () =>
      Effect.gen(function* () {
        const pool = yield* Pool
        const gate = view(2)
        const busy = yield* Effect.fork(blocks(gate))
        yield* Effect.promise(() => reached(gate, 1, 1))
        yield* churn(SLOTS + 2000)
        // A buffer that was sent again before may have raised what is kept.
        expect(hostOf(pool).shared.size).toBeLessThan(SLOTS / 2)
        Atomics.store(gate, 0, 1)
        yield* busy.await
        yield* churn(1000)
        expect(yield* mostKnown(SLOTS / 2)).toBeLessThan(SLOTS / 2)
      }))

    it.effect("keep no call waiting behind a long one while a machine is free", () =>
      Effect.gen(function* () {
        for (const _ of range(20)) {
          const gate = view(2)
          const long = yield* Effect.fork(blocks(gate))
          yield* churn(60)
          Atomics.store(gate, 0, 1)
          expect(yield* long.await).toEqual(Exit.void)
        }
      }))

    it.effect("may be more at once than are counted", () =>
      Effect.gen(function* () {
        const pool = yield* Pool
        const gate = view(2)
        const gated = yield* Effect.forEach(range(2), () => Effect.fork(blocks(gate)))
        yield* Effect.promise(() => reached(gate, 1, 2))
        const n = SLOTS + 1000
        // As a batch they would not be sent so far ahead.
        const calls = range(n).map((i) => addUp(view(1, i)))
        const all = yield* Effect.fork(Effect.all(calls, { concurrency: "unbounded" }))
        while (hostOf(pool).shared.size < n) yield* Effect.sleep("5 millis")
        Atomics.store(gate, 0, 1)
        expect(yield* all.await).toEqual(Exit.succeed(range(n)))
        yield* Effect.forEach(gated, (fiber) => fiber.await)
        yield* churn(1000)
      }))
  })

  layer(Pool.layerDeterministic({ procs: 3, seed: 1 }), { excludeTestServices: true })(
    "on simulated machines",
    (it) => {
      it.effect("are forgotten as well", () =>
        Effect.gen(function* () {
          yield* churn(6000)
          expect(hostOf(yield* Pool).shared.size).toBeLessThan(1000)
        }))
    },
  )

  it.live("are not taken for those that a dead machine had made, though they are more than are counted", () =>
    Effect.gen(function* () {
      for (const tag of [1, 2, 3]) {
        const many = yield* makesMany(SLOTS + 500, tag)
        expect(many.filter((cells, i) => cells[0] !== i || cells[1] !== tag)).toEqual([])
        expect((yield* Effect.flip(exits("process.exit")))._tag).toBe("MachineExited")
      }
    }).pipe(Effect.provide(Pool.layer({ procs: 1 }))))

  it.live("survive machines that die", () =>
    Effect.gen(function* () {
      const host = hostOf(yield* Pool)
      const cells = view(4, 1)
      for (const i of range(6)) {
        const calls = yield* Effect.fork(
          Pool.all(range(400).map((j) => addsUpElsewhere(view(4, j), j)), { mode: "either" }),
        )
        yield* Effect.sleep(5 + 3 * i)
        host.kill(i % 2)
        for (const [j, outcome] of (yield* calls).entries()) {
          if (outcome._tag === "Right") expect(outcome.right).toBe(9 * j)
        }
        expect(yield* addUp(cells)).toBe(4)
      }
      expect(yield* mostKnown(4000)).toBeLessThan(4000)
    }).pipe(Effect.provide(Pool.layer({ procs: 2 }))))
})
