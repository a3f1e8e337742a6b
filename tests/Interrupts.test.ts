import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Random } from "effect"
import process from "node:process"
import { Pool } from "../mod.ts"
import { ACQUIRED, awaits, heeds, holds, nests, RELEASED, spins } from "./fixtures/storm/tasks.ts"
import { add } from "./fixtures/tasks/basic.ts"

/** Storms for each pool; 200 for a thorough run. */
const SEEDS = Number(process.env.RUNON_STORMS ?? 14)
const CALLS = 250

/** Tasks, and how often each acquires: once itself, and once for each call that it makes. */
const kinds = [[spins, 1], [heeds, 1], [holds, 1], [nests, 4], [awaits, 3]] as const

/** One call, interrupted at a random moment, or not. */
const struck = (seed: number, cells: Int32Array) =>
  Effect.gen(function* () {
    const [task, most] = kinds[yield* Random.nextIntBetween(0, kinds.length)]
    const fiber = yield* Effect.forkDaemon(task(cells, yield* Random.nextIntBetween(0, 20)))
    const moment = yield* Random.nextIntBetween(0, 10)
    for (let i = 0; i < moment && moment < 4; i++) yield* Effect.yieldNow()
    if (moment >= 4) yield* Effect.sleep(yield* Random.nextIntBetween(0, 30))
    const exit = yield* (moment === 9 ? Fiber.await(fiber) : Fiber.interrupt(fiber))
    // Whatever else a call ended with would be no answer to its interruption.
    if (Exit.isFailure(exit)) expect(Exit.isInterrupted(exit), `seed ${seed}: ${exit.cause}`).toBe(true)
    // By the time that its fiber has ended, it has cleaned up, once, and so have the calls it made.
    const acquired = Atomics.load(cells, ACQUIRED)
    expect(Atomics.load(cells, RELEASED), `seed ${seed}, ${task.task}`).toBe(acquired)
    expect(acquired, `seed ${seed}, ${task.task}`).toBeLessThanOrEqual(most)
    if (Exit.isSuccess(exit)) expect(acquired, `seed ${seed}, ${task.task}`).toBe(most)
  })

/** Waits until the pool is empty: records of children are given back by the machines. */
const empties = Effect.gen(function* () {
  for (;;) {
    const { inFlight, records } = yield* Pool.stats
    if (records === 0 && inFlight === 0) return
    yield* Effect.sleep(1)
  }
}).pipe(Effect.timeout("20 seconds"))

const storm = (seed: number) =>
  Effect.gen(function* () {
    const cells = new Int32Array(new SharedArrayBuffer(8 * CALLS))
    const calls = Array.from({ length: CALLS }, (_, i) => struck(seed, cells.subarray(2 * i, 2 * i + 2)))
    yield* Effect.all(calls, { concurrency: 50 })
    yield* empties.pipe(Effect.orDieWith(() => new Error(`seed ${seed}: records are left`)))
    // What was interrupted may come to an end of its own later, but must change nothing.
    const then = Array.from(cells)
    expect(yield* Pool.forEach([1, 2, 3, 4], (n) => add(n, seed))).toEqual([1, 2, 3, 4].map((n) => n + seed))
    expect(Array.from(cells), `seed ${seed}`).toEqual(then)
  }).pipe(Effect.withRandom(Random.make(seed)))

describe("A storm of interruptions", () => {
  for (const options of [{ procs: 1 }, { procs: 2 }, { procs: 2, capacity: 32 }]) {
    it.live(
      `leaves nothing behind, and runs each finalizer once, with ${JSON.stringify(options)}`,
      () =>
        Effect.gen(function* () {
          for (let seed = 1; seed <= SEEDS; seed++) yield* storm(seed)
        }).pipe(Effect.provide(Pool.layer(options))),
      60_000 + SEEDS * 10_000,
    )
  }
})
