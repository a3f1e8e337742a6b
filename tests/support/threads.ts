import { readdirSync, readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"

/** Bun's helpers for the whole process, which come when there is work for them and go up to half a minute after it. */
const ofProcess = new Set(["HeapHelper", "JITWorker", "JSCWarmUp", "s Signal Sender"])

const nameOf = (id: string): string | undefined => {
  try {
    return readFileSync(`/proc/self/task/${id}/comm`, "utf8").trim()
  } catch {
    return undefined // it has just ended
  }
}

/**
 * The threads of this process, most of the runtime's own included; undefined where there is no /proc. Runtimes start
 * some of theirs late (for files, for compiling): count the baseline after a first worker has come and gone.
 */
export const threadCount = (): number | undefined => {
  let ids: ReadonlyArray<string>
  try {
    ids = readdirSync("/proc/self/task")
  } catch {
    return undefined
  }
  if (!("Bun" in globalThis)) return ids.length
  return ids.map(nameOf).filter((name) => name !== undefined && !ofProcess.has(name)).length
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
