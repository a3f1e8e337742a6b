import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Either, Exit, Option } from "effect"
import { type Call, Pool, runOn, type TaskFailed } from "../src/index.ts"
import * as tasks from "./fixtures/tasks/basic.ts"
import { threadCount, threadsBackTo } from "./support/threads.ts"

const { add, counted, ENDED, fails, failsAfter, identity, later, MOST, newCells, STARTED, untilCancelled } = tasks

const failureOf = <A, E>(exit: Exit.Exit<A, E>): E => {
  if (Exit.isSuccess(exit)) throw new Error(`it succeeded with ${String(exit.value)}`)
  return Option.getOrThrowWith(Cause.failureOption(exit.cause), () => new Error(Cause.pretty(exit.cause)))
}

describe("runOn", () => {
  it.live("gives results in the order of the calls", () =>
    Effect.gen(function* () {
      const calls = Array.from({ length: 50 }, (_, i) => i % 3 === 0 ? later(i) : identity(i))
      expect(yield* runOn(2, calls)).toEqual(Array.from({ length: 50 }, (_, i) => i))
    }))

  it.live("starts nothing for an empty list, of whatever shape", () =>
    Effect.gen(function* () {
      const before = threadCount()
      expect(yield* runOn(2, [])).toEqual([])
      expect(yield* runOn(2, new Set<Call<number>>())).toEqual([])
      expect(yield* runOn(2, {})).toEqual({})
      expect(yield* runOn(2, [], { mode: "either" })).toEqual([])
      expect(yield* runOn(2, [], { discard: true })).toBeUndefined()
      expect(threadCount() ?? 0).toBeLessThanOrEqual(before ?? 0)
    }))

  it.live("takes a tuple, a record and any iterable, and answers in kind", () =>
    Effect.gen(function* () {
      expect(yield* runOn(1, [add(1, 2), identity("x")])).toEqual([3, "x"])
      expect(yield* runOn(1, { sum: add(1, 2), text: identity("x") })).toEqual({ sum: 3, text: "x" })
      expect(yield* runOn(1, new Set([add(1, 2), add(3, 4)]))).toEqual([3, 7])
      const generated = function* () {
        for (let i = 0; i < 5; i++) yield add(i, i)
      }
      expect(yield* runOn(1, generated())).toEqual([0, 2, 4, 6, 8])
    }))

  it.live("never has more async calls in progress than workers", () =>
    Effect.gen(function* () {
      const cells = newCells()
      yield* runOn(3, Array.from({ length: 60 }, () => counted(cells, 3)))
      expect(cells[ENDED]).toBe(60)
      expect(cells[MOST]).toBe(3)
      // The same calls on a pool: there, one that waits holds nothing.
      const free = newCells()
      yield* Pool.forEach(Array.from({ length: 60 }), () => counted(free, 10)).pipe(
        Effect.provide(Pool.layer({ procs: 2 })),
      )
      expect(free[MOST]).toBeGreaterThanOrEqual(10)
    }))

  it.live("cancels queued calls at the first failure, and waits for those that run", () =>
    Effect.gen(function* () {
      const cells = newCells()
      const queued = Array.from({ length: 200 }, () => untilCancelled(cells))
      const exit = yield* Effect.exit(
        runOn(2, [untilCancelled(cells), failsAfter(cells, 1), ...queued]),
      )
      const error = failureOf(exit) as TaskFailed
      expect(error).toMatchObject({ _tag: "TaskFailed", task: "failsAfter" })
      expect((error.error as Error).message).toBe("after the others started")
      // Some more may have started before the host learned of the failure.
      expect(cells[STARTED]).toBeLessThan(20)
      expect(cells[ENDED]).toBe(cells[STARTED])
    }))

  it.live("fails only when every worker has ended", () =>
    Effect.gen(function* () {
      yield* runOn(2, [add(1, 1)])
      const before = threadCount()
      const exit = yield* Effect.exit(runOn(2, [fails("one"), fails("two")]))
      expect(failureOf(exit)).toMatchObject({ _tag: "TaskFailed" })
      if (before !== undefined) expect(yield* Effect.promise(() => threadsBackTo(before))).toBeLessThanOrEqual(before)
    }))

  it.live("gives every outcome in mode either", () =>
    Effect.gen(function* () {
      const outcomes = yield* runOn(2, [add(1, 2), fails("no"), add(3, 4)], { mode: "either" })
      expect(outcomes.map(Either.isRight)).toEqual([true, false, true])
      expect(outcomes[0]).toEqual(Either.right(3))
      expect(Either.flip(outcomes[1]).pipe(Either.getOrThrow)).toMatchObject({ _tag: "TaskFailed", task: "fails" })
      const record = yield* runOn(1, { good: add(1, 2), bad: fails("no") }, { mode: "either" })
      expect(record.good).toEqual(Either.right(3))
      expect(Either.isLeft(record.bad)).toBe(true)
    }))

  it.live("runs all and tells every failure in mode validate", () =>
    Effect.gen(function* () {
      expect(yield* runOn(2, [add(1, 2), add(3, 4)], { mode: "validate" })).toEqual([3, 7])
      const calls = [fails("a"), add(1, 2), fails("b")] as const
      const errors = failureOf(yield* Effect.exit(runOn(2, calls, { mode: "validate" })))
      if (!Array.isArray(errors)) throw new Error("not one error for each call")
      expect(errors.map(Option.isSome)).toEqual([true, false, true])
      const failed = errors.flatMap((error) => Option.toArray(error)) as Array<TaskFailed>
      expect(failed.map(({ error }) => (error as Error).message)).toEqual(["a", "b"])
    }))

  it.live("keeps no value if told to discard", () =>
    Effect.gen(function* () {
      const cells = newCells()
      const calls = Array.from({ length: 5 }, () => counted(cells, 0))
      expect(yield* runOn(2, calls, { discard: true })).toBeUndefined()
      expect(yield* runOn(2, calls, { discard: true, mode: "either" })).toBeUndefined()
      expect(cells[ENDED]).toBe(10)
      expect(failureOf(yield* Effect.exit(runOn(1, [fails("no")], { discard: true })))).toMatchObject({
        task: "fails",
      })
    }))

  it.live("refuses a number of workers that is none", () =>
    Effect.gen(function* () {
      for (const workers of [0, -1, 1.5, NaN, Infinity, 1025, "2" as unknown as number]) {
        const error = failureOf(yield* Effect.exit(runOn(workers, [add(1, 2)])))
        expect(error).toMatchObject({ _tag: "InvalidOptions", option: "workers" })
        expect(error.message).toContain("a whole number from 1 to 1,024")
        expect(failureOf(yield* Effect.exit(runOn(workers, [])))).toMatchObject({ _tag: "InvalidOptions" })
      }
    }))
})
