/**
 * The first module of every machine on Deno. It takes the machine's Web Lock before the entry module is even
 * loaded: the lock is the only proof of a thread's end there, and so it covers a thread that never gets to run
 * its entry as well.
 */
import { writeNote } from "./note.ts"

interface DenoWorkerScope {
  readonly name: string
  readonly postMessage: (message: unknown) => void
  readonly navigator: { readonly locks: Pick<LockManager, "request"> }
}

const scope = globalThis as unknown as DenoWorkerScope
const [, lock, entry] = scope.name.split("\n")

await new Promise<void>((held) => {
  void scope.navigator.locks.request(lock, () => {
    held()
    // Never settles: the runtime releases the lock when the thread is gone, however it ended.
    return new Promise<never>(() => {})
  })
})

scope.postMessage(writeNote({ kind: "booted" }))

const fail = (error: unknown): void => {
  try {
    scope.postMessage(writeNote({ kind: "failed", error }))
  } catch {
    scope.postMessage(writeNote({ kind: "failed", error: new Error(String(error)) }))
  }
}

// Not awaited: Deno hands no message to a worker whose first module is still being evaluated.
void import(entry).catch(fail)
