import { Task } from "../mod.ts"

/** The number of primes below `to`. Stops when nobody wants it any more. */
export const countPrimes = Task.make(import.meta, "countPrimes", (to: number): number => {
  let count = 0
  for (let n = 2; n < to; n++) {
    if (n % 1024 === 0) Task.checkpoint()
    let d = 2
    while (d * d <= n && n % d !== 0) d++
    if (d * d > n) count++
  }
  return count
})
