import { describe, expect, it, layer } from "@effect/vitest"
import { Cause, Effect, Exit, Random } from "effect"
import process from "node:process"
import { MachineExited, Pool, TaskFailed } from "../mod.ts"
import { hostOf } from "../src/internal/poolHost.ts"
import { ACQUIRED, add, callers, holderKinds, kinds, newCells, RELEASED, waiters } from "./fixtures/deaths/tasks.ts"
import { NOTHING_LEFT, settledIn } from "./fixtures/tasks/pools.ts"
import * as storm from "./fixtures/storm/tasks.ts"
import { currentRuntime } from "./support/run.ts"

/** How often each is tried; 200 for a thorough run. */
const ROUNDS = Number(process.env.RUNON_DEATHS ?? 1)

const ways = currentRuntime === "deno" ? ["process.exit", "self.close"] : ["process.exit"]

/** Nothing is left of what ran, and the pool works with all its machines. */
const recovers = Effect.gen(function* () {
  const pool = yield* Pool
  expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
  while (!hostOf(pool).atFullStrength) yield* Effect.sleep(1)
  expect(yield* Pool.forEach([1, 2, 3, 4], (i) => add(i, i))).toEqual([2, 4, 6, 8])
})

/** Waits until as many have released as have acquired; a bound for those that never will. */
const released = (cells: Int32Array) =>
  Effect.gen(function* () {
    while (Atomics.load(cells, RELEASED) < Atomics.load(cells, ACQUIRED)) yield* Effect.sleep(1)
  }).pipe(Effect.timeout("20 seconds"), Effect.ignore)

/** Whether a call failed because a machine ended: its own, or that of something it had called. */
const isDeath = (error: unknown): boolean =>
  error instanceof MachineExited || (error instanceof TaskFailed && isDeath(error.error))

const timeout = 60_000 + ROUNDS * 5000

describe("When a machine ends", () => {
  layer(Pool.layer({ procs: 2 }), { excludeTestServices: true, timeout: 60_000 })((it) => {
    for (const [caller, call] of Object.entries(callers)) {
      for (const kind of kinds) {
        for (const way of ways) {
          it.effect(
            `by ${way} in a call of ${kind} task, its ${caller} caller on another machine sees it and goes on`,
            () =>
              Effect.gen(function* () {
                for (let i = 0; i < ROUNDS; i++) {
                  const { ends, sum } = yield* call(kind, newCells(), way)
                  expect(sum).toBe(3)
                  // One at least. Others of the six may have been in progress on that machine.
                  expect(ends.filter((end) => end === "MachineExited").length).toBeGreaterThan(0)
                  expect(ends.filter((end) => end !== "MachineExited" && end !== "survived")).toEqual([])
                  yield* recovers
                }
              }),
            timeout,
          )
        }
      }
    }

    for (const [waiter, call] of Object.entries(waiters)) {
      for (const kind of holderKinds) {
        for (const way of ways) {
          it.effect(
            `by ${way} under an ${waiter} task that waits, the ${kind} tasks it waits for are interrupted elsewhere`,
            () =>
              Effect.gen(function* () {
                for (let i = 0; i < ROUNDS; i++) {
                  const cells = newCells()
                  const error = yield* Effect.flip(call(kind, cells, way))
                  expect(error).toBeInstanceOf(MachineExited)
                  yield* released(cells)
                  yield* recovers
                  expect(cells[ACQUIRED]).toBeGreaterThan(0)
                  expect(cells[RELEASED]).toBe(cells[ACQUIRED])
                }
              }),
            timeout,
          )
        }
      }
    }
  })

  // Deno cannot end a busy thread.
  it.live.skipIf(currentRuntime === "deno")(
    "by force, in the midst of calls within calls, every call ends once and nothing is left",
    () =>
      Effect.gen(function* () {
        const host = hostOf(yield* Pool)
        const tasks = [storm.spins, storm.heeds, storm.holds, storm.nests, storm.awaits]
        for (let seed = 1; seed <= Math.max(2, ROUNDS); seed++) {
          const cells = new Int32Array(new SharedArrayBuffer(8))
          const random = Random.make(seed)
          const deaths = host.deaths
          let ends = 0
          const calling = Effect.forEach(
            Array.from({ length: 300 }),
            () =>
              Effect.gen(function* () {
                const task = tasks[yield* Random.nextIntBetween(0, tasks.length)]
                const exit = yield* Effect.exit(task(cells, yield* Random.nextIntBetween(0, 20)))
                ends++
                if (Exit.isSuccess(exit)) return
                const failures = [...Cause.failures(exit.cause)]
                expect(failures.length, `seed ${seed}: ${exit.cause}`).toBeGreaterThan(0)
                expect(failures.filter((error) => !isDeath(error)), `seed ${seed}`).toEqual([])
                expect([...Cause.defects(exit.cause)], `seed ${seed}`).toEqual([])
              }),
            { concurrency: 60, discard: true },
          )
          const killing = Effect.gen(function* () {
            for (let i = 1; i <= 2; i++) {
              yield* Effect.sleep(yield* Random.nextIntBetween(1, 20))
              host.kill(yield* Random.nextIntBetween(0, 2))
              while (host.deaths < deaths + i || !host.atFullStrength) yield* Effect.sleep(1)
            }
          })
          yield* Effect.all([calling, killing], { concurrency: 2 }).pipe(Effect.withRandom(random))
          expect(ends, `seed ${seed}`).toBe(300)
          yield* recovers
        }
      }).pipe(Effect.provide(Pool.layer({ procs: 2 }))),
    timeout,
  )
})
