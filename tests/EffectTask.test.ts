import { describe, expect, layer } from "@effect/vitest"
import { Cause, Data, Effect, Either, Exit, Fiber } from "effect"
import { expectTypeOf } from "vitest"
import { type NotSerializable, Pool, Task, type TaskError, TaskFailed } from "../mod.ts"
import {
  acquiresLate,
  busy,
  forever,
  interrupted,
  joinsEffect,
  nap,
  NotPositive,
  root,
  several,
  thrower,
  unsendable,
} from "./fixtures/effects/tasks.ts"
import { reached } from "./fixtures/tasks/basic.ts"
import { threadCount } from "./support/threads.ts"

class TooSmall extends Data.TaggedError("TooSmall")<{ readonly by: number }> {}

const counters = () => new Int32Array(new SharedArrayBuffer(12))

/** Waits until `log[0]` is at least `n`. */
const started = (log: Int32Array, n: number) => Effect.promise(() => reached(log, 0, n))

describe("Task.effect", () => {
  layer(Pool.layer({ procs: 2 }), { excludeTestServices: true, timeout: 30_000 })((it) => {
    it.effect("succeeds with the Effect's value", () =>
      Effect.gen(function* () {
        expect(yield* root(4)).toBe(2)
        expect(yield* Pool.forEach([1, 4, 9], (n) => root(n))).toEqual([1, 2, 3])
      }))

    it.effect("fails with the Effect's own typed error, class and all", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(root(-3))
        expect(error).toBeInstanceOf(NotPositive)
        expect(error).toMatchObject({ _tag: "NotPositive", n: -3 })
        const caught = yield* root(-1).pipe(Effect.catchTag("NotPositive", ({ n }) => Effect.succeed(n)))
        expect(caught).toBe(-1)
        expectTypeOf(root(1)).toMatchTypeOf<Effect.Effect<number, NotPositive | TaskError, Pool>>()
        const branches = Task.effect(import.meta, "branches", (n: number) =>
          n > 1 ? Effect.succeed(n) : n < 0 ? new TooSmall({ by: -n }) : new NotPositive({ n }))
        expectTypeOf(branches).toEqualTypeOf<Task.Task<[n: number], number, NotPositive | TooSmall>>()
      }))

    it.effect("brings the whole cause back: failure, defect and what a finalizer added", () =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(several())
        const local = yield* Effect.exit(
          Effect.all([Effect.fail("typed"), Effect.die(new RangeError("defect"))], { concurrency: 2 }).pipe(
            Effect.ensuring(Effect.die("finalizer")),
          ),
        )
        if (Exit.isSuccess(exit) || Exit.isSuccess(local)) throw new Error("succeeded")
        const shape = (cause: Cause.Cause<unknown>): unknown =>
          Cause.match<unknown, unknown>(cause, {
            onEmpty: "empty",
            onFail: (error) => ({ fail: error }),
            onDie: (defect) => ({ die: String(defect) }),
            onInterrupt: () => "interrupt",
            onSequential: (left, right) => ({ sequential: [left, right] }),
            onParallel: (left, right) => ({ parallel: [left, right] }),
          })
        expect(shape(exit.cause)).toEqual(shape(local.cause))
      }))

    it.effect("tells an Effect that interrupts itself from a call that was interrupted", () =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(interrupted())
        expect(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)).toBe(true)
      }))

    it.effect("fails with TaskFailed if the function throws before there is an Effect", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(thrower())
        expect(error).toBeInstanceOf(TaskFailed)
        expect((error as TaskFailed).error).toBeInstanceOf(TypeError)
      }))

    it.effect("says where a value is that cannot be sent", () =>
      Effect.gen(function* () {
        const error = (yield* Effect.flip(unsendable())) as NotSerializable
        expect(error._tag).toBe("NotSerializable")
        expect(error.path).toBe("result.inner.f")
      }))

    it.effect("cannot be joined by a sync task", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(joinsEffect())
        expect(error).toMatchObject({ _tag: "Deadlock", task: "nap" })
      }))

    it.effect("interrupts the fiber on the machine and waits for its finalizers", () =>
      Effect.gen(function* () {
        const log = counters()
        const fiber = yield* Effect.fork(forever(log))
        yield* started(log, 1)
        yield* Fiber.interrupt(fiber)
        expect(Array.from(log)).toEqual([1, 1, 1])
      }))

    it.effect("runs the finalizers of all when a batch is interrupted, and of none that had not started", () =>
      Effect.gen(function* () {
        const log = counters()
        const fiber = yield* Effect.fork(Pool.forEach(Array.from({ length: 100 }), () => forever(log)))
        yield* started(log, 10)
        yield* Fiber.interrupt(fiber)
        expect(log[1]).toBe(log[0])
        expect(log[2]).toBe(log[0])
        const { inFlight, records } = yield* Pool.stats
        expect({ inFlight, records }).toEqual({ inFlight: 0, records: 0 })
      }))

    it.effect("works with timeout, race and retry", () =>
      Effect.gen(function* () {
        const log = counters()
        const timedOut = yield* Effect.flip(Effect.timeout(forever(log), "50 millis"))
        expect(timedOut._tag).toBe("TimeoutException")
        expect(log[2]).toBe(log[0])
        expect(yield* Effect.race(nap(1), forever(log))).toBe(1)
        let tries = 0
        const error = yield* Effect.suspend(() => {
          tries++
          return root(-1)
        }).pipe(Effect.retry({ times: 2 }), Effect.flip)
        expect(tries).toBe(3)
        expect(error._tag).toBe("NotPositive")
      }))

    it.effect("parks without holding its machine: thousands sleep at once on two", () =>
      Effect.gen(function* () {
        const threads = threadCount()
        const began = performance.now()
        yield* Pool.forEach(Array.from({ length: 5000 }), () => nap(200), { discard: true })
        // One after the other on two machines they would sleep for 500 seconds.
        expect(performance.now() - began).toBeLessThan(100_000)
        if (threads !== undefined) expect(threadCount()! - threads).toBeLessThan(10)
      }))

    it.effect("shares the machine with calls while it computes without end in sight", () =>
      Effect.gen(function* () {
        const hogs = yield* Effect.fork(Pool.all([busy(4e5), busy(4e5), busy(4e5), busy(4e5)]))
        expect(yield* root(16)).toBe(4)
        // The call came in between, not after them.
        expect(hogs.unsafePoll()).toBeNull()
        expect(yield* Fiber.join(hogs)).toEqual([4e5, 4e5, 4e5, 4e5])
      }))

    it.effect("closes its scope when it has ended: what is acquired there later is released at once", () =>
      Effect.gen(function* () {
        for (const used of [false, true]) {
          const log = counters()
          yield* acquiresLate(log, used)
          expect(log[2]).toBe(used ? 1 : 0)
          Atomics.store(log, 0, 1)
          yield* Effect.promise(() => reached(log, 1, 1))
          expect(log[2]).toBe(used ? 2 : 1)
        }
      }))

    it.effect("gives typed failures as values in mode either", () =>
      Effect.gen(function* () {
        const outcomes = yield* Pool.all([root(1), root(-1)], { mode: "either" })
        expect(outcomes[0]).toEqual(Either.right(1))
        expect(Either.isLeft(outcomes[1]) && outcomes[1].left._tag).toBe("NotPositive")
      }))
  })
})
