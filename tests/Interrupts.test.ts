import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Random } from "effect"
import process from "node:process"
import { Pool } from "../mod.ts"
import { ACQUIRED, awaits, heeds, holds, nests, RELEASED, spins } from "./fixtures/storm/tasks.ts"

/** Storms for each pool; 200 for a thorough run. */
const SEEDS = Number(process.env.RUNON_STORMS ?? 4)
const CALLS = 250

const kinds = [spins, heeds, holds, nests, awaits]

/** One call, interrupted at a random moment, or not. */
const struck = (cells: Int32Array) =>
  Effect.gen(function* () {
    const task = kinds[yield* Random.nextIntBetween(0, kinds.length)]
    const fiber = yield* Effect.forkDaemon(task(cells, yield* Random.nextIntBetween(0, 20)))
    const moment = yield* Random.nextIntBetween(0, 10)
    for (let i = 0; i < moment && moment < 4; i++) yield* Effect.yieldNow()
    if (moment >= 4) yield* Effect.sleep(yield* Random.nextIntBetween(0, 30))
    return moment === 9 ? yield* Fiber.await(fiber) : yield* Fiber.interrupt(fiber)
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
    const cells = new Int32Array(new SharedArrayBuffer(8))
    const exits = yield* Effect.all(Array.from({ length: CALLS }, () => struck(cells)), { concurrency: 50 })
    for (const exit of exits) {
      // Whatever else a call ended with would be no answer to its interruption.
      if (Exit.isFailure(exit)) expect(Exit.isInterrupted(exit), `seed ${seed}: ${exit.cause}`).toBe(true)
    }
    expect(cells[RELEASED], `seed ${seed}`).toBe(cells[ACQUIRED])
    yield* empties
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
