import { describe, expect, it, layer } from "@effect/vitest"
import { Cause, Chunk, Effect, Exit, Fiber, Option, Stream } from "effect"
import * as fc from "effect/FastCheck"
import { type Call, Pool, TaskFailed } from "../src/index.ts"
import { stream } from "../src/Streams.ts"
import { endsSlowly, FINALIZED } from "./fixtures/effects/tasks.ts"
import * as tasks from "./fixtures/tasks/basic.ts"
import { NOTHING_LEFT, settledIn } from "./fixtures/tasks/pools.ts"

const { add, ENDED, fails, failsAfter, GATE, gated, gatedAsync, identity, later, newCells, open, reached } = tasks
const { STARTED, untilCancelled } = tasks

const range = (n: number): Array<number> => Array.from({ length: n }, (_, i) => i)

const plus = (a: number, b: number): number => a + b

const causeOf = <A, E>(exit: Exit.Exit<A, E>): Cause.Cause<E> => {
  if (Exit.isSuccess(exit)) throw new Error(`it succeeded with ${String(exit.value)}`)
  return exit.cause
}

const failureOf = <A, E>(exit: Exit.Exit<A, E>): E =>
  Option.getOrThrowWith(Cause.failureOption(causeOf(exit)), () => new Error(Cause.pretty(causeOf(exit))))

const unspoiled = Effect.flatMap(Pool, settledIn).pipe(Effect.map((left) => expect(left).toEqual(NOTHING_LEFT)))

