import { Task } from "../mod.ts"

/** The number of steps that a number takes to get to 1: halved if even, else tripled and one added. */
const steps = (n: number): number => {
  let count = 0
  for (let at = n; at !== 1; count++) at = at % 2 === 0 ? at / 2 : 3 * at + 1
  return count
}

/** The number from 1 to `limit` that takes the most steps. */
export const longest = Task.make(import.meta, "longest", (limit: number): number => {
  let best = 1
  for (let n = 1, most = 0; n <= limit; n++) {
    const count = steps(n)
    if (count > most) [best, most] = [n, count]
  }
  return best
})
