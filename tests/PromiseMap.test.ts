import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Call } from "../src/index.ts"
import { openPool, type PromisePool } from "../src/promise.ts"
import * as effects from "./fixtures/effects/tasks.ts"
import * as tasks from "./fixtures/tasks/basic.ts"
import { closing, collect, failureOf, leavesNothingIn, range, source, spyOn } from "./support/promises.ts"

const { add, counted, ENDED, fails, gatedAsync, identity, later, MOST, newCells, open, reached } = tasks
const { STARTED, untilCancelled } = tasks

let pool: PromisePool
beforeAll(async () => {
  pool = await openPool({ procs: 2, capacity: 20_000 })
})
afterAll(() => pool.close())
leavesNothingIn(() => pool)

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

  it("ends with an error that says what is wrong with the source", async () => {
    for (const nothing of [undefined, null, 7]) {
      expect(await failureOf(collect(pool.map(nothing as never, (n: number) => add(n, 0))))).toMatchObject({
        message: `${nothing} is no iterable of items`,
      })
    }
    expect(await collect(pool.map("abc", (letter) => identity(letter)))).toEqual(["a", "b", "c"])
    const unreadable = {
      get done(): boolean {
        throw new Error("unreadable")
      },
    }
    for (const result of [undefined, 7, unreadable]) {
      const iterator = { next: () => result as never }
      for (const items of [{ [Symbol.iterator]: () => iterator }, { [Symbol.asyncIterator]: () => iterator }]) {
        const error = await failureOf(collect(pool.map(items as never, (n: number) => add(n, 0))))
        expect(String(error)).toMatch(/the source gave (undefined|7) in place of a result|unreadable/)
      }
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
