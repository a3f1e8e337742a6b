import { Effect, Either, Option } from "effect"
import process from "node:process"
import { afterAll, afterEach, beforeAll, describe, expect, expectTypeOf, it } from "vitest"
import type { Call, TaskFailed } from "../src/index.ts"
import { type MapResults, openPool, type PromisePool, runOn } from "../src/promise.ts"
import { dies } from "./fixtures/effects/defects.ts"
import * as effects from "./fixtures/effects/tasks.ts"
import * as tasks from "./fixtures/tasks/basic.ts"
import { currentRuntime, runScript } from "./support/run.ts"
import { threadCount, threadsBackTo } from "./support/threads.ts"

const { add, counted, ENDED, exits, fails, gated, gatedAsync, identity, later, MOST, newCells, open, reached } = tasks
const { rejects, STARTED, untilCancelled } = tasks

const range = (n: number): Array<number> => Array.from({ length: n }, (_, i) => i)

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then((value) => {
    throw new Error(`it succeeded with ${String(value)}`)
  }, (error) => error)

const collect = async <A>(items: AsyncIterable<A>): Promise<Array<A>> => {
  const all: Array<A> = []
  for await (const item of items) all.push(item)
  return all
}

/** Counts the listeners of a signal. */
const spyOn = (signal: AbortSignal): { readonly added: number; readonly now: number } => {
  const counts = { added: 0, now: 0 }
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    counts.added++
    counts.now++
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    counts.now--
    remove(...args)
  }
  return counts
}

/** A source that counts how far it was read, and whether it was closed. */
const source = (length: number, failAt = Infinity) => {
  const seen = { read: 0, closed: 0 }
  const items = function* (): Generator<number> {
    try {
      for (let i = 0; i < length; i++) {
        if (i === failAt) throw new Error(`item ${i} cannot be read`)
        seen.read++
        yield i
      }
    } finally {
      seen.closed++
    }
  }
  const asyncItems = async function* (): AsyncGenerator<number> {
    for (const item of items()) {
      await new Promise((resolve) => setTimeout(resolve, 0))
      yield item
    }
  }
  return { seen, items, asyncItems }
}

/** An async source that is waiting for its next item hears of the end when that has come, and is not waited for. */
const closing = (from: ReturnType<typeof source>): Promise<void> => expect.poll(() => from.seen.closed).toBe(1)

const strays: Array<unknown> = []
process.on("unhandledRejection", (reason) => strays.push(reason))
process.on("warning", (warning) => strays.push(warning))

let pool: PromisePool
beforeAll(async () => {
  pool = await openPool({ procs: 2, capacity: 20_000 })
})
afterAll(() => pool.close())

