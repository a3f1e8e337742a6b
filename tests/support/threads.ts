import { readdirSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"

/**
 * The threads of this process, those of the runtime itself included; undefined where there is no /proc. Runtimes start
 * some of theirs late (for files, for compiling): count the baseline after a first worker has come and gone.
 */
export const threadCount = (): number | undefined => {
  try {
    return readdirSync("/proc/self/task").length
  } catch {
    return undefined
  }
}

/**
 * Waits until at most `n` threads are left, but no longer than `boundMs`, and resolves with the number there is then.
 * The bound is for threads that never end: on a slow machine let it be generous.
 */
export const threadsBackTo = async (n: number, boundMs = 30_000): Promise<number | undefined> => {
  const end = performance.now() + boundMs
  for (;;) {
    const count = threadCount()
    if (count === undefined || count <= n || performance.now() >= end) return count
    await sleep(20)
  }
}
