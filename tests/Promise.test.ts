import { Effect, Either, Option } from "effect"
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest"
import type { Call, TaskFailed } from "../src/index.ts"
import { type MapResults, openPool, type PromisePool, runOn } from "../src/promise.ts"
import { dies } from "./fixtures/effects/defects.ts"
import * as effects from "./fixtures/effects/tasks.ts"
import * as tasks from "./fixtures/tasks/basic.ts"
import { collect, failureOf, leavesNothingIn, range, source, spyOn } from "./support/promises.ts"
import { currentRuntime, runScript } from "./support/run.ts"
import { threadCount, threadsBackTo } from "./support/threads.ts"

const { add, ENDED, exits, fails, gated, gatedAsync, identity, later, newCells, open, reached } = tasks
const { rejects, STARTED, untilCancelled } = tasks

let pool: PromisePool
beforeAll(async () => {
  pool = await openPool({ procs: 2, capacity: 20_000 })
})
afterAll(() => pool.close())
leavesNothingIn(() => pool)

describe("pool.run", () => {
  it("resolves with what the call gives, alone and beside others", async () => {
    expect(await pool.run(add(1, 2))).toBe(3)
    expect(await pool.run(later({ deep: [1n, new Date(0)] }))).toEqual({ deep: [1n, new Date(0)] })
    expect(await Promise.all(range(2000).map((i) => pool.run(i % 2 === 0 ? add(i, 1) : later(i + 1))))).toEqual(
      range(2000).map((i) => i + 1),
    )
    expect(await pool.run(effects.root(9))).toBe(3)
  })

  it("rejects with the error itself", async () => {
    const failed = await failureOf(pool.run(fails("no"))) as TaskFailed
    expect(failed).toMatchObject({ _tag: "TaskFailed", task: "fails" })
    expect((failed.error as Error).message).toBe("no")
    expect(await failureOf(pool.run(rejects("no")))).toMatchObject({ _tag: "TaskFailed", task: "rejects" })
    expect(await failureOf(pool.run(identity(() => {})))).toMatchObject({ _tag: "NotSerializable", path: "args[0]" })
    expect(await failureOf(pool.run(exits("process.exit")))).toMatchObject({ _tag: "MachineExited", task: "exits" })
    expect(await failureOf(pool.run(3 as never))).toBeInstanceOf(TypeError)
    expect(await pool.run(add(1, 2))).toBe(3)
  })

  it("rejects with the typed error of an Effect task, with its defect, or with its interruption", async () => {
    const error = await failureOf(pool.run(effects.root(-1)))
    expect(error).toBeInstanceOf(effects.NotPositive)
    expect(error).toMatchObject({ _tag: "NotPositive", n: -1 })
    const defect = await failureOf(pool.run(dies("on purpose")))
    expect(defect).toBeInstanceOf(RangeError)
    expect(defect).toMatchObject({ message: "on purpose" })
    expect(await failureOf(pool.run(effects.several()))).toBe("typed")
    expect(await failureOf(pool.run(effects.interrupted()))).toMatchObject({ _tag: "InterruptedException" })
  })

  it("submits nothing if the signal is aborted already", async () => {
    const cells = newCells()
    const reason = new Error("never mind")
    const signal = AbortSignal.abort(reason)
    const spy = spyOn(signal)
    expect(await failureOf(pool.run(tasks.mark(cells, STARTED), { signal }))).toBe(reason)
    await pool.run(add(1, 2))
    expect([cells[STARTED], spy.added]).toEqual([0, 0])
  })

  it("never runs queued calls that are aborted, in any order, and runs their neighbours", async () => {
    const cells = newCells()
    const busy = range(2).map((i) => pool.run(gated(cells, i)))
    await reached(cells, STARTED, 2)
    const queued = newCells()
    const [first, second] = [new AbortController(), new AbortController()]
    const one = pool.run(gated(queued, 1), { signal: first.signal })
    const two = pool.run(gated(queued, 2), { signal: second.signal })
    const three = pool.run(add(3, 3), { signal: new AbortController().signal })
    second.abort(2)
    first.abort(1)
    expect(await Promise.all([failureOf(one), failureOf(two)])).toEqual([1, 2])
    open(cells)
    expect(await three).toBe(6)
    expect(await Promise.all(busy)).toEqual([0, 1])
    expect(queued[STARTED]).toBe(0)
  })

  it("waits for the end of a sync task that it aborts, and says why", async () => {
    const cells = newCells()
    const controller = new AbortController()
    const running = failureOf(pool.run(untilCancelled(cells), { signal: controller.signal }))
    await reached(cells, STARTED, 1)
    controller.abort()
    expect(await running).toBe(controller.signal.reason)
    expect(cells[ENDED]).toBe(1)
  })

  it("rejects with the reason even if the aborted call succeeds", async () => {
    const cells = newCells()
    const controller = new AbortController()
    const running = failureOf(pool.run(gated(cells, 1), { signal: controller.signal }))
    await reached(cells, STARTED, 1)
    controller.abort("enough")
    open(cells)
    expect(await running).toBe("enough")
    expect(cells[ENDED]).toBe(1)
  })

  it("waits for the finalizers of an Effect task that it aborts", async () => {
    const log = newCells()
    const controller = new AbortController()
    const running = failureOf(pool.run(effects.forever(log), { signal: controller.signal }))
    await reached(log, 0, 1)
    controller.abort("enough")
    expect(await running).toBe("enough")
    expect(Array.from(log.subarray(0, 3))).toEqual([1, 1, 1])
  })

  it("leaves the neighbours of an aborted call alone", async () => {
    const cells = newCells()
    const controller = new AbortController()
    const calls = range(3).map((i) => pool.run(gatedAsync(cells, i), i === 1 ? { signal: controller.signal } : {}))
    const aborted = failureOf(calls[1])
    await reached(cells, STARTED, 3)
    controller.abort("this one")
    expect(await aborted).toBe("this one")
    open(cells)
    expect(await Promise.all([calls[0], calls[2]])).toEqual([0, 2])
    await reached(cells, ENDED, 3)
  })

  it("handles the rejection of an async task whose caller is gone", async () => {
    for (let i = 0; i < 20; i++) {
      const controller = new AbortController()
      const running = failureOf(pool.run(rejects("nobody listens"), { signal: controller.signal }))
      if (i % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 0))
      controller.abort(i)
      // Unless it had been rejected before.
      const error = await running
      if (error !== i) expect(error).toMatchObject({ _tag: "TaskFailed" })
    }
    expect(await pool.run(later("still here"))).toBe("still here")
  })

  it("adds one listener for 10,000 calls with one signal, and leaves none", async () => {
    const { signal } = new AbortController()
    const spy = spyOn(signal)
    await Promise.all(range(10_000).map((i) => pool.run(add(i, 1), { signal })))
    expect(spy).toEqual({ added: 1, now: 0 })
    await failureOf(pool.run(fails("no"), { signal }))
    await failureOf(pool.run(identity(() => {}), { signal }))
    // One that ends while it is submitted needs none.
    expect(spy.added).toBeLessThanOrEqual(3)
    expect(spy.now).toBe(0)
  })

  it("cancels 10,000 calls with one signal, and leaves no listener", async () => {
    const cells = newCells()
    const controller = new AbortController()
    const spy = spyOn(controller.signal)
    const calls = range(10_000).map(() => failureOf(pool.run(untilCancelled(cells), controller)))
    await reached(cells, STARTED, 2)
    controller.abort("all")
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["all"]))
    expect(spy).toEqual({ added: 1, now: 0 })
    expect(cells[STARTED]).toBeLessThan(100)
    expect(cells[ENDED]).toBe(cells[STARTED])
  })

  it("leaves no listener on any of 10,000 signals", async () => {
    const controllers = range(10_000).map(() => new AbortController())
    const spies = controllers.map(({ signal }) => spyOn(signal))
    const outcomes = controllers.map(({ signal }, i) => pool.run(add(i, 1), { signal }).catch((reason) => reason))
    for (let i = 0; i < controllers.length; i += 3) controllers[i].abort(i + 1)
    expect(await Promise.all(outcomes)).toEqual(range(10_000).map((i) => i + 1))
    expect(spies.reduce((sum, { now }) => sum + now, 0)).toBe(0)
  })
})

