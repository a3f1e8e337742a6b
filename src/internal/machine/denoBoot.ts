/**
 * The first module of every machine on Deno. It takes the machine's Web Lock before the entry module is even
 * loaded: the lock is the only proof of a thread's end there, and so it covers a thread that never gets to run
 * its entry as well.
 */
import { readNote, writeNote } from "./note.ts"

interface DenoWorkerScope {
  readonly postMessage: (message: unknown) => void
  onmessage: ((event: { readonly data: unknown }) => void) | null
}

const scope = globalThis as unknown as DenoWorkerScope

const fail = (error: unknown): void => {
  try {
    scope.postMessage(writeNote({ kind: "failed", error }))
  } catch {
    scope.postMessage(writeNote({ kind: "failed", error: new Error(String(error)) }))
  }
}

// The main thread has none. This one is that of a file, whose origin is no address: programs that take it for a page's,
// as `@effect/platform` does, cannot fetch anything.
delete (globalThis as { location?: unknown }).location

// Nothing is awaited at the top level: Deno hands no message to a worker whose first module is not done.
scope.onmessage = ({ data }) => {
  const note = readNote(data)
  if (note?.kind !== "load") return
  scope.onmessage = null
  void navigator.locks.request(note.lock, () => {
    scope.postMessage(writeNote({ kind: "locked" }))
    import(note.entry).catch(fail)
    // Never settles: the runtime releases the lock when the thread is gone, however it ended.
    return new Promise<never>(() => {})
  })
}
scope.postMessage(writeNote({ kind: "booted" }))
