import { describe, expect, it, layer } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import process from "node:process"
import { type Call, MachineExited, Pool, type PoolService, runOn } from "../mod.ts"
import { hostOf } from "../src/internal/poolHost.ts"
import { openPool } from "../src/promise.ts"
import * as kinds from "./fixtures/cases/kinds.ts"
import { add, ENDED, open, reached, STARTED } from "./fixtures/tasks/basic.ts"
import { install } from "./fixtures/tasks/cells.ts"
import { NOTHING_LEFT, onEvery, rawPool, settledIn } from "./fixtures/tasks/pools.ts"
import { bottomOf } from "./support/errors.ts"
import { currentRuntime } from "./support/run.ts"

const { breeds, callers, everyWay, loads, newGate, opensPool, sends, whirls } = kinds

/** Those that do not block a machine while they wait. */
const waitingWays = everyWay.filter(({ kind }) => kind !== "sync")
const directWays = everyWay.filter(({ caller }) => caller === undefined)

const [async, effect, generator] = waitingWays
/** Of all kinds, most of them of the cheapest one. */
const mixed = (i: number): kinds.Way =>
  [waitingWays[(i / 10 | 0) % waitingWays.length], effect, generator][i % 10] ?? async

const range = (n: number): Array<number> => Array.from({ length: n }, (_, i) => i)

const on = <A, E>(pool: PoolService, effect: Effect.Effect<A, E, Pool>) => Effect.provideService(effect, Pool, pool)

const unspoiled = Effect.gen(function* () {
  expect(yield* Pool.forEach(range(20), (i) => add(i, 1))).toEqual(range(20).map((i) => i + 1))
  expect(yield* settledIn(yield* Pool)).toEqual(NOTHING_LEFT)
})

const until = (cells: Int32Array, at: number, n: number) => Effect.promise(() => reached(cells, at, n))

const failureOf = (exit: Exit.Exit<unknown, unknown>): unknown => {
  if (Exit.isSuccess(exit)) throw new Error(`it succeeded with ${String(exit.value)}`)
  return bottomOf(Cause.squash(exit.cause))
}

const strays: Array<unknown> = []
process.on("unhandledRejection", (reason) => strays.push(reason))

