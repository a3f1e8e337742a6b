/** Tasks of the kill stress. Each bumps a cell of its own, so that running twice or not at all shows. */
import { Task } from "../../mod.ts"

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

/** Ends the thread from inside a task, as a careless library might. */
const endThisMachine = (): void => {
  if ("Deno" in globalThis) (globalThis as unknown as { readonly close: () => void }).close()
  else process.exit(3)
}
