import { describe, expect, it, layer } from "@effect/vitest"
import { Cause, Deferred, Effect, Either, Exit, Fiber, Option } from "effect"
import { type Call, Pool, type PoolService, type TaskError } from "../src/index.ts"
import { hostOf } from "../src/internal/poolHost.ts"
import * as tasks from "./fixtures/tasks/basic.ts"
import { NOTHING_LEFT, rawPool, settledIn } from "./fixtures/tasks/pools.ts"

const { add, counted, ENDED, fails, gated, gatedAsync, identity, later, meet, MOST, newCells, open, reached } = tasks
const { checkpointOnceOpen, rejects, STARTED, untilCancelled } = tasks

const failureOf = <A, E>(exit: Exit.Exit<A, E>): E => {
  if (Exit.isSuccess(exit)) throw new Error(`it succeeded with ${String(exit.value)}`)
  return Option.getOrThrowWith(Cause.failureOption(exit.cause), () => new Error(Cause.pretty(exit.cause)))
}

const range = (n: number): Array<number> => Array.from({ length: n }, (_, i) => i)

describe("A pool", () => {
  // One pool for all: what one test leaves behind, the next ones meet.
  layer(Pool.layer({ procs: 2, capacity: 100_000 }), { excludeTestServices: true })((it) => {
    const unspoiled = Effect.flatMap(Pool, settledIn).pipe(
      Effect.map((left) => expect(left).toEqual(NOTHING_LEFT)),
    )

    it.effect("runs a call as an Effect, any number of times", () =>
      Effect.gen(function* () {
        const call = add(1, 2)
        expect(yield* call).toBe(3)
        expect(yield* call).toBe(3)
        expect(yield* Effect.all([call, later("x"), identity(null)], { concurrency: "unbounded" })).toEqual([
          3,
          "x",
          null,
        ])
        expect(yield* (yield* Pool).run(call)).toBe(3)
        yield* unspoiled
      }))

    it.effect("gives each of 66,000 calls in flight its own value", () =>
      Effect.gen(function* () {
        const items = range(66_000)
        expect(yield* Pool.forEach(items, (i) => add(i, 1))).toEqual(items.map((i) => i + 1))
        yield* unspoiled
      }))

    it.effect("reads arguments when a call is submitted, and copies them", () =>
      Effect.gen(function* () {
        const value = { list: [1] }
        const call = identity(value)
        value.list.push(2)
        const result = yield* call
        expect(result).toEqual({ list: [1, 2] })
        expect(result).not.toBe(value)
      }))

    it.effect("asks for the calls of a bulk in order, once each, with their index", () =>
      Effect.gen(function* () {
        const asked: Array<[string, number]> = []
        const results = yield* Pool.forEach(new Set(["a", "b", "c"]), (item, i) => {
          asked.push([item, i])
          return identity(item + i)
        })
        expect(results).toEqual(["a0", "b1", "c2"])
        expect(asked).toEqual([["a", 0], ["b", 1], ["c", 2]])
        expect(yield* Pool.forEach([], () => add(1, 1))).toEqual([])
      }))

    it.effect("takes all as a tuple, a record or an iterable", () =>
      Effect.gen(function* () {
        expect(yield* Pool.all([add(1, 2), identity("x")])).toEqual([3, "x"])
        expect(yield* Pool.all({ a: add(1, 2), b: identity("x") })).toEqual({ a: 3, b: "x" })
        expect(yield* Pool.all(new Set([add(1, 2)]))).toEqual([3])
        expect(yield* Pool.all([])).toEqual([])
        expect(yield* Pool.all([add(1, 2)], { discard: true })).toBeUndefined()
      }))

    it.effect("keeps to the concurrency of a bulk", () =>
      Effect.gen(function* () {
        const cells = newCells()
        yield* Pool.forEach(range(50), () => counted(cells, 4), { concurrency: 4, discard: true })
        expect([cells[MOST], cells[ENDED]]).toEqual([4, 50])
        yield* unspoiled
      }))

    it.effect("goes on after calls that could not be sent, one at a time", () =>
      Effect.gen(function* () {
        const bad = identity(() => {})
        const calls = [bad, add(1, 2), bad, bad, add(3, 4)]
        const outcomes: Array<Either.Either<unknown, TaskError>> = yield* Pool.all(calls, {
          concurrency: 1,
          mode: "either",
        })
        expect(outcomes.map((o) => Either.isRight(o) ? o.right : o.left._tag)).toEqual([
          "NotSerializable",
          3,
          "NotSerializable",
          "NotSerializable",
          7,
        ])
        yield* unspoiled
      }))

    it.effect("fails a bulk with its first failure, and cancels what has not started", () =>
      Effect.gen(function* () {
        const cells = newCells()
        const calls: Array<Call<unknown>> = [fails("first"), ...range(5000).map(() => untilCancelled(cells))]
        expect(failureOf(yield* Effect.exit(Pool.all(calls)))).toMatchObject({ _tag: "TaskFailed", task: "fails" })
        expect(cells[STARTED]).toBeLessThan(5000)
        expect(cells[ENDED]).toBe(cells[STARTED])
        yield* unspoiled
      }))

    it.effect("dies of an error in the function that makes the calls, and ends those it had made", () =>
      Effect.gen(function* () {
        const cells = newCells()
        const defect = new Error("no call for this one")
        const exit = yield* Effect.exit(Pool.forEach(range(10), (i) => {
          if (i === 5) throw defect
          return untilCancelled(cells)
        }))
        expect(Exit.isFailure(exit) && Option.getOrNull(Cause.dieOption(exit.cause))).toBe(defect)
        expect(cells[ENDED]).toBe(cells[STARTED])
        const notCalls = yield* Effect.exit(Pool.forEach([1], () => 1 as never))
        expect(Exit.isFailure(notCalls) && Cause.pretty(notCalls.cause)).toContain("item 0 is not a call")
        yield* unspoiled
      }))

    it.effect("ends a bulk that is interrupted", () =>
      Effect.gen(function* () {
        const cells = newCells()
        const fiber = yield* Effect.fork(Pool.forEach(range(100_000), () => untilCancelled(cells)))
        yield* Effect.promise(() => reached(cells, STARTED, 2))
        const exit = yield* Fiber.interrupt(fiber)
        expect(Exit.isInterrupted(exit)).toBe(true)
        expect(cells[ENDED]).toBe(cells[STARTED])
        yield* unspoiled
      }))

    it.effect("never starts a call that was interrupted while it was queued", () =>
      Effect.gen(function* () {
        const cells = newCells()
        const busy = yield* Effect.fork(Pool.forEach([1, 2], () => gated(cells, 0)))
        yield* Effect.promise(() => reached(cells, STARTED, 2))
        const queued = newCells()
        const one = yield* Effect.fork(gated(queued, 1))
        const two = yield* Effect.fork(gated(queued, 2))
        const three = yield* Effect.fork(add(3, 3))
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(two)
        yield* Fiber.interrupt(one)
        open(cells)
        expect(yield* Fiber.join(three)).toBe(6)
        yield* Fiber.join(busy)
        expect(queued[STARTED]).toBe(0)
        yield* unspoiled
      }))

    it.effect("leaves the neighbours of an interrupted call alone", () =>
      Effect.gen(function* () {
        const cells = newCells()
        const fibers = yield* Effect.forEach(range(3), (i) => Effect.fork(gatedAsync(cells, i)))
        yield* Effect.promise(() => reached(cells, STARTED, 3))
        yield* Fiber.interrupt(fibers[1])
        open(cells)
        expect(yield* Fiber.join(fibers[0])).toBe(0)
        expect(yield* Fiber.join(fibers[2])).toBe(2)
        // The late result of the interrupted one finds nobody: least of all one of these.
        expect(yield* Pool.forEach(range(100), (i) => identity(`fresh ${i}`))).toEqual(
          range(100).map((i) => `fresh ${i}`),
        )
        yield* Effect.promise(() => reached(cells, ENDED, 3))
        yield* unspoiled
      }))

    it.effect("handles the rejection of an async call whose caller is gone", () =>
      Effect.gen(function* () {
        for (let i = 0; i < 20; i++) {
          const fiber = yield* Effect.fork(rejects("nobody listens"))
          yield* Effect.yieldNow()
          yield* Fiber.interrupt(fiber)
        }
        expect(yield* later("still here")).toBe("still here")
        yield* unspoiled
      }))

    it.effect("ends a call that is interrupted while the memory it refers to is under way", () =>
      Effect.gen(function* () {
        for (let i = 0; i < 300; i++) {
          // A new buffer each time, which the machines learn of by a message that races with the call.
          const fiber = yield* Effect.fork(gatedAsync(newCells(), i))
          for (let turns = i % 7; turns > 0; turns--) yield* Effect.yieldNow()
          if (i % 3 > 0) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
          expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
        }
        yield* unspoiled
      }))

    it.effect("lets others go on beside a call that waits", () =>
      Effect.gen(function* () {
        const cells = newCells()
        const waiting = yield* Effect.fork(Pool.forEach(range(1000), (i) => gatedAsync(cells, i)))
        yield* Effect.promise(() => reached(cells, STARTED, 1000))
        expect(yield* Pool.forEach(range(100), (i) => add(i, 0))).toEqual(range(100))
        open(cells)
        expect(yield* Fiber.join(waiting)).toEqual(range(1000))
        yield* unspoiled
      }))

    it.effect("uses all its machines at once", () =>
      Effect.gen(function* () {
        const cells = newCells()
        yield* Pool.forEach([1, 2], () => meet(cells, 2))
        expect(cells[STARTED]).toBe(2)
      }))

    it.effect("tells its state", () =>
      Effect.gen(function* () {
        const cells = newCells()
        const fiber = yield* Effect.fork(Pool.forEach(range(10), (i) => gated(cells, i)))
        yield* Effect.promise(() => reached(cells, STARTED, 2))
        expect(yield* Pool.stats).toMatchObject({ inFlight: 10, records: 10 })
        open(cells)
        yield* Fiber.join(fiber)
        const { inFlight, ps, records } = yield* Pool.stats
        expect([inFlight, records, ps.length]).toEqual([0, 0, 2])
        expect(ps.reduce((sum, p) => sum + p.counters.ticks, 0)).toBeGreaterThan(66_000)
      }))
  })
})

