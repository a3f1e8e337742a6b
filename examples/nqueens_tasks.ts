import { Task } from "../mod.ts"

/** So many rows from the first are spawned, place by place. What is left then is too little to be worth a G. */
const SPAWNED_ROWS = 4

const bits = (n: number): number => {
  let count = 0
  for (; n !== 0; n &= n - 1) count++
  return count
}

/**
 * The number of ways to go on. The columns that are taken are bits of `columns`; those that the queens so far attack
 * in the next row along the two diagonals are bits of `left` and `right`.
 */
export const queensAlone = (n: number, columns: number, left: number, right: number): number => {
  const all = (1 << n) - 1
  if (columns === all) return 1
  let count = 0
  for (let free = all & ~(columns | left | right); free !== 0; free &= free - 1) {
    const queen = free & -free
    count += queensAlone(n, columns | queen, (left | queen) << 1, (right | queen) >> 1)
  }
  return count
}

/** The same as a task that spawns a child for each place of the next queen, and joins them all. */
export const queens: Task.Task<[n: number, columns: number, left: number, right: number], number> = Task.make(
  import.meta,
  "queens",
  (n: number, columns: number, left: number, right: number): number => {
    if (bits(columns) >= Math.min(n, SPAWNED_ROWS)) return queensAlone(n, columns, left, right)
    const children: Array<Task.Handle<number>> = []
    for (let free = ((1 << n) - 1) & ~(columns | left | right); free !== 0; free &= free - 1) {
      const queen = free & -free
      children.push(Task.spawn(queens(n, columns | queen, (left | queen) << 1, (right | queen) >> 1)))
    }
    // The youngest first: it is the least likely to have been stolen, and then this is a mere function call.
    return children.reduceRight((sum, child) => sum + child.join(), 0)
  },
)
