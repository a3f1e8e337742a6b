import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Option, type Scope } from "effect"
import process from "node:process"
import { Pool, type PoolError, type PoolOptions, type PoolService, runOn, type TaskError } from "../src/index.ts"
import { hostOf } from "../src/internal/poolHost.ts"
import { leavesOpen } from "./fixtures/cases/inner.ts"
import { everyWay, newGate } from "./fixtures/cases/kinds.ts"
import * as tasks from "./fixtures/tasks/basic.ts"
import { nextRandom } from "./fixtures/tasks/cells.ts"
import { leftIn, NOTHING_LEFT, settledIn } from "./fixtures/tasks/pools.ts"
import { currentRuntime } from "./support/run.ts"
import { threadCount, threadsBackTo } from "./support/threads.ts"

const {
  add,
  ENDED,
  exits,
  exitsLater,
  fails,
  gated,
  gatedAsync,
  identity,
  newCells,
  reached,
  STARTED,
  untilCancelled,
} = tasks

const ways = currentRuntime === "deno" ? ["process.exit", "self.close"] : ["process.exit"]

const failureOf = <A, E>(exit: Exit.Exit<A, E>): E => {
  if (Exit.isSuccess(exit)) throw new Error(`it succeeded with ${String(exit.value)}`)
  return Option.getOrThrowWith(Cause.failureOption(exit.cause), () => new Error(Cause.pretty(exit.cause)))
}

/** A call whose pool closed under it succeeded before, failed with `PoolClosed`, or was interrupted. */
const expectClosed = (exit: Exit.Exit<unknown, unknown>): void => {
  if (Exit.isSuccess(exit) || Exit.isInterrupted(exit)) return
  expect(failureOf(exit)).toMatchObject({ _tag: "PoolClosed" })
}

const strays: Array<unknown> = []
process.on("unhandledRejection", (reason) => strays.push(reason))

let warm = false

/** Runs a test and checks that it leaves no thread, and no rejection without a handler. */
const leavesNothing = <A, E>(test: Effect.Effect<A, E, Scope.Scope>): Effect.Effect<void, E | TaskError | PoolError> =>
  Effect.gen(function* () {
    // The runtime's own helpers start with the first workers.
    if (!warm) { for (let i = 0; i < 2; i++) yield* runOn(2, [add(1, 1), add(2, 2)]) }
    warm = true
    const before = threadCount()
    yield* Effect.scoped(test)
    if (before !== undefined) expect(yield* Effect.promise(() => threadsBackTo(before))).toBeLessThanOrEqual(before)
    yield* Effect.sleep(0)
    expect(strays).toEqual([])
  })

const used = <A, E>(
  options: PoolOptions,
  use: (pool: PoolService) => Effect.Effect<A, E, Scope.Scope | Pool>,
): Effect.Effect<A, E | PoolError> =>
  Effect.scoped(Effect.flatMap(Pool.make(options), (pool) => Effect.provideService(use(pool), Pool, pool)))

