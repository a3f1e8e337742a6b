/** Tasks of the kill stress. Each bumps a cell of its own, so that running twice or not at all shows. */
import * as Effect from "effect/Effect"
import { type Pool, Task } from "../../mod.ts"

/** How much a tree's tasks compute, so that machines are killed in the middle of it. */
const SPIN = 20_000

const work = (): void => {
  for (let i = 0, x = 1; i < SPIN; i++) x = Math.imul(x, 16807) | 0
}

/** Bumps cells `first` to `first + size - 1` with a binary tree of Gs, one G a cell, and returns how many there were. */
export const tree: Task.Task<[cells: Int32Array, first: number, size: number, endAt: number], number> = Task.make(
  import.meta,
  "tree",
  (cells: Int32Array, first: number, size: number, endAt: number): number => {
    Atomics.add(cells, first, 1)
    work()
    if (first === endAt) endThisMachine()
    const rest = size - 1
    if (rest === 0) return 1
    const left = rest >> 1
    const a = left > 0 ? Task.spawn(tree(cells, first + 1, left, endAt)) : undefined
    const b = Task.spawn(tree(cells, first + 1 + left, rest - left, endAt))
    return 1 + (a?.join() ?? 0) + b.join()
  },
)

type TreeArgs = [cells: Int32Array, first: number, size: number, endAt: number]

/** What the Gs below one of {@link mixedTree} are called with: two halves, the first of which may be empty. */
const halves = (cells: Int32Array, first: number, size: number, endAt: number): ReadonlyArray<TreeArgs> => {
  const rest = size - 1
  const left = rest >> 1
  const both: ReadonlyArray<TreeArgs> = [
    [cells, first + 1, left, endAt],
    [cells, first + 1 + left, rest - left, endAt],
  ]
  return both.filter(([, , n]) => n > 0)
}

const sum = (parts: ReadonlyArray<number>): number => parts.reduce((a, b) => a + b, 1)

/** As {@link tree}, with calls of tasks of all kinds that wait for one another; those at the bottom spawn and join. */
export const mixedTree = (...args: TreeArgs) => {
  const [, first, size] = args
  if (size <= 3) return tree(...args)
  return [asyncTree, effectTree, generatorTree][first % 3](...args)
}

const asyncTree: Task.Task<TreeArgs, number> = Task.make(
  import.meta,
  "asyncTree",
  async (cells: Int32Array, first: number, size: number, endAt: number): Promise<number> => {
    Atomics.add(cells, first, 1)
    if (first % 2 === 0) await null
    work()
    if (first === endAt) endThisMachine()
    return sum(await Promise.all(halves(cells, first, size, endAt).map((args) => Task.run(mixedTree(...args)))))
  },
)

const effectTree: Task.Task<TreeArgs, number, unknown> = Task.effect(
  import.meta,
  "effectTree",
  (cells: Int32Array, first: number, size: number, endAt: number): Effect.Effect<number, unknown, Pool> =>
    Effect.gen(function* () {
      Atomics.add(cells, first, 1)
      work()
      if (first === endAt) endThisMachine()
      const calls = halves(cells, first, size, endAt).map((args) => mixedTree(...args))
      return sum(yield* Effect.all(calls, { concurrency: "unbounded" }))
    }).pipe(Effect.ensuring(Effect.yieldNow())),
)

const generatorTree: Task.Task<TreeArgs, number, unknown> = Task.make(
  import.meta,
  "generatorTree",
  function* (cells: Int32Array, first: number, size: number, endAt: number) {
    Atomics.add(cells, first, 1)
    work()
    if (first === endAt) endThisMachine()
    let n = 1
    for (const args of halves(cells, first, size, endAt)) n += yield* mixedTree(...args)
    return n
  },
)

/** Ends the thread from inside a task, as a careless library might. */
const endThisMachine = (): void => {
  if ("Deno" in globalThis) (globalThis as unknown as { readonly close: () => void }).close()
  else process.exit(3)
}
