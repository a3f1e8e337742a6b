import process from "node:process"
import { afterEach, expect } from "vitest"
import type { PromisePool } from "../../src/promise.ts"

export const range = (n: number): Array<number> => Array.from({ length: n }, (_, i) => i)

/** What a promise is rejected with. */
export const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then((value) => {
    throw new Error(`it succeeded with ${String(value)}`)
  }, (error) => error)

/** Everything that comes of an async iterable. */
export const collect = async <A>(items: AsyncIterable<A>): Promise<Array<A>> => {
  const all: Array<A> = []
  for await (const item of items) all.push(item)
  return all
}

/** Counts the listeners of a signal. */
export const spyOn = (signal: AbortSignal): { readonly added: number; readonly now: number } => {
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
export const source = (length: number, failAt = Infinity) => {
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
export const closing = (from: ReturnType<typeof source>): Promise<void> => expect.poll(() => from.seen.closed).toBe(1)

/** After each test of a file, its pool must be as empty as before, and nothing have been rejected without a handler. */
export const leavesNothingIn = (pool: () => PromisePool): void => {
  const strays: Array<unknown> = []
  process.on("unhandledRejection", (reason) => strays.push(reason))
  process.on("warning", (warning) => strays.push(warning))

  afterEach(async () => {
    // Machines put away what they had in hand after they told of its end.
    for (const end = performance.now() + 10_000; performance.now() < end;) {
      const { inFlight, records } = pool().stats()
      if (inFlight + records === 0) break
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    expect(pool().stats()).toMatchObject({ inFlight: 0, records: 0 })
    expect(strays).toEqual([])
  })
}