describe("A pool of one machine", () => {
  it.scopedLive("starts none of a bulk that is interrupted, though the one that runs ends at once", () =>
    Effect.gen(function* () {
      const pool = yield* rawPool({ procs: 1 })
      for (let round = 0; round < 20; round++) {
        const cells = newCells()
        // Calls that wait for a buffer which the machine has not met are queued again, behind others.
        yield* pool.run(identity(cells))
        const calls = (i: number) => i === 0 ? checkpointOnceOpen(cells) : gated(cells, i)
        const bulk = yield* Effect.fork(Pool.forEach(range(4000), calls).pipe(Effect.provideService(Pool, pool)))
        yield* Effect.promise(() => reached(cells, STARTED, 1))
        open(cells)
        expect(Exit.isInterrupted(yield* Fiber.interrupt(bulk))).toBe(true)
        expect(cells[STARTED]).toBe(1)
      }
      expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
    }))
})

describe("After its scope has closed, a pool", () => {
  it.live("refuses every call with PoolClosed, and starts nothing", () =>
    Effect.gen(function* () {
      const pool: PoolService = yield* Effect.scoped(Pool.make({ procs: 1 }))
      const closed = { _tag: "PoolClosed", task: "add" }
      expect(failureOf(yield* Effect.exit(pool.run(add(1, 2))))).toMatchObject(closed)
      const calls = Effect.provideService(Pool.all([add(1, 2), add(3, 4)], { mode: "validate" }), Pool, pool)
      const errors = failureOf(yield* Effect.exit(calls))
      expect(errors.map(Option.getOrNull)).toMatchObject([closed, closed])
      expect(yield* pool.stats).toMatchObject({ inFlight: 0, records: 0 })
    }))

  it.live("has told all its callers how their calls ended", () =>
    Effect.gen(function* () {
      const cells = newCells()
      const ready = yield* Deferred.make<Fiber.RuntimeFiber<ReadonlyArray<Either.Either<unknown, TaskError>>>>()
      const pool = yield* Effect.scoped(Effect.gen(function* () {
        const pool = yield* Pool.make({ procs: 1 })
        const calls = [untilCancelled(cells), ...range(10).map((i) => add(i, 0))]
        const run = Pool.all(calls, { mode: "either" }).pipe(Effect.provideService(Pool, pool))
        yield* Deferred.succeed(ready, yield* Effect.forkDaemon(run))
        yield* Effect.promise(() => reached(cells, STARTED, 1))
        return pool
      }))
      const exit = yield* Fiber.await(yield* Deferred.await(ready))
      const outcomes = Exit.isSuccess(exit) ? exit.value : []
      expect(outcomes.slice(1).map((o) => Either.isLeft(o) && o.left._tag)).toEqual(range(10).map(() => "PoolClosed"))
      expect(cells[ENDED]).toBe(1)
      expect(yield* pool.stats).toMatchObject({ inFlight: 0, records: 0 })
    }))

  it.live("has told the caller of a batch with a limit, none of whose calls had started", () =>
    Effect.gen(function* () {
      for (let i = 0; i < 3; i++) {
        const fiber = yield* Effect.scoped(Effect.gen(function* () {
          const pool = yield* rawPool({ procs: 1 })
          const calls = range(3).map((i) => add(i, i))
          const run = Pool.all(calls, { concurrency: 1, mode: "either" }).pipe(Effect.provideService(Pool, pool))
          // Both at once: the machine sleeps, and takes longer to wake up than that.
          const fiber = Effect.runFork(run)
          void hostOf(pool).close()
          return fiber
        }))
        const outcomes = yield* Fiber.join(fiber)
        expect(outcomes.map((o) => Either.isLeft(o) ? o.left._tag : "ran").slice(1)).toEqual([
          "PoolClosed",
          "PoolClosed",
        ])
      }
    }))
})