describe("No thread is left", () => {
  it.live("after success", () => leavesNothing(runOn(2, [add(1, 2), add(3, 4)])))

  it.live("after a failing task", () =>
    leavesNothing(Effect.gen(function* () {
      expect(failureOf(yield* Effect.exit(runOn(2, [fails("no"), add(1, 2)])))).toMatchObject({ _tag: "TaskFailed" })
    })))

  it.live("after a defect", () =>
    leavesNothing(Effect.gen(function* () {
      const cells = newCells()
      const exit = yield* Effect.exit(used({ procs: 2 }, () =>
        Pool.forEach([0, 1, 2, 3], (i) => {
          if (i === 3) throw new Error("no call")
          return untilCancelled(cells)
        })))
      expect(Exit.isFailure(exit) && Cause.isDie(exit.cause)).toBe(true)
      expect(cells[ENDED]).toBe(cells[STARTED])
    })))

  it.live("after an interruption in the middle", () =>
    leavesNothing(Effect.gen(function* () {
      const cells = newCells()
      const fiber = yield* Effect.fork(runOn(2, Array.from({ length: 100 }, () => untilCancelled(cells))))
      yield* Effect.promise(() => reached(cells, STARTED, 2))
      expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
      expect(cells[ENDED]).toBe(cells[STARTED])
    })))

  it.live("after an interruption while a task waits for its event loop", () =>
    leavesNothing(Effect.gen(function* () {
      const cells = newCells()
      const fiber = yield* Effect.fork(runOn(1, [gatedAsync(cells, 1), gatedAsync(cells, 2)]))
      yield* Effect.promise(() => reached(cells, STARTED, 1))
      expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
    })))

  it.live("after an interruption during the start, at any moment of it", () =>
    leavesNothing(Effect.gen(function* () {
      const start = performance.now()
      yield* runOn(1, [add(1, 2)])
      const whole = performance.now() - start
      const steps = 10
      for (let i = 0; i <= steps; i++) {
        const fiber = yield* Effect.fork(runOn(1, [add(1, 2)]))
        yield* Effect.sleep((whole * i) / steps)
        const exit = yield* Fiber.interrupt(fiber)
        if (Exit.isFailure(exit)) expect(Cause.isInterruptedOnly(exit.cause)).toBe(true)
      }
    })))

  it.live("after a start that takes too long", () =>
    leavesNothing(Effect.gen(function* () {
      const exit = yield* Effect.exit(used({ procs: 1, startTimeout: 1 }, () => add(1, 2)))
      expect(failureOf(exit)).toMatchObject({ _tag: "MachineStartFailed", machine: 0 })
      // Nobody looks at this one's start any more.
      for (let i = 0; i < 10; i++) {
        const fiber = yield* Effect.fork(used({ procs: 1, startTimeout: 1 }, () => Effect.void))
        yield* Fiber.interrupt(fiber)
      }
    })))

  for (const how of ways) {
    it.live(`after ${how} inside a task, whose neighbours go on`, () =>
      leavesNothing(used({ procs: 2 }, (pool) =>
        Effect.gen(function* () {
          for (const exit of [exits, exitsLater]) {
            const cells = newCells()
            const fiber = yield* Effect.fork(gated(cells, 5))
            yield* Effect.promise(() => reached(cells, STARTED, 1))
            const failed = yield* Effect.fork(Effect.exit(exit(how)))
            const queued = yield* Effect.fork(Pool.forEach([1, 2, 3], (i) => add(i, 0)))
            expect(failureOf(yield* Fiber.join(failed))).toMatchObject({ _tag: "MachineExited", task: exit("").task })
            tasks.open(cells)
            expect(yield* Fiber.join(fiber)).toBe(5)
            expect(yield* Fiber.join(queued)).toEqual([1, 2, 3])
          }
          // The machines that died were replaced: this needs all of them at once.
          const met = newCells()
          yield* Pool.forEach([1, 2], () => tasks.meet(met, 2))
          expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
        }))))
  }

  it.live("after tasks that leave pools of their own open", () =>
    leavesNothing(Effect.gen(function* () {
      for (const leaves of [leavesOpen.async, leavesOpen.effect]) {
        const cells = newCells()
        yield* runOn(1, [leaves(cells)])
        // What went on in there was asked to stop, and has.
        expect(cells[ENDED]).toBe(1)
      }
    })))

  it.live("when it is closed at once, twice, and by many", () =>
    leavesNothing(Effect.gen(function* () {
      yield* Effect.scoped(Pool.make({ procs: 2 }))
      yield* used({ procs: 1 }, (pool) =>
        Effect.gen(function* () {
          const closings = Array.from({ length: 3 }, () => Effect.promise(() => hostOf(pool).close()))
          expect(yield* Effect.all(closings, { concurrency: "unbounded" })).toEqual([[], [], []])
        }))
    })))

  it.live("when it is closed at random moments, with everything in flight", () =>
    leavesNothing(Effect.gen(function* () {
      for (let seed = 1; seed <= 15; seed++) {
        let random = seed
        const next = (n: number): number => (random = nextRandom(random)) % n
        const cells = newCells()
        const { fibers, pool } = yield* used({ procs: 1 + next(2), capacity: 64 }, (pool) =>
          Effect.gen(function* () {
            const calls = [
              () => Pool.forEach(Array.from({ length: next(500) }), (_, i) => add(i, 1)),
              () => untilCancelled(cells),
              () => gatedAsync(cells, 1),
              () => tasks.fib(next(18)),
              () => identity("x".repeat(next(10_000))),
              () => tasks.later("y"),
              // Tasks of all kinds, for tasks of all kinds that wait for them.
              () => everyWay[next(everyWay.length)].call("held", newGate(), 1),
              () => Pool.forEach(everyWay, ({ call }, i) => call("given", i)),
            ]
            const fibers: Array<Fiber.RuntimeFiber<unknown, unknown>> = []
            for (let i = 0; i < 12; i++) fibers.push(yield* Effect.forkDaemon(calls[next(calls.length)]()))
            yield* Effect.sleep(next(20))
            for (let i = 0; i < 6; i++) yield* Effect.forkDaemon(Fiber.interrupt(fibers[next(12)]))
            if (next(2) === 0) yield* Effect.sleep(next(5))
            return { fibers, pool }
          }))
        for (const fiber of fibers) expectClosed(yield* Fiber.await(fiber))
        expect(leftIn(pool), `seed ${seed}`).toMatchObject({ inFlight: 0 })
      }
    })))

  it.live("after many pools in a row, which leave memory as it was", () =>
    leavesNothing(Effect.gen(function* () {
      const calls = (i: number) => i % 50 === 0 ? everyWay.map(({ call }) => call("given", i)) : [add(i, 1), add(i, 2)]
      // On Deno, where the end of a thread is hardest to know. Elsewhere with this variable.
      const rounds = Number(process.env.RUNON_POOLS ?? (currentRuntime === "deno" ? 200 : 40)) / 2
      const open = Effect.forEach(Array(rounds).keys(), (i) => used({ procs: 1 }, () => Pool.all(calls(i))))
      yield* open
      const middle = process.memoryUsage().rss
      yield* open
      // Runtimes give memory back when they see fit, later beside others; a machine that is kept takes over 10 MB.
      expect((process.memoryUsage().rss - middle) / 2 ** 20 / rounds).toBeLessThan(5)
    })), 300_000)
})