layer(Pool.layer({ procs: 3, capacity: 131_072 }), { excludeTestServices: true })("Calls in progress", (it) => {
  it.effect("66,000 at once, of all kinds, each give their own value", () =>
    Effect.gen(function* () {
      const gate = newGate()
      const items = range(66_000)
      const all = yield* Effect.fork(
        Pool.forEach(items, (i) => mixed(i).call("gated", gate, i)),
      )
      yield* until(gate, STARTED, items.length)
      open(gate)
      expect(yield* Fiber.join(all)).toEqual(items)
      yield* unspoiled
    }))

  for (const { call, name } of everyWay) {
    it.effect(`go on when their neighbours are interrupted: ${name}`, () =>
      Effect.gen(function* () {
        const gate = newGate()
        const fibers = yield* Effect.forEach(range(3), (i) => Effect.fork(call("held", gate, i)))
        yield* until(gate, STARTED, 3)
        // Each cleans up, and the others do not. That it has ended is told when its caller's machine is free for that.
        for (const [cleaned, i] of [[1, 1], [2, 0]] as const) {
          yield* Fiber.interruptFork(fibers[i])
          yield* until(gate, ENDED, cleaned)
          expect(gate[ENDED]).toBe(cleaned)
        }
        open(gate)
        expect(yield* Fiber.join(fibers[2])).toBe(2)
        for (const i of [0, 1]) expect(Exit.isInterrupted(yield* Fiber.await(fibers[i]))).toBe(true)
        expect(gate[ENDED]).toBe(3)
        yield* unspoiled
      }))
  }

  for (const { call, name } of everyWay) {
    it.effect(`bring late results and errors to nobody: ${name}`, () =>
      Effect.gen(function* () {
        for (const family of ["gated", "failsLate"] as const) {
          const gate = newGate()
          const fibers = yield* Effect.forEach(range(3), (i) => Effect.fork(call(family, gate, `late ${i}`)))
          yield* until(gate, STARTED, 3)
          // Those that wait are given up at once; those that block are waited for.
          yield* Effect.forEach(fibers, (fiber) => Fiber.interruptFork(fiber))
          const fresh = yield* Effect.fork(Pool.forEach(range(30), (i) => call("given", `fresh ${i}`)))
          open(gate)
          for (const fiber of fibers) {
            expect(Exit.isInterrupted(yield* Fiber.await(fiber))).toBe(true)
          }
          expect(yield* Fiber.join(fresh)).toEqual(range(30).map((i) => `fresh ${i}`))
          yield* unspoiled
        }
        expect(strays).toEqual([])
      }))
  }

  it.effect("are not disturbed by what others left behind, whatever their kinds", () =>
    Effect.gen(function* () {
      const left = newGate()
      const gate = newGate()
      const waiting = yield* Effect.fork(
        Pool.forEach(waitingWays, ({ call }, i) => call("gated", gate, i)),
      )
      yield* until(gate, STARTED, waitingWays.length)
      expect(new Set(yield* Pool.forEach(everyWay, ({ call }) => call("leaves", left)))).toEqual(new Set(["fine"]))
      // While the timers throw and the promises are rejected.
      while (left[STARTED] < everyWay.length || left[ENDED] < everyWay.length) {
        expect(yield* Pool.forEach(everyWay, ({ call }, i) => call("given", i))).toEqual(range(everyWay.length))
      }
      open(gate)
      expect(yield* Fiber.join(waiting)).toEqual(range(waitingWays.length))
      yield* unspoiled
    }))

  it.effect("may fail to send what they were given or give, each alone, and tell where", () =>
    Effect.gen(function* () {
      for (const what of ["function", "symbol", "getter"]) {
        for (const caller of callers) expect(yield* sends[caller](what)).toBe("NotSerializable")
        for (const { call } of directWays) {
          const error = failureOf(yield* Effect.exit(call("given", kinds.valueOf(what))))
          expect(error).toMatchObject({ _tag: "NotSerializable" })
          expect((error as { readonly path: string }).path).toMatch(/^args\[0\]\../)
        }
        for (const { call, name } of everyWay) {
          const error = failureOf(yield* Effect.exit(call("gives", what)))
          expect(error, name).toMatchObject({ _tag: "NotSerializable" })
          expect((error as { readonly path: string }).path).toMatch(/^result\../)
        }
      }
      yield* unspoiled
    }))

  it.effect("may abort 10,000 with one signal, or each with its own, and leave no listener", () =>
    Effect.promise(async () => {
      const warnings: Array<unknown> = []
      const warned = (warning: unknown) => warnings.push(warning)
      process.on("warning", warned)
      const pool = await openPool({ procs: 2, capacity: 20_000 })
      const one = new AbortController()
      let listeners = 0
      const counting = (controller: AbortController): AbortController => {
        const { signal } = controller
        const add = signal.addEventListener.bind(signal)
        const remove = signal.removeEventListener.bind(signal)
        signal.addEventListener = (...args: Parameters<typeof add>) => {
          listeners++
          add(...args)
        }
        signal.removeEventListener = (...args: Parameters<typeof remove>) => {
          listeners--
          remove(...args)
        }
        return controller
      }
      counting(one)
      for (const controllerOf of [() => one, () => counting(new AbortController())]) {
        const gate = newGate()
        const controllers = range(10_000).map(controllerOf)
        const ends = controllers.map(({ signal }, i) =>
          pool.run(mixed(i).call("held", gate, i), { signal }).catch((reason) => reason)
        )
        await reached(gate, STARTED, 10_000)
        for (const controller of new Set(controllers)) controller.abort("enough")
        expect(new Set(await Promise.all(ends))).toEqual(new Set(["enough"]))
        // Each has cleaned up.
        expect(gate[ENDED]).toBe(10_000)
        expect(listeners).toBe(0)
      }
      await pool.close()
      process.off("warning", warned)
      expect(warnings).toEqual([])
    }))
})