afterEach(async () => {
  // Machines put away what they had in hand after they told of its end.
  for (const end = performance.now() + 10_000; performance.now() < end;) {
    const { inFlight, records } = pool.stats()
    if (inFlight + records === 0) break
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  expect(pool.stats()).toMatchObject({ inFlight: 0, records: 0 })
  expect(strays).toEqual([])
})

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

describe("pool.map", () => {
  it("gives results in the order of an array, an iterable or an async iterable", async () => {
    const squares = (items: Iterable<number> | AsyncIterable<number>) =>
      collect(pool.map(items, (n, i) => n % 3 === 0 ? later(n * i) : identity(n * i)))
    const expected = range(200).map((n) => n * n)
    expect(await squares(range(200))).toEqual(expected)
    expect(await squares(new Set(range(200)))).toEqual(expected)
    expect(await squares(source(200).items())).toEqual(expected)
    expect(await squares(source(200).asyncItems())).toEqual(expected)
    expect(await squares([])).toEqual([])
    expect(await collect(pool.map([undefined], () => identity(undefined)))).toEqual([undefined])
  })

  it("gives results as they come if told to", async () => {
    const cells = newCells()
    const results = pool.map(range(5), (i) => i === 0 ? gatedAsync(cells, i) : add(i, 0), { ordered: false })
    const early = [await results.next(), await results.next(), await results.next(), await results.next()]
    expect(early.map(({ value }) => value).sort()).toEqual([1, 2, 3, 4])
    open(cells)
    expect([await results.next(), await results.next()]).toEqual([
      { done: false, value: 0 },
      { done: true, value: undefined },
    ])
  })

  it("answers requests that are made before there is anything to give", async () => {
    const results = pool.map(range(3), (i) => later(i), { concurrency: 2 })
    const answers = await Promise.all(range(5).map(() => results.next()))
    expect(answers.map(({ done, value }) => done === true ? "done" : value)).toEqual([0, 1, 2, "done", "done"])
  })

  for (const kind of ["items", "asyncItems"] as const) {
    it(`reads no further ahead than told, and stops when the consumer does (${kind})`, async () => {
      for (const ordered of [true, false]) {
        const from = source(100)
        const results = pool.map(from[kind](), (i) => add(i, 0), { concurrency: 4, ordered })
        expect(from.seen.read).toBe(0)
        for (let taken = 1; taken <= 10; taken++) {
          await results.next()
          expect(from.seen.read).toBeLessThanOrEqual(taken + 4)
        }
        // With nobody reading, calls end and the source is read to the limit, and not beyond it.
        await expect.poll(() => from.seen.read).toBe(14)
        expect(await pool.run(later("meanwhile"))).toBe("meanwhile")
        expect([from.seen.read, from.seen.closed]).toEqual([14, 0])
        await results.return()
        expect([from.seen.read, from.seen.closed]).toEqual([14, 1])
        expect(await results.next()).toEqual({ done: true, value: undefined })
      }
    })
  }

  it("looks twice as far ahead as there are processors, but at least 16 items", async () => {
    const from = source(100)
    const results = pool.map(from.items(), (i) => add(i, 0))
    await results.next()
    expect(from.seen.read).toBe(17)
    await results.return()
  })

  it("never has more calls in progress than told", async () => {
    const cells = newCells()
    await collect(pool.map(range(30), () => counted(cells, 3), { concurrency: 3 }))
    expect([cells[MOST], cells[ENDED]]).toEqual([3, 30])
    for (const concurrency of [0, -1, 1.5, NaN, Infinity]) {
      expect(() => pool.map([], () => add(1, 1), { concurrency })).toThrowError(/"concurrency" must be a whole number/)
    }
  })

  it("cancels what is queued, waits for what runs and closes the source when the loop is left", async () => {
    for (const kind of ["items", "asyncItems"] as const) {
      const cells = newCells()
      const from = source(100)
      for await (const first of pool.map(from[kind](), (i) => i === 0 ? add(0, 7) : untilCancelled(cells))) {
        expect(first).toBe(7)
        await reached(cells, STARTED, 2)
        break
      }
      // A machine that was cancelled may take one more before the host has come to that.
      expect(cells[STARTED]).toBeLessThanOrEqual(4)
      expect(cells[ENDED]).toBe(cells[STARTED])
      await closing(from)
    }
  })

  it("ends with the first error, after it has cancelled the others", async () => {
    for (const kind of ["items", "asyncItems"] as const) {
      const cells = newCells()
      const from = source(100)
      const calls = (i: number): Call<unknown> => i === 1 ? tasks.failsAfter(cells, 1) : untilCancelled(cells)
      // As many as there are machines: which of more calls would be started is not certain.
      const results = pool.map(from[kind](), calls, { concurrency: 2 })
      expect(await failureOf(results.next())).toMatchObject({ _tag: "TaskFailed", task: "failsAfter" })
      expect(cells[ENDED]).toBe(cells[STARTED])
      await closing(from)
      expect(await results.next()).toEqual({ done: true, value: undefined })
    }
    expect(await failureOf(collect(pool.map([4, -1], (n) => effects.root(n))))).toBeInstanceOf(effects.NotPositive)
  })

  it("keeps an error for the next request, and tells it once", async () => {
    const cells = newCells()
    const results = pool.map(range(2), (i) => i === 0 ? add(1, 1) : tasks.failsAfter(cells, 1))
    await results.next()
    open(cells, STARTED)
    await expect.poll(() => pool.stats().inFlight).toBe(0)
    expect(await failureOf(results.next())).toMatchObject({ _tag: "TaskFailed" })
    expect(await results.next()).toEqual({ done: true, value: undefined })
  })

  it("ends with an error of the function that makes calls, or of the source", async () => {
    const cells = newCells()
    const defect = new Error("no call for this one")
    const from = source(100)
    const thrown = collect(pool.map(from.items(), (i) => {
      if (i === 3) throw defect
      return untilCancelled(cells)
    }))
    expect(await failureOf(thrown)).toBe(defect)
    expect(from.seen).toEqual({ read: 4, closed: 1 })
    expect(await failureOf(collect(pool.map([1], () => 1 as never)))).toMatchObject({ name: "TypeError" })
    for (const kind of ["items", "asyncItems"] as const) {
      const broken = source(100, 3)
      const error = await failureOf(collect(pool.map(broken[kind](), () => untilCancelled(cells))))
      expect((error as Error).message).toBe("item 3 cannot be read")
      expect(broken.seen).toEqual({ read: 3, closed: 1 })
    }
    expect(cells[ENDED]).toBe(cells[STARTED])
    const unreadable = { [Symbol.iterator]: (): never => fails as never }
    expect(await failureOf(collect(pool.map(unreadable, () => add(1, 1))))).toBeInstanceOf(TypeError)
  })

  it("does not wait for a source that waits, when the loop is left", async () => {
    let closed = 0
    const stalled: AsyncIterable<number> = {
      [Symbol.asyncIterator]: () => {
        let i = 0
        return {
          next: () => i++ === 0 ? Promise.resolve({ done: false, value: 7 }) : new Promise(() => {}),
          return: () => {
            closed++
            return new Promise(() => {})
          },
        }
      },
    }
    for await (const n of pool.map(stalled, (n) => add(n, 1))) {
      expect(n).toBe(8)
      break
    }
    expect(closed).toBe(1)
  })

  it("is left with the error of a source that cannot be closed", async () => {
    const items = function* () {
      try {
        yield 1
        yield 2
      } finally {
        // deno-lint-ignore no-unsafe-finally -- what is tested
        throw new Error("cannot be closed")
      }
    }
    const asyncItems = async function* () {
      for (const item of items()) {
        await null
        yield item
      }
    }
    for (const source of [items(), asyncItems()]) {
      const results = pool.map<number, number>(source, (n) => add(n, 0), { concurrency: 1 })
      await results.next()
      expect(await failureOf(results.return())).toMatchObject({ message: "cannot be closed" })
    }
  })

  it("is left with the error of a source that is asked for another item meanwhile", async () => {
    let i = 0
    const items: AsyncIterable<number> = {
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.resolve({ done: false, value: i++ }),
        return: () => Promise.reject(new Error("cannot be closed")),
      }),
    }
    const loop = async () => {
      for await (const n of pool.map(items, (n) => add(n, 0))) if (n === 3) break
    }
    expect(await failureOf(loop())).toMatchObject({ message: "cannot be closed" })
  })

  it("ends when its signal is aborted, with the reason, and leaves no listener", async () => {
    const cells = newCells()
    const controller = new AbortController()
    const spy = spyOn(controller.signal)
    const from = source(100)
    const results = pool.map(from.asyncItems(), () => untilCancelled(cells), controller)
    expect(spy.added).toBe(0)
    const first = failureOf(results.next())
    await reached(cells, STARTED, 2)
    controller.abort("enough")
    expect(await first).toBe("enough")
    expect(cells[ENDED]).toBe(cells[STARTED])
    await closing(from)
    expect(spy).toEqual({ added: 1, now: 0 })
    const late = source(1)
    expect(await failureOf(collect(pool.map(late.items(), () => add(1, 1), controller)))).toBe("enough")
    expect(late.seen.read).toBe(0)
    for (const leave of [false, true]) {
      const { signal } = new AbortController()
      const spy = spyOn(signal)
      for await (const _ of pool.map(range(50), (i) => add(i, 1), { signal })) if (leave) break
      expect(spy).toEqual({ added: 1, now: 0 })
    }
  })

  it("reads nothing if it is left before it began, and may be left in many ways at once", async () => {
    const from = source(3)
    const unused = pool.map(from.items(), (i) => add(i, 0))
    await unused.return()
    expect([await unused.next(), from.seen.read]).toEqual([{ done: true, value: undefined }, 0])
    const cells = newCells()
    const results = pool.map(range(10), () => untilCancelled(cells))
    const pending = [results.next(), results.next()]
    await reached(cells, STARTED, 2)
    await Promise.all([results.return(), results.return(), results[Symbol.asyncDispose]()])
    expect(cells[ENDED]).toBe(cells[STARTED])
    expect((await Promise.all(pending)).map(({ done }) => done)).toEqual([true, true])
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
