import { describe, expect, it, layer } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Option } from "effect"
import { expectTypeOf } from "vitest"
import { type Call, Pool, runOn, Task, type TaskError } from "../mod.ts"
import { openPool } from "../src/promise.ts"
import * as tasks from "./fixtures/progress/tasks.ts"
import { reached } from "./fixtures/tasks/basic.ts"
import { NOTHING_LEFT, settledIn } from "./fixtures/tasks/pools.ts"

const newCells = () => new Int32Array(new SharedArrayBuffer(16))

/** Runs a call, and keeps what it says. */
const hear = <A, E>(call: Call<A, E>) =>
  Effect.gen(function* () {
    const heard: Array<Task.Progress> = []
    const exit = yield* Effect.exit(Task.onProgress(call, (progress) => void heard.push(progress)))
    return { exit, heard, last: heard.at(-1) }
  })

const isRising = (values: ReadonlyArray<number>): boolean => values.every((v, i) => i === 0 || values[i - 1] < v)

const unspoiled = Effect.flatMap(Pool, settledIn).pipe(Effect.map((left) => expect(left).toEqual(NOTHING_LEFT)))

const kinds = [
  ["a sync task", tasks.steps],
  ["an async task", tasks.stepsAsync],
  ["an Effect task", tasks.stepsEffect],
] as const