describe("openPool", () => {
  it("closes at the end of its block, with proof that every machine has ended", async () => {
    await (await openPool({ procs: 2 })).close()
    const before = threadCount()
    const cells = newCells()
    let queued: ReadonlyArray<Promise<unknown>>
    let running: Promise<unknown>
    {
      await using pool = await openPool({ procs: 1 })
      expect(pool.procs).toBe(1)
      running = failureOf(pool.run(untilCancelled(cells)))
      queued = range(10).map((i) => failureOf(pool.run(add(i, 0))))
      await reached(cells, STARTED, 1)
    }
    for (const error of await Promise.all(queued)) {
      expect(error).toMatchObject({ _tag: "PoolClosed", task: "add", started: false })
    }
    expect(await running).toMatchObject({ _tag: "PoolClosed", task: "untilCancelled", started: true })
    expect(String(await running)).toContain(`task "untilCancelled" was stopped while it ran`)
    expect(cells[ENDED]).toBe(1)
    if (before !== undefined) expect(await threadsBackTo(before)).toBeLessThanOrEqual(before)
  })

  it("closes once, whoever asks, and at once after it was opened", async () => {
    const pool = await openPool({ procs: 1 })
    const closing = pool.close()
    expect(pool.close()).toBe(closing)
    await Promise.all([closing, pool[Symbol.asyncDispose]()])
    expect(await failureOf(pool.run(add(1, 2)))).toMatchObject({ _tag: "PoolClosed", task: "add" })
    const { signal } = new AbortController()
    const spy = spyOn(signal)
    expect(await failureOf(pool.run(add(1, 2), { signal }))).toMatchObject({ _tag: "PoolClosed" })
    const from = source(3)
    const map = collect(pool.map(from.items(), (i) => add(i, 0), { signal }))
    expect(await failureOf(map)).toMatchObject({ _tag: "PoolClosed" })
    expect([spy.now, from.seen.closed]).toEqual([0, 1])
    expect(pool.stats()).toMatchObject({ inFlight: 0, records: 0 })
  })

  it("ends the loops over a pool that closes", async () => {
    const pool = await openPool({ procs: 1 })
    const cells = newCells()
    const from = source(100)
    const loop = failureOf(collect(pool.map(from.items(), () => untilCancelled(cells))))
    await reached(cells, STARTED, 1)
    await pool.close()
    expect(await loop).toMatchObject({ _tag: "PoolClosed", task: "untilCancelled" })
    expect([cells[ENDED], from.seen.closed]).toEqual([cells[STARTED], 1])
  })

  it("rejects with the error itself, and leaves nothing", async () => {
    expect(await failureOf(openPool({ procs: 0 }))).toMatchObject({ _tag: "InvalidOptions", option: "procs" })
    const before = threadCount()
    expect(await failureOf(openPool({ procs: 1, startTimeout: 1 }))).toMatchObject({ _tag: "MachineStartFailed" })
    if (before !== undefined) expect(await threadsBackTo(before)).toBeLessThanOrEqual(before)
  })

  it("is given up when its signal is aborted, and leaves nothing", async () => {
    const before = threadCount()
    expect(await failureOf(openPool({ procs: 1, signal: AbortSignal.abort("never") }))).toBe("never")
    const controller = new AbortController()
    const spy = spyOn(controller.signal)
    const opening = failureOf(openPool({ procs: 1, signal: controller.signal }))
    controller.abort("too late")
    expect(await opening).toBe("too late")
    expect(spy).toEqual({ added: 1, now: 0 })
    if (before !== undefined) expect(await threadsBackTo(before)).toBeLessThanOrEqual(before)
  })

  it("says which machine could not be ended", async (test) => {
    // Node and Bun can end any.
    if (currentRuntime !== "deno") return test.skip()
    const pool = await openPool({ procs: 1, grace: 1 })
    // It has the module by then, and runs the next call at once.
    await pool.run(add(1, 2))
    const cells = newCells()
    const running = failureOf(pool.run(gated(cells, 1)))
    await reached(cells, STARTED, 1)
    expect(await failureOf(pool.close())).toMatchObject({ _tag: "MachineStuck", machine: 0, task: "gated" })
    expect(await running).toMatchObject({ _tag: "MachineExited" })
    open(cells)
  })

  it.each([
    ["an idle pool", ["sum 3", "end"]],
    ["a loop that was left", ["sum 3", "first 1", "end"]],
    ["a call too late", ["sum 3", "PoolClosed", "end"]],
    ["calls in flight", ["sum 3", "end", "late 0", "late 1", "late 2"]],
  ])("lets a program end by itself that leaves %s behind", async (ending, lines) => {
    const result = await runScript(new URL("./fixtures/lifetime/promise.ts", import.meta.url), [ending])
    expect(result.stdout.trim().split("\n").sort()).toEqual(lines.sort())
    expect(result).toMatchObject({ code: 0, stderr: "" })
  })

  it("lets a program end with a failure that it does not handle", async () => {
    const { code, stderr } = await runScript(new URL("./fixtures/lifetime/promise.ts", import.meta.url), ["a failure"])
    expect(code).toBe(1)
    expect(stderr).toContain(`task "fails" failed`)
  })
})

