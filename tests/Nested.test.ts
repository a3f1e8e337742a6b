import { describe, expect, it, layer } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Logger } from "effect"
import { expectTypeOf } from "vitest"
import { Pool, type TaskError, TaskFailed } from "../mod.ts"
import {
  add,
  asyncDepth,
  asyncFib,
  bulk,
  callsTooLate,
  checks,
  detaches,
  detachesForever,
  effectDepth,
  failsBeside,
  forgets,
  generator,
  guards,
  heeds,
  joinsWaiting,
  Odd,
  sendsFunction,
  texts,
  waitsBelow,
  waitsBelowEffect,
} from "./fixtures/nested/tasks.ts"
import { reached } from "./fixtures/tasks/basic.ts"

const cells = () => new Int32Array(new SharedArrayBuffer(16))

/** Waits until `counts[at]` is at least `n`. */
const reaches = (counts: Int32Array, at: number, n: number) => Effect.promise(() => reached(counts, at, n))

/** Waits until no record is in use: of children that were thrown away the host learns after the outcome. */
const empties = Effect.gen(function* () {
  for (;;) {
    const { inFlight, records } = yield* Pool.stats
    if (records === 0 && inFlight === 0) return
    yield* Effect.sleep(1)
  }
}).pipe(Effect.timeout("10 seconds"))

