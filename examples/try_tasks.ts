import { Task } from "../mod.ts"
export const inc = Task.make(import.meta, "inc", (n: number): number => n + 1)
export const fib: Task.Task<[number], number> = Task.make(import.meta, "fib", (n: number): number => {
  if (n < 2) return n
  const a = Task.spawn(fib(n - 1))
  const b = Task.spawn(fib(n - 2))
  return a.join() + b.join()
})
export const slow = Task.make(import.meta, "slow", async (ms: number): Promise<number> => { await new Promise(r => setTimeout(r, ms)); return ms })