layer(Pool.layer({ procs: 2 }), { excludeTestServices: true })("A stream through a task", (it) => {
  it.effect("has ended, when it is interrupted, once all its calls have, though some end soon and some late", () =>
    Effect.gen(function* () {
      const pool = yield* Pool
      const kinds: ReadonlyArray<(cells: Int32Array) => readonly [Call<unknown>, gate: number, ended: number]> = [
        (cells) => [gated(cells, 2), GATE, ENDED],
        (cells) => [endsSlowly(cells, 3), 3, FINALIZED],
      ]
      for (const kind of kinds) {
        const [soon, late] = [newCells(), newCells()]
        const [slow, gate, ended] = kind(late)
        const calls = [gated(soon, 1), slow]
        const fiber = yield* Effect.fork(Stream.runDrain(stream(Stream.fromIterable(calls), (call) => call)))
        yield* Effect.promise(() => Promise.all([reached(soon, STARTED, 1), reached(late, STARTED, 1)]))
        const ending = yield* Effect.fork(Fiber.interrupt(fiber))
        open(soon)
        while ((yield* pool.stats).inFlight > 1) yield* later(0)
        for (let i = 0; i < 5; i++) yield* later(0)
        expect(ending.unsafePoll()).toBeNull()
        open(late, gate)
        expect(Exit.isInterrupted(yield* Fiber.join(ending))).toBe(true)
        expect(late[ended]).toBe(1)
      }
      yield* unspoiled
    }))

  it.effect("gives what mapping gives, in order or in any", () =>
    Effect.gen(function* () {
      const pool = yield* Pool
      const law = fc.asyncProperty(
        fc.array(fc.array(fc.integer(), { maxLength: 40 }), { maxLength: 12 }),
        fc.integer({ min: 1, max: 50 }),
        fc.boolean(),
        async (chunks, concurrency, ordered) => {
          const source = Stream.fromChunks(...chunks.map((chunk) => Chunk.fromIterable(chunk)))
          const values = await source.pipe(
            stream((n) => n % 5 === 0 ? later(n) : identity(n), { concurrency, ordered }),
            Stream.runCollect,
            Effect.provideService(Pool, pool),
            Effect.runPromise,
          )
          const flat = chunks.flat()
          if (ordered) expect(Chunk.toReadonlyArray(values)).toEqual(flat)
          else expect(Array.from(values).sort()).toEqual(flat.sort())
        },
      )
      yield* Effect.promise(() => fc.assert(law, { numRuns: 60 }))
      yield* unspoiled
    }))

  it.effect("holds the upstream back when the downstream does not take", () =>
    Effect.gen(function* () {
      for (const ordered of [true, false]) {
        let pulled = 0
        let taken = 0
        let most = 0
        const source = Stream.repeatEffect(Effect.sync(() => {
          most = Math.max(most, ++pulled - taken)
          return pulled
        }))
        yield* source.pipe(
          stream((n) => add(n, 0), { concurrency: 5, ordered }),
          // A chunk is out of the stream once it is passed on.
          Stream.chunks,
          Stream.take(40),
          Stream.runForEach((chunk) =>
            Effect.gen(function* () {
              taken += chunk.length
              // Time for the upstream to run away in, if it could.
              for (let i = 0; i < 20; i++) yield* Effect.yieldNow()
              if (taken % 3 === 0) yield* later(0)
            })
          ),
        )
        // One chunk more than that is on its way to where it is counted as taken.
        expect(most).toBeLessThanOrEqual(10)
        expect(most).toBeGreaterThanOrEqual(5)
      }
      yield* unspoiled
    }))

  it.effect("has no more calls in progress than it may", () =>
    Effect.gen(function* () {
      const cells = newCells()
      const fiber = yield* Stream.range(1, 100).pipe(
        stream((n) => gatedAsync(cells, n), { concurrency: 7 }),
        Stream.runCollect,
        Effect.fork,
      )
      yield* Effect.promise(() => reached(cells, STARTED, 7))
      expect((yield* Pool.stats).inFlight).toBe(7)
      open(cells)
      expect(Chunk.toReadonlyArray(yield* Fiber.join(fiber))).toEqual(range(100).map((n) => n + 1))
      yield* unspoiled
    }))

  it.effect("passes on what is ready, whatever it waits for", () =>
    Effect.gen(function* () {
      const cells = newCells()
      // The second call ends only when the value of the first has come out; the upstream never ends.
      const values = yield* Stream.make(1, 2).pipe(
        Stream.concat(Stream.never),
        stream((n) => n === 1 ? identity(1) : gated(cells, 2)),
        Stream.tap(() => Effect.sync(() => open(cells))),
        Stream.take(2),
        Stream.runCollect,
      )
      expect(Chunk.toReadonlyArray(values)).toEqual([1, 2])
      const unordered = newCells()
      const swapped = yield* Stream.make(1, 2).pipe(
        stream((n) => n === 1 ? gated(unordered, 1) : identity(2), { ordered: false }),
        Stream.tap(() => Effect.sync(() => open(unordered))),
        Stream.runCollect,
      )
      expect(Chunk.toReadonlyArray(swapped)).toEqual([2, 1])
      yield* unspoiled
    }))

  it.effect("fails with the first failure, after the values before it, when what runs has ended", () =>
    Effect.gen(function* () {
      const cells = newCells()
      const seen: Array<unknown> = []
      let finalized = -1
      const exit = yield* Stream.range(0, 1_000_000).pipe(
        Stream.ensuring(Effect.sync(() => finalized = cells[ENDED])),
        stream((n) => n === 3 ? failsAfter(cells, 1) : n === 4 ? untilCancelled(cells) : identity(n)),
        Stream.runForEach((value) => Effect.sync(() => seen.push(value))),
        Effect.exit,
      )
      expect(failureOf(exit)).toBeInstanceOf(TaskFailed)
      expect(failureOf(exit)).toMatchObject({ error: { message: "after the others started" } })
      expect(seen).toEqual([0, 1, 2].slice(0, seen.length))
      expect([cells[STARTED], cells[ENDED], finalized]).toEqual([1, 1, 1])
      const one: Array<unknown> = []
      yield* Stream.make(0, 1, 2, 3, 4).pipe(
        stream((n) => n === 3 ? fails("three") : identity(n), { concurrency: 1 }),
        Stream.runForEach((value) => Effect.sync(() => one.push(value))),
        Effect.flip,
      )
      expect(one).toEqual([0, 1, 2])
      yield* unspoiled
    }))

  it.effect("fails as its upstream does, after the values of what that gave", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const collect = (upstream: Stream.Stream<number, string>) =>
        upstream.pipe(
          stream((n) => later(n)),
          Stream.runForEach((value) => Effect.sync(() => seen.push(value))),
          Effect.exit,
        )
      expect(failureOf(yield* collect(Stream.concat(Stream.make(1, 2, 3), Stream.fail("dry"))))).toBe("dry")
      expect(seen).toEqual([1, 2, 3])
      expect(Cause.defects(causeOf(yield* collect(Stream.die("broken"))))).toEqual(Chunk.of("broken"))
      yield* unspoiled
    }))

  it.effect("dies of an error in the function that makes the calls", () =>
    Effect.gen(function* () {
      const defect = new Error("no call for this one")
      const exit = yield* Stream.make(1, 2).pipe(
        stream((n) => {
          if (n === 2) throw defect
          return identity(n)
        }),
        Stream.runDrain,
        Effect.exit,
      )
      expect(Cause.defects(causeOf(exit))).toEqual(Chunk.of(defect))
      const notCalls = yield* Stream.make(1).pipe(stream(() => 1 as never), Stream.runDrain, Effect.exit)
      expect(Cause.pretty(causeOf(notCalls))).toContain("item 0 is not a call")
      yield* unspoiled
    }))

  it.effect("ends its calls and then its upstream when it is interrupted, or has given enough", () =>
    Effect.gen(function* () {
      const cells = newCells()
      let finalized = -1
      const source = Stream.repeatValue(1).pipe(Stream.ensuring(Effect.sync(() => finalized = cells[ENDED])))
      const fiber = yield* source.pipe(stream(() => untilCancelled(cells)), Stream.runDrain, Effect.fork)
      yield* Effect.promise(() => reached(cells, STARTED, 2))
      expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
      expect(finalized).toBe(cells[STARTED])

      let n = 0
      finalized = -1
      const enough = yield* source.pipe(
        stream(() => n++ === 0 ? identity("first") : untilCancelled(cells)),
        Stream.take(1),
        Stream.runCollect,
      )
      expect(Chunk.toReadonlyArray(enough)).toEqual(["first"])
      expect(finalized).toBe(cells[STARTED])
      yield* unspoiled
    }))
})