describe("runOn with promises", () => {
  it("gives a tuple, a record or an array, and starts nothing for an empty list", async () => {
    expect(await runOn(2, [add(1, 2), identity("x")])).toEqual([3, "x"])
    expect(await runOn(1, { sum: add(1, 2), text: identity("x") })).toEqual({ sum: 3, text: "x" })
    expect(await runOn(1, new Set([add(1, 2), add(3, 4)]))).toEqual([3, 7])
    expect(await runOn(1, [add(1, 2)], { discard: true })).toBeUndefined()
    const before = threadCount()
    expect(await runOn(2, [])).toEqual([])
    expect(threadCount() ?? 0).toBeLessThanOrEqual(before ?? 0)
  })

  it("rejects with the first failure itself, when every worker has ended", async () => {
    const cells = newCells()
    const before = threadCount()
    const calls: Array<Call<unknown>> = [untilCancelled(cells), tasks.failsAfter(cells, 1)]
    expect(await failureOf(runOn(2, calls))).toMatchObject({ _tag: "TaskFailed", task: "failsAfter" })
    expect(cells[ENDED]).toBe(1)
    if (before !== undefined) expect(await threadsBackTo(before)).toBeLessThanOrEqual(before)
    expect(await failureOf(runOn(0, [add(1, 2)]))).toMatchObject({ _tag: "InvalidOptions", option: "workers" })
    expect(await failureOf(runOn(1, [effects.root(-1)]))).toBeInstanceOf(effects.NotPositive)
  })

  it("gives or tells every outcome in the other modes", async () => {
    const outcomes = await runOn(2, [add(1, 2), fails("no")], { mode: "either" })
    expect(outcomes.map(Either.isRight)).toEqual([true, false])
    const errors = await failureOf(runOn(1, [add(1, 2), fails("no")], { mode: "validate" }))
    expect((errors as Array<Option.Option<unknown>>).map(Option.isSome)).toEqual([false, true])
  })

  it("is given up when its signal is aborted, and has ended by then", async () => {
    const before = threadCount()
    const cells = newCells()
    const controller = new AbortController()
    const spy = spyOn(controller.signal)
    const running = failureOf(runOn(2, range(50).map(() => untilCancelled(cells)), controller))
    await reached(cells, STARTED, 2)
    controller.abort("enough")
    expect(await running).toBe("enough")
    expect(cells[ENDED]).toBe(cells[STARTED])
    expect(spy).toEqual({ added: 1, now: 0 })
    if (before !== undefined) expect(await threadsBackTo(before)).toBeLessThanOrEqual(before)
    expect(await failureOf(runOn(1, [tasks.mark(cells, 5)], controller))).toBe("enough")
    expect(cells[5]).toBe(0)
  })
})