describe("calls of a task that waits", () => {
  for (const procs of [1, 2, 4]) {
    layer(Pool.layer({ procs }), { excludeTestServices: true, timeout: 60_000 })(`on ${procs} machines`, (it) => {
      it.effect("200 async tasks deep", () =>
        Effect.gen(function* () {
          expect(yield* asyncDepth(200)).toBe(200)
          yield* empties
        }))

      it.effect("10,000 Effect tasks deep", () =>
        Effect.gen(function* () {
          expect(yield* effectDepth(10_000)).toBe("bottom")
          yield* empties
        }))

      it.effect("in width and depth", () =>
        Effect.gen(function* () {
          expect(yield* asyncFib(15)).toBe(610)
          yield* empties
        }))

      it.effect("as a batch", () =>
        Effect.gen(function* () {
          expect(yield* bulk(5000)).toEqual(Array.from({ length: 5000 }, (_, i) => 2 * i))
          const found = yield* texts(20, 1000)
          expect(found.map(({ length }) => length)).toEqual(Array.from({ length: 20 }, (_, i) => i < 10 ? 1000 : 2000))
          expect(found[7].text).toBe("7".repeat(1000))
          yield* empties
        }))

      it.effect("of more callers than machines", () =>
        Effect.gen(function* () {
          const found = yield* Pool.forEach(Array.from({ length: procs + 1 }, (_, i) => i), () => asyncDepth(3))
          expect(found).toEqual(Array.from({ length: procs + 1 }, () => 3))
        }))
    })
  }

  layer(Pool.layer({ procs: 2 }), { excludeTestServices: true, timeout: 60_000 })((it) => {
    it.effect("of a generator", () =>
      Effect.gen(function* () {
        expect(yield* generator(5)).toEqual({ halved: 3, length: 3 })
        const error = yield* Effect.flip(generator(4))
        expect(error).toBeInstanceOf(Odd)
        expect(error).toMatchObject({ n: 5 })
        expectTypeOf(generator(1)).toMatchTypeOf<
          Effect.Effect<{ halved: number; length: number }, Odd | TaskError, Pool>
        >()
        yield* empties
      }))

    it.effect("end before it does, when it is interrupted", () =>
      Effect.gen(function* () {
        const counts = cells()
        const fiber = yield* Effect.fork(guards(counts, 20))
        yield* reaches(counts, 0, 20)
        const exit = yield* Fiber.interrupt(fiber)
        expect(Exit.isInterrupted(exit)).toBe(true)
        // Their finalizers ran, and before that of their caller.
        expect(Array.from(counts.subarray(0, 3))).toEqual([20, 20, 20])
        yield* empties
      }))

    it.effect("end before it does, when it fails", () =>
      Effect.gen(function* () {
        const counts = cells()
        const error = yield* Effect.flip(failsBeside(counts, 20))
        expect(error).toBeInstanceOf(TaskFailed)
        expect((error as TaskFailed).error).toMatchObject({ message: "beside" })
        expect(Array.from(counts.subarray(0, 2))).toEqual([20, 20])
        yield* empties
      }))

    it.effect("end before it does, when it does not wait for them", () =>
      Effect.gen(function* () {
        const counts = cells()
        expect(yield* forgets(counts, 10)).toBe("returned")
        expect(counts[0]).toBe(10)
        yield* empties
      }))

    it.effect("may outlive it when they are detached", () =>
      Effect.gen(function* () {
        const counts = cells()
        expect(yield* detaches(counts)).toBe(0)
        yield* reaches(counts, 0, 1)
        yield* empties
      }))

    it.effect("cannot be made once it has ended", () =>
      Effect.gen(function* () {
        const counts = cells()
        yield* callsTooLate(counts)
        yield* reaches(counts, 0, 1)
        expect(counts[0]).toBe(2)
      }))

    it.effect("cannot be made below a join, and the error says what to do", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(joinsWaiting())
        expect(String((error as TaskFailed).error)).toMatch(/Task\.spawn/)
        yield* empties
      }))

    it.effect("that cannot be sent fail alone", () =>
      Effect.gen(function* () {
        expect(yield* sendsFunction()).toEqual(["NotSerializable", 4])
        yield* empties
      }))

    it.effect("and an abort signal is heeded before the interruption goes on", () =>
      Effect.gen(function* () {
        for (const task of [heeds, checks]) {
          const counts = cells()
          const fiber = yield* Effect.fork(task(counts))
          yield* reaches(counts, 0, 1)
          const exit = yield* Fiber.interrupt(fiber)
          expect(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)).toBe(true)
          expect(Array.from(counts.subarray(0, 3))).toEqual([1, 1, 0])
        }
        yield* empties
      }))
  })

  for (const procs of [1, 2]) {
    it.live(`with fewer records than calls, on ${procs} machines`, () =>
      Effect.gen(function* () {
        expect(yield* asyncDepth(500)).toBe(500)
        expect(yield* effectDepth(500)).toBe("bottom")
        expect(yield* asyncFib(10)).toBe(55)
        expect((yield* bulk(500)).length).toBe(500)
        const counts = cells()
        const fiber = yield* Effect.fork(guards(counts, 40))
        yield* reaches(counts, 0, 40)
        yield* Fiber.interrupt(fiber)
        expect(Array.from(counts.subarray(0, 3))).toEqual([40, 40, 40])
        yield* empties
      }).pipe(Effect.provide(Pool.layer({ procs, capacity: 16 }))), 60_000)
  }

  for (const [kind, waits] of Object.entries({ async: waitsBelow, effect: waitsBelowEffect })) {
    it.live(`to any depth are interrupted with it, and their neighbours go on: ${kind}`, () =>
      Effect.gen(function* () {
        const counts = cells()
        const neighbour = yield* Effect.fork(waits(counts, 0, 1))
        const deep = yield* Effect.fork(waits(counts, 5000, 2))
        yield* reaches(counts, 0, 2)
        expect(Exit.isInterrupted(yield* Fiber.interrupt(deep))).toBe(true)
        Atomics.store(counts, 1, 1)
        expect(yield* Fiber.join(neighbour)).toBe(0)
        expect((yield* Pool.stats).deaths).toBe(0)
        yield* empties
      }).pipe(Effect.provide(Pool.layer({ procs: 1, capacity: 16 }))), 60_000)
  }

  it.live("that are detached and do not end are told of when the pool closes", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const logger = Logger.make(({ message }) => void told.push(...[message].flat().map(String)))
      const counts = cells()
      yield* detachesForever(counts).pipe(
        Effect.zipRight(reaches(counts, 0, 1)),
        Effect.provide(Pool.layer({ procs: 1 })),
        Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
      )
      expect(told.join("; ")).toMatch(/guarded/)
    }), 60_000)

  it.live("without workers", () =>
    Effect.gen(function* () {
      expect(yield* asyncDepth(200)).toBe(200)
      expect(yield* effectDepth(1000)).toBe("bottom")
      expect(yield* generator(5)).toEqual({ halved: 3, length: 3 })
      expect(yield* bulk(100)).toHaveLength(100)
      const counts = cells()
      const fiber = yield* Effect.fork(guards(counts, 5))
      yield* reaches(counts, 0, 5)
      yield* Fiber.interrupt(fiber)
      expect(Array.from(counts.subarray(0, 3))).toEqual([5, 5, 5])
      expect(yield* add(1, 2)).toBe(3)
      yield* empties
    }).pipe(Effect.provide(Pool.layerDeterministic({ procs: 2, seed: 7 }))), 60_000)
})