describe("A task whose machine ends", () => {
  const ends = currentRuntime === "deno" ? ["process.exit", "self.close"] : ["process.exit"]
  const mortal = everyWay.filter(({ caller, kind }) => caller === undefined || kind === "generator")

  it.live("fails with MachineExited, of whatever kind it is, and what is queued beside it completes", () =>
    Effect.gen(function* () {
      const pool = yield* Pool
      for (const how of ends) {
        for (const { call, name } of mortal) {
          const exit = yield* Effect.fork(Effect.exit(call("exits", how)))
          const queued = yield* Effect.fork(Pool.forEach(range(100), (i) => add(i, 0)))
          expect(failureOf(yield* Fiber.join(exit)), name).toBeInstanceOf(MachineExited)
          expect(yield* Fiber.join(queued)).toEqual(range(100))
        }
      }
      while (!hostOf(pool).atFullStrength) yield* Effect.sleep(1)
      yield* unspoiled
    }).pipe(Effect.provide(Pool.layer({ procs: 2 }))))

  // Elsewhere memory is the process's.
  it.live.skipIf(currentRuntime !== "node")("for want of memory fails likewise", () =>
    Effect.gen(function* () {
      for (const { call, name } of mortal) {
        const exit = yield* Effect.fork(Effect.exit(call("fills")))
        expect(yield* Pool.forEach(range(100), (i) => add(i, 0)), name).toEqual(range(100))
        expect(failureOf(yield* Fiber.join(exit)), name).toBeInstanceOf(MachineExited)
      }
      yield* unspoiled
    }).pipe(Effect.provide(Pool.layer({ procs: 2, resourceLimits: { maxOldGenerationSizeMb: 64 } }))))
})

describe("A task that never ends", () => {
  it.live("on the machine of who waits for it is asked to end with that", () =>
    Effect.gen(function* () {
      for (const { call, name } of everyWay) {
        const gate = newGate()
        const fiber = yield* Effect.fork(call("held", gate, 1))
        yield* until(gate, STARTED, 1)
        expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber)), name).toBe(true)
        expect(gate[ENDED]).toBe(1)
      }
      yield* unspoiled
    }).pipe(Effect.provide(Pool.layer({ procs: 1 }))))

  it.live("by operations of an Effect gives way, and can be interrupted", () =>
    Effect.gen(function* () {
      for (const task of [whirls.effect, whirls.generator]) {
        const cells = newGate()
        const fiber = yield* Effect.fork(task(cells))
        yield* until(cells, STARTED, 1)
        expect(yield* add(1, 2)).toBe(3)
        expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
        expect(cells[ENDED]).toBe(1)
      }
      yield* unspoiled
    }).pipe(Effect.provide(Pool.layer({ procs: 1 }))))

  for (const group of [directWays, everyWay.filter(({ caller, kind }) => caller !== undefined && kind === "sync")]) {
    it.live(`and heeds nothing is told of when its pool has closed: ${group.map(({ name }) => name).join("; ")}`, () =>
      Effect.gen(function* () {
        const gate = newGate()
        const scope = Effect.scoped(Effect.gen(function* () {
          const pool = yield* Pool.make({ procs: group.length, grace: 100 })
          const fibers = yield* Effect.forEach(group, ({ call }) => Effect.forkDaemon(on(pool, call("stuck", gate))))
          yield* until(gate, STARTED, group.length)
          return fibers
        }))
        const exit = yield* Effect.exit(scope)
        // Deno cannot end them.
        if (currentRuntime === "deno") expect(failureOf(exit)).toMatchObject({ _tag: "MachineStuck" })
        else expect(Exit.isSuccess(exit)).toBe(true)
        open(gate)
      }))
  }

  for (const caller of callers) {
    it.live(`because it makes itself again lets others have their turn: ${caller}`, () =>
      Effect.gen(function* () {
        const gate = newGate()
        yield* breeds[caller](gate)
        for (const { call } of everyWay) expect(yield* call("given", 7)).toBe(7)
        expect(gate[STARTED]).toBeGreaterThan(1)
        open(gate)
        yield* unspoiled
      }).pipe(Effect.provide(Pool.layer({ procs: 1 }))))
  }
})