describe("Progress", () => {
  layer(Pool.layer({ procs: 2 }), { excludeTestServices: true, timeout: 30_000 })((it) => {
    it.effect.each(kinds)("of %s is told in order, the last before the outcome", ([, task]) =>
      Effect.gen(function* () {
        const { exit, heard, last } = yield* hear(task(50))
        expect(exit).toEqual(Exit.succeed(50))
        expect(last).toEqual({ done: 50, total: 50, fraction: 1 })
        expect(isRising(heard.map(({ done }) => done))).toBe(true)
        yield* unspoiled
      }))

    it.effect("is told while a sync task holds its machine", () =>
      Effect.gen(function* () {
        const cells = newCells()
        const heard: Array<number> = []
        yield* Task.onProgress(tasks.heard(cells, 5), ({ done }) => {
          heard.push(done)
          Atomics.store(cells, 0, done)
          Atomics.notify(cells, 0)
        })
        expect(heard).toEqual([1, 2, 3, 4, 5])
      }))

    it.effect("has a fraction if there is a total", () =>
      Effect.gen(function* () {
        const told = (...pairs: ReadonlyArray<readonly [number, number?]>) =>
          Effect.map(hear(tasks.reports(pairs)), ({ last }) => last)
        expect(yield* told([3])).toEqual({ done: 3, total: undefined, fraction: undefined })
        expect(yield* told([1, 4], [2.5, 10])).toEqual({ done: 2.5, total: 10, fraction: 0.25 })
        expect(yield* told([12, 10])).toEqual({ done: 12, total: 10, fraction: 1 })
        expect(yield* told([0, 0])).toEqual({ done: 0, total: 0, fraction: 1 })
        expect(yield* told([-1, 10])).toEqual({ done: -1, total: 10, fraction: 0 })
        expect(yield* told([NaN, 10])).toEqual({ done: NaN, total: 10, fraction: undefined })
        expect(yield* told([Infinity, Infinity])).toEqual({ done: Infinity, total: Infinity, fraction: undefined })
        expect(yield* told()).toBeUndefined()
      }))

    it.effect("is told after one that is no number", () =>
      Effect.gen(function* () {
        const { exit, last } = yield* hear(tasks.reportsOddly())
        expect(exit).toEqual(Exit.succeed("TypeError"))
        expect(last).toEqual({ done: 3, total: 4, fraction: 0.75 })
      }))

    it.effect("is told before a failure, too", () =>
      Effect.gen(function* () {
        const { exit, last } = yield* hear(tasks.failsAt(7))
        expect(last).toMatchObject({ done: 7, fraction: 0.7 })
        expect(Exit.isFailure(exit) && Option.getOrNull(Cause.failureOption(exit.cause))).toMatchObject({
          _tag: "TaskFailed",
        })
      }))

    it.effect("of a bulk comes with the index of the call", () =>
      Effect.gen(function* () {
        const last = new Map<number, number>()
        const items = Array.from({ length: 300 }, (_, i) => i + 1)
        const values = yield* Pool.forEach(items, (n) => tasks.steps(n), {
          onProgress: ({ done }, index) => {
            expect(done).toBeGreaterThan(last.get(index) ?? 0)
            last.set(index, done)
          },
        })
        expect(values).toEqual(items)
        expect(items.map((_, i) => last.get(i))).toEqual(items)

        const named: Array<[number, number]> = []
        yield* Pool.all({ a: tasks.steps(3), b: tasks.steps(4) }, {
          concurrency: 1,
          onProgress: ({ done }, index) => void named.push([index, done]),
        })
        expect(named.filter(([, done]) => done >= 3).map(([index]) => index)).toContain(1)
        expect(new Map(named)).toEqual(new Map([[0, 3], [1, 4]]))
        yield* unspoiled
      }))

    it.effect("can be listened to by an Effect, whose failure ends the call and is that of the whole", () =>
      Effect.gen(function* () {
        const cells = newCells()
        const whole = tasks.forever(cells).pipe(
          Task.onProgress(({ done }) => Effect.fail(`at ${done > 0 ? "some" : "no"} step`)),
        )
        expectTypeOf(whole).toEqualTypeOf<Effect.Effect<void, string | TaskError, Pool>>()
        expect(yield* Effect.flip(whole)).toBe("at some step")
        expect(Array.from(cells.subarray(0, 2))).toEqual([1, 1])
        yield* unspoiled
      }))

    it.effect("dies of a listener that throws, when the tasks have ended", () =>
      Effect.gen(function* () {
        const defect = new Error("listener")
        const throws = (): never => {
          throw defect
        }
        const one = newCells()
        const two = newCells()
        const calls = [tasks.forever(two), tasks.forever(two), tasks.forever(two)]
        for (
          const [cells, program] of [
            [one, Task.onProgress(tasks.forever(one), throws)],
            [two, Pool.all(calls, { onProgress: throws })],
          ] as const
        ) {
          const exit = yield* Effect.exit(program)
          expect(Exit.isFailure(exit) && Option.getOrNull(Cause.dieOption(exit.cause))).toBe(defect)
          expect(cells[0]).toBeGreaterThan(0)
          expect(cells[1]).toBe(cells[0])
        }
        // Also if it throws at the very last report, with the outcome at hand.
        const exit = yield* Effect.exit(Pool.all([tasks.steps(3)], { onProgress: throws }))
        expect(Exit.isFailure(exit) && Option.getOrNull(Cause.dieOption(exit.cause))).toBe(defect)
        yield* unspoiled
      }))

    it.effect("does not wait for a listener: one that is slow misses some, but not the last", () =>
      Effect.gen(function* () {
        const cells = newCells()
        const heard: Array<number> = []
        let inside = 0
        yield* Task.onProgress(tasks.many(cells, 1_000_000), ({ done }) =>
          Effect.gen(function* () {
            expect(++inside).toBe(1)
            heard.push(done)
            // The first one is heard until the task is through.
            yield* Effect.promise(() => reached(cells, 0, 1))
            inside--
          }))
        // The first one, what was latest when it had been heard, and the last one.
        expect(heard.length).toBeLessThanOrEqual(3)
        expect(heard.at(-1)).toBe(1_000_000)
      }))

    it.effect("costs a task some atomic operations if someone listens, and less if no one does", () =>
      Effect.gen(function* () {
        let told = 0
        const [reports, additions] = yield* Task.onProgress(tasks.cost(1_000_000), () => void told++)
        expect(reports).toBeLessThan(50 * additions)
        expect(told).toBeLessThan(30_000)
        const [unheard, again] = yield* tasks.cost(1_000_000)
        expect(unheard).toBeLessThan(50 * again)
      }))

    it.effect("is not that of children, who have no listener", () =>
      Effect.gen(function* () {
        const { exit, heard } = yield* hear(tasks.parent())
        expect(exit).toEqual(Exit.succeed(300))
        expect(heard.every(({ total }) => total === 2)).toBe(true)
      }))

    it.effect("of a call that an Effect task makes is told there", () =>
      Effect.gen(function* () {
        const { exit, last } = yield* hear(tasks.listens(20))
        expect(exit).toEqual(Exit.succeed(20))
        expect(last).toEqual({ done: 10, total: 20, fraction: 0.5 })
      }))

    it.effect("is told no more once the call was interrupted", () =>
      Effect.gen(function* () {
        const cells = newCells()
        let told = 0
        const fiber = yield* Effect.fork(Task.onProgress(tasks.forever(cells), () => void told++))
        yield* Effect.promise(() => reached(cells, 0, 1))
        yield* Effect.iterate(0, { while: () => told === 0, body: () => Effect.sleep(1).pipe(Effect.as(0)) })
        expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
        expect(cells[1]).toBe(1)
        const before = told
        yield* hear(tasks.stepsAsync(20))
        expect(told).toBe(before)
        yield* unspoiled
      }))

    it.effect("does nothing outside a task", () => Effect.sync(() => Task.progress(1, 2)))
  })

  // The fewest records there can be, so that they are used again at once.
  layer(Pool.layer({ procs: 1, capacity: 16 }), { excludeTestServices: true, timeout: 30_000 })((it) => {
    it.effect("never reaches a later call", () =>
      Effect.gen(function* () {
        const cells = newCells()
        // Given up, but its code goes on to report, in a record that is used again.
        const fibers = yield* Effect.forEach(
          [1, 2, 3],
          () => Effect.fork(Task.onProgress(tasks.undead(cells, -1), () => {})),
        )
        yield* Effect.promise(() => reached(cells, 0, 3))
        yield* Fiber.interruptAll(fibers)
        for (let i = 1; i <= 30; i++) {
          const base = 1000 * i
          const pairs = Array.from({ length: 10 }, (_, j) => [base + j] as const)
          const { heard, last } = yield* hear(tasks.reports(pairs))
          expect(heard.every(({ done }) => done >= base && done < base + 10)).toBe(true)
          expect(last?.done).toBe(base + 9)
          yield* tasks.reports([[-2]])
          const { heard: some } = yield* hear(tasks.stepsAsync(3))
          expect(some.every(({ done }) => done > 0)).toBe(true)
        }
        Atomics.store(cells, 1, 1)
        yield* Effect.promise(() => reached(cells, 2, 3))
        yield* unspoiled
      }))
  })

  layer(Pool.layer({ procs: 1, capacity: 16 }), { excludeTestServices: true, timeout: 30_000 })((it) => {
    it.effect("is not that of children that are run in their parent's name", () =>
      Effect.gen(function* () {
        expect((yield* hear(tasks.crowded(100))).last).toMatchObject({ done: 1, total: 2 })
        yield* unspoiled
      }))
  })

  it.live("is told by runOn", () =>
    Effect.gen(function* () {
      const last: Array<number> = []
      yield* runOn(2, [tasks.steps(5), tasks.stepsAsync(6)], { onProgress: ({ done }, index) => last[index] = done })
      expect(last).toEqual([5, 6])
    }))

  it.live("is told by a pool with promises, whose call is rejected with what a listener throws", () =>
    Effect.promise(async () => {
      await using pool = await openPool({ procs: 1 })
      const heard: Array<number> = []
      const { signal } = new AbortController()
      expect(await pool.run(tasks.stepsAsync(20), { onProgress: ({ done }) => heard.push(done), signal })).toBe(20)
      expect(heard.at(-1)).toBe(20)
      expect(isRising(heard)).toBe(true)

      const cells = newCells()
      const error = new Error("listener")
      const throws = (): never => {
        throw error
      }
      await expect(pool.run(tasks.forever(cells), { onProgress: throws })).rejects.toBe(error)
      expect(Array.from(cells.subarray(0, 2))).toEqual([1, 1])
      await expect(pool.run(tasks.steps(3), { onProgress: throws })).rejects.toBe(error)
      expect(await pool.run(tasks.steps(3))).toBe(3)
    }))

  it.live("is told by simulated machines: of a sync task the last value only", () =>
    Effect.gen(function* () {
      for (const [, task] of kinds) {
        const { exit, heard, last } = yield* hear(task(5))
        expect(exit).toEqual(Exit.succeed(5))
        expect(last?.done).toBe(5)
        expect(isRising(heard.map(({ done }) => done))).toBe(true)
        if (task === tasks.steps) expect(heard.length).toBe(1)
      }
    }).pipe(Effect.provide(Pool.layerDeterministic())))
})