layer(Pool.layer({ procs: 2 }), { excludeTestServices: true })("Pool.reduce", (it) => {
  it.effect("combines in the order of the items, whichever call ends first", () =>
    Effect.gen(function* () {
      const pool = yield* Pool
      const law = fc.asyncProperty(
        fc.array(fc.string({ maxLength: 3 }), { maxLength: 300 }),
        fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined }),
        async (items, concurrency) => {
          const indices: Array<number> = []
          const text = await Pool.reduce(items, {
            zero: "<",
            map: (item, index) => index % 7 === 0 ? later(item) : identity(item),
            combine: (acc, value, index) => {
              indices.push(index)
              return acc + String(value)
            },
            concurrency,
          }).pipe(Effect.provideService(Pool, pool), Effect.runPromise)
          expect(text).toBe("<" + items.join(""))
          expect(indices).toEqual(range(items.length))
        },
      )
      yield* Effect.promise(() => fc.assert(law, { numRuns: 50 }))
      const sum = Pool.reduce({ zero: 0, map: (n: number) => add(n, 1), combine: plus })
      expect(yield* sum(range(5000))).toBe((5000 * 5001) / 2)
      yield* unspoiled
    }))

  it.effect("asks for items only as there is room, behind a slow call too", () =>
    Effect.gen(function* () {
      const cells = newCells()
      let asked = 0
      function* items() {
        for (; asked < 100; asked++) yield asked
      }
      const fiber = yield* Effect.fork(Pool.reduce(items(), {
        zero: 0,
        map: (n) => n === 0 ? gatedAsync(cells, 0) : add(n, 0),
        combine: plus,
        concurrency: 10,
      }))
      yield* Effect.promise(() => reached(cells, STARTED, 1))
      while ((yield* Pool.stats).inFlight > 1) yield* Effect.sleep("1 millis")
      expect(asked).toBe(9) // the tenth is out, and not yet counted
      open(cells)
      expect(yield* Fiber.join(fiber)).toBe((99 * 100) / 2)
      yield* unspoiled
    }))

  it.effect("fails with the first failure, and closes the iterator when what runs has ended", () =>
    Effect.gen(function* () {
      const cells = newCells()
      let closed = -1
      function* items() {
        try {
          for (let i = 0;; i++) yield i
        } finally {
          closed = cells[ENDED]
        }
      }
      const failing = {
        zero: 0,
        combine: () => 0,
        // One only that blocks a machine: with two, both could run before the one that fails.
        map: (n: number) => n === 0 ? failsAfter(cells, 1) : n === 1 ? untilCancelled(cells) : identity(n),
      }
      expect(failureOf(yield* Effect.exit(Pool.reduce(items(), failing)))).toMatchObject({ _tag: "TaskFailed" })
      expect([cells[STARTED], cells[ENDED], closed]).toEqual([1, 1, 1])
      yield* unspoiled
    }))

  it.effect("dies of what its functions or its items throw", () =>
    Effect.gen(function* () {
      const defect = new Error("not this one")
      const dies = (n: number): number => {
        if (n === 3) throw defect
        return n
      }
      function* broken() {
        yield 1
        throw defect
      }
      const plain = { zero: 0, map: (n: number) => add(n, 0), combine: plus }
      for (
        const reduction of [
          Pool.reduce(range(10), { ...plain, map: (n) => add(dies(n), 0) }),
          Pool.reduce(range(10), { ...plain, combine: (acc, n) => acc + dies(n) }),
          Pool.reduce(broken(), plain),
        ]
      ) {
        expect(Cause.defects(causeOf(yield* Effect.exit(reduction)))).toEqual(Chunk.of(defect))
        yield* unspoiled
      }
      expect(yield* Pool.reduce([], plain)).toBe(0)
    }))

  it.effect("ends when it is interrupted", () =>
    Effect.gen(function* () {
      const cells = newCells()
      const fiber = yield* Effect.fork(
        Pool.reduce(range(10_000), { zero: 0, map: () => untilCancelled(cells), combine: () => 0 }),
      )
      yield* Effect.promise(() => reached(cells, STARTED, 2))
      expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
      expect(cells[ENDED]).toBe(cells[STARTED])
      yield* unspoiled
    }))

  it.effect("tells of an iterator that cannot be closed, behind what it is closed for", () =>
    Effect.gen(function* () {
      const defect = new Error("not closed")
      let next = 0
      const items: IterableIterator<number> = {
        [Symbol.iterator]: () => items,
        next: () => ({ done: false, value: next++ }),
        return: () => {
          throw defect
        },
      }
      const failed = causeOf(
        yield* Effect.exit(
          Pool.reduce(items, { zero: 0, map: (n) => n === 0 ? fails("first") : add(n, 0), combine: plus }),
        ),
      )
      expect(Option.getOrThrow(Cause.failureOption(failed))).toBeInstanceOf(TaskFailed)
      expect(Cause.defects(failed)).toEqual(Chunk.of(defect))
      const cells = newCells()
      const fiber = yield* Effect.fork(
        Pool.reduce(items, { zero: 0, map: () => untilCancelled(cells), combine: () => 0 }),
      )
      yield* Effect.promise(() => reached(cells, STARTED, 2))
      const interrupted = causeOf(yield* Fiber.interrupt(fiber))
      expect(Cause.isInterrupted(interrupted)).toBe(true)
      expect(Cause.defects(interrupted)).toEqual(Chunk.of(defect))
      yield* unspoiled
    }))
})

describe("After its pool has closed", () => {
  it.live("a stream and a reduction fail with PoolClosed", () =>
    Effect.gen(function* () {
      const pool = yield* Effect.scoped(Pool.make({ procs: 1 }))
      const reduction = Pool.reduce([1, 2], { zero: 0, map: (n) => add(n, 0), combine: plus })
      for (const effect of [reduction, Stream.make(1, 2).pipe(stream((n) => fails(String(n))), Stream.runDrain)]) {
        const exit = yield* Effect.exit(
          Effect.provideService(effect as Effect.Effect<unknown, unknown, Pool>, Pool, pool),
        )
        expect(failureOf(exit)).toMatchObject({ _tag: "PoolClosed" })
      }
    }))
})