describe("A call whose module does not load", () => {
  it.live("fails, and its caller goes on, of whatever kind that is", () =>
    Effect.gen(function* () {
      // One after the other: each needs a machine that tries, beside its own.
      for (const caller of callers) {
        for (const file of ["missing", "throwsAtLoad", "neverLoads"]) {
          expect(yield* loads[caller](file), file).toBe("TaskNotFound")
        }
        const trying = yield* Effect.fork(loads[caller]("loadsForEver"))
        yield* Effect.sleep(5)
        expect(Exit.isInterrupted(yield* Fiber.interrupt(trying))).toBe(true)
      }
      yield* unspoiled
    }).pipe(Effect.provide(Pool.layer({ procs: 2, loadTimeout: 1000 }))))
})

describe("Every way of calling", () => {
  it.live("fails with PoolClosed once the pool has closed", () =>
    Effect.gen(function* () {
      const pool = yield* Effect.scoped(Pool.make({ procs: 1 }))
      for (const { call } of everyWay) {
        expect(failureOf(yield* Effect.exit(on(pool, call("given", 1))))).toMatchObject({ _tag: "PoolClosed" })
      }
      expect(hostOf(pool).atFullStrength).toBe(false)
    }))

  for (const workers of [1, 2]) {
    it.live(`is for more calls than workers, which wait for theirs: ${workers}`, () =>
      Effect.gen(function* () {
        const calls = [...everyWay, ...everyWay].map(({ call }, i): Call<unknown, unknown> => call("given", i))
        expect(yield* runOn(workers, calls)).toEqual(range(calls.length))
      }))
  }

  for (const { call, name } of directWays) {
    it.scopedLive(`lets in, in order, those that wait for room: ${name}`, () =>
      Effect.gen(function* () {
        const pool = yield* rawPool({ procs: 1, capacity: 16, global: true })
        const cells = newGate()
        const starts = yield* Effect.forEach(range(200), () => pool.run(call("counts", cells)), {
          concurrency: "unbounded",
        })
        expect(starts).toEqual(range(200).map((i) => i + 1))
        expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
      }))
  }

  it.live("works in a pool that a task has opened", () =>
    Effect.gen(function* () {
      const names = everyWay.map(({ name }) => name)
      for (const caller of callers) expect(yield* opensPool[caller](names)).toEqual(range(names.length))
      yield* unspoiled
    }).pipe(Effect.provide(Pool.layer({ procs: 1 }))))

  it.scopedLive("leaves the table and the arena empty, and has run each call once", () =>
    Effect.gen(function* () {
      const n = Number(process.env.RUNON_CALLS ?? 1000) * everyWay.length
      const pool = yield* rawPool({ procs: 2 })
      const cells = new Int32Array(new SharedArrayBuffer(4 * n))
      yield* onEvery(pool, (met, procs) => install(cells, met, procs))
      yield* on(pool, Pool.forEach(range(n), (i) => everyWay[i % everyWay.length].call("tiny", i), { discard: true }))
      expect(cells.findIndex((count) => count !== 1)).toBe(-1)
      expect(yield* settledIn(pool)).toEqual(NOTHING_LEFT)
    }))
})
