// Tasks that never look whether they should stop: nobody waits for them longer than the grace.
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Logger, Option } from "effect"
import { Pool, runOn } from "../src/index.ts"
import { openPool, runOn as runOnPromise } from "../src/promise.ts"
import { endsSlowly } from "./fixtures/effects/tasks.ts"
import { add, failsAfter, gated, newCells, open, reached, STARTED } from "./fixtures/tasks/basic.ts"
import { currentRuntime } from "./support/run.ts"
import { threadCount, threadsBackTo } from "./support/threads.ts"

/** Long enough for calls of the other machine, so that the grace is what ends a wait and not a slow start. */
const grace = 200
/** Node and Bun end a busy thread; on Deno, closing tells which one it could not end. */
const canTerminate = currentRuntime !== "deno"

const stuckIn = <A, E>(exit: Exit.Exit<A, E>): ReadonlyArray<unknown> =>
  Exit.isSuccess(exit) ? [] : Array.from(Cause.defects(exit.cause))

const MACHINES = 5
let threads: number | undefined

// The runtime starts some threads of its own beside the first workers.
beforeAll(async () => {
  await Effect.runPromise(runOn(MACHINES, Array.from({ length: 50 }, (_, i) => add(i, 1))))
  threads = threadCount()
})

/** Runs `use` with cells for {@link gated}; whatever comes, its gate is opened and its thread has ended afterwards. */
const withGate = <A, E, R>(use: (cells: Int32Array) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const cells = newCells()
    return use(cells).pipe(
      Effect.ensuring(Effect.promise(async () => {
        open(cells)
        if (threads !== undefined) expect(await threadsBackTo(threads)).toBeLessThanOrEqual(threads)
      })),
    )
  })

const started = (cells: Int32Array, n: number): Effect.Effect<void> => Effect.promise(() => reached(cells, STARTED, n))

const expectStuck = (exit: Exit.Exit<unknown, unknown>): void =>
  expect(stuckIn(exit)).toMatchObject(canTerminate ? [] : [{ _tag: "MachineStuck", task: "gated" }])

describe("A task that never looks whether it should stop", () => {
  it.live("does not keep runOn that is interrupted", () =>
    withGate((cells) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(runOn(2, [gated(cells, 1), add(1, 2)], { grace }))
        yield* started(cells, 1)
        const exit = yield* Fiber.interrupt(fiber)
        expect(Exit.isInterrupted(exit)).toBe(true)
        expectStuck(exit)
      })
    ))

  it.live("does not keep runOn when another call fails", () =>
    withGate((cells) =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(runOn(2, [gated(cells, 1), failsAfter(cells, 1)], { grace }))
        const failure = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.failureOption(exit.cause)) : undefined
        expect(failure).toMatchObject({ _tag: "TaskFailed", task: "failsAfter" })
        expectStuck(exit)
      })
    ))

  it.live("does not keep who gives up a call, a batch, or the pool", () =>
    withGate((cells) =>
      Effect.gen(function* () {
        const warnings: Array<string> = []
        const logger = Logger.replace(
          Logger.defaultLogger,
          Logger.make(({ message }) => void warnings.push(String(message))),
        )
        const exit = yield* Effect.gen(function* () {
          const batch = yield* Effect.fork(Pool.forEach([1, 2], () => gated(cells, 1)))
          yield* started(cells, 2)
          const call = yield* Effect.fork(gated(cells, 1))
          const failed = yield* Effect.fork(Effect.exit(Pool.all([gated(cells, 1), failsAfter(cells, 4)])))
          yield* started(cells, 4)
          expect(Exit.isInterrupted(yield* Fiber.interrupt(batch))).toBe(true)
          expect(Exit.isInterrupted(yield* Fiber.interrupt(call))).toBe(true)
          expect(Exit.isFailure(yield* Fiber.join(failed))).toBe(true)
          // The machine that has nothing to do with all this goes on.
          expect(yield* add(1, 2)).toBe(3)
          expect(warnings).toEqual(Array.from({ length: 3 }, () => expect.stringContaining(`"gated" still ran`)))
        }).pipe(Effect.provide(Pool.layer({ procs: MACHINES, grace })), Effect.provide(logger), Effect.exit)
        expect(stuckIn(exit).length).toBe(canTerminate ? 0 : 1)
        if (canTerminate) expect(exit).toEqual(Exit.void)
      })
    ))

  it.live("does not keep a promise whose signal is aborted", () =>
    withGate((cells) =>
      Effect.promise(async () => {
        const reason = new Error("no more")
        const controller = new AbortController()
        const running = runOnPromise(2, [gated(cells, 1)], { grace, signal: controller.signal })
        await reached(cells, STARTED, 1)
        controller.abort(reason)
        if (canTerminate) await expect(running).rejects.toBe(reason)
        else await expect(running).rejects.toMatchObject({ _tag: "MachineStuck", task: "gated" })

        const pool = await openPool({ procs: 1, grace })
        const second = new AbortController()
        const call = pool.run(gated(cells, 1), { signal: second.signal })
        await reached(cells, STARTED, 2)
        second.abort(reason)
        await expect(call).rejects.toBe(reason)
        const closed = pool.close()
        if (canTerminate) await closed
        else await expect(closed).rejects.toMatchObject({ _tag: "MachineStuck", task: "gated" })
      })
    ))
})

describe("An Effect task that takes its time to end", () => {
  it.live("is waited for in a pool that stays open", () =>
    withGate((cells) =>
      Effect.gen(function* () {
        const [GATE, FINALIZED] = [5, 2]
        const log = new Int32Array(new SharedArrayBuffer(64))
        const slow = yield* Effect.fork(endsSlowly(log, GATE))
        const deaf = yield* Effect.fork(gated(cells, 1))
        yield* Effect.promise(() => Promise.all([reached(log, 0, 1), reached(cells, STARTED, 1)]))
        const released = yield* Effect.fork(Fiber.interrupt(slow))
        yield* Effect.yieldNow()
        // Its grace begins after the other's.
        yield* Fiber.interrupt(deaf)
        expect(Option.isNone(yield* Fiber.poll(released))).toBe(true)
        expect(Atomics.load(log, FINALIZED)).toBe(0)
        open(log, GATE)
        expect(Exit.isInterrupted(yield* Fiber.join(released))).toBe(true)
        expect(Atomics.load(log, FINALIZED)).toBe(1)
        open(cells)
      }).pipe(Effect.provide(Pool.layer({ procs: 2, grace })))
    ))
})
