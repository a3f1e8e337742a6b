/** Tasks that the benchmarks run. */
import { Task } from "../mod.ts"

/** As little work as a call can do. */
export const increment: Task.Task<[number], number> = Task.make(import.meta, "increment", (n: number): number => n + 1)

/** Fibonacci with a G for every call. */
export const fib: Task.Task<[number], number> = Task.make(import.meta, "fib", (n: number): number => {
  if (n < 2) return n
  const a = Task.spawn(fib(n - 1))
  const b = Task.spawn(fib(n - 2))
  return a.join() + b.join()
})