describe("The types", () => {
  // Never called: the compiler is the test.
  const typed = async (pool: PromisePool): Promise<void> => {
    expectTypeOf(await pool.run(add(1, 2))).toEqualTypeOf<number>()
    expectTypeOf(pool.run(effects.root(4))).toEqualTypeOf<Promise<number>>()
    expectTypeOf(pool.run(untilCancelled(newCells()))).toEqualTypeOf<Promise<void>>()
    expectTypeOf(pool.run({} as Call<never>)).toEqualTypeOf<Promise<never>>()
    // @ts-expect-error -- not a call
    await pool.run(Effect.succeed(1))

    expectTypeOf(
      pool.map(
        ["a"],
        (item, i) => (expectTypeOf([item, i] as const).toEqualTypeOf<readonly [string, number]>(), add(1, 2)),
      ),
    ).toEqualTypeOf<MapResults<number>>()
    for await (const result of pool.map(source(1).asyncItems(), (n) => effects.root(n))) {
      expectTypeOf(result).toEqualTypeOf<number>()
    }
    // @ts-expect-error -- f gives calls
    pool.map([1], (n) => n)

    expectTypeOf(await runOn(2, [add(1, 2), identity("x")])).toEqualTypeOf<[number, unknown]>()
    expectTypeOf(await runOn(2, { sum: add(1, 2) })).toEqualTypeOf<{ sum: number }>()
    expectTypeOf(await runOn(2, new Set([add(1, 2)]))).toEqualTypeOf<Array<number>>()
    expectTypeOf(await runOn(2, [add(1, 2)], { discard: true })).toEqualTypeOf<void>()
    const { signal } = new AbortController()
    expectTypeOf(await runOn(2, [add(1, 2)], { signal, mode: "validate" })).toEqualTypeOf<[number]>()
    expectTypeOf((await runOn(2, [add(1, 2)], { mode: "either" }))[0]).toExtend<Either.Either<number, unknown>>()
  }

  it("are those of the calls", () => expect(typed).toBeTypeOf("function"))
})
