/**
 * Machines on Deno: web workers, which tell nothing of their end there. The proof is a Web Lock that a machine
 * holds for its life (see `denoBoot.ts`), and that the host can take once the thread is gone.
 */
import { denoBoot } from "../files.ts"
import { readNote, writeNote } from "../machine/note.ts"
import { bundled } from "./bundled.ts"
import { Machine } from "./Machine.ts"
import type { Spawner } from "./Spawner.ts"

type Unref = (this: Worker, ref: boolean) => void

// Taken here so that a test that fakes the timers later on does not stop the watch.
const { clearTimeout, setTimeout } = globalThis

// Milliseconds between two looks at a lock: while nothing hints at an end, and at first once something does.
const idlePace = 50
const hastyPace = 1

const unrefTimer = (timer: ReturnType<typeof setTimeout>): void =>
  (globalThis as unknown as { Deno: { unrefTimer: (timer: unknown) => void } }).Deno.unrefTimer(timer)

/**
 * Deno's web workers keep the process alive, and have no public `unref`. What `node:worker_threads` uses there is a
 * method under a symbol without description. Should it go, a pool that is not closed keeps the process alive.
 */
const unref = (worker: Worker): void => {
  const symbol = Object.getOwnPropertySymbols(Worker.prototype).find((symbol) => symbol.description === undefined)
  const method = symbol && (Worker.prototype as unknown as Record<symbol, unknown>)[symbol]
  if (typeof method === "function") (method as Unref).call(worker, false)
}

/** The part of the Web Locks API that is used here; not every library of types has it. */
interface WithLocks {
  readonly locks: {
    readonly request: (
      name: string,
      options: { readonly ifAvailable: boolean },
      then: (lock: unknown) => boolean,
    ) => Promise<boolean>
  }
}

/**
 * Watches a lock that another thread holds, and calls back once it is free. It asks again and again for as long as
 * that takes, because a request that waits in the lock's queue would keep the process alive.
 */
const watchLock = (name: string, onFree: () => void): { readonly hurry: () => void } => {
  let pace = idlePace
  let asking = false
  let freed = false
  let timer: ReturnType<typeof setTimeout> | undefined
  const later = () => {
    timer = setTimeout(ask, pace)
    unrefTimer(timer)
    pace = Math.min(2 * pace, idlePace)
  }
  const ask = async () => {
    asking = true
    freed = await (navigator as unknown as WithLocks).locks.request(
      name,
      { ifAvailable: true },
      (lock) => lock !== null,
    )
    asking = false
    if (freed) onFree()
    else later()
  }
  later()
  return {
    hurry: () => {
      pace = hastyPace
      if (asking || freed) return
      clearTimeout(timer)
      later()
    },
  }
}

/** Starts machines on Deno. */
export const makeDenoSpawner = (): Spawner => ({
  runtime: "deno",
  canTerminate: false,
  spawn: (entry, name, init, events) => {
    const machine = new Machine(init, events)
    const lock = `runon-${crypto.randomUUID()}`
    const worker = new Worker(denoBoot, { type: "module", name })
    let watch: ReturnType<typeof watchLock> | undefined
    let orderly = false

    const release = () => {
      worker.onmessage = worker.onerror = null
      machine.exit()
    }
    // What the thread sent just before its end, and the error that ended it, come by other ways than the lock, and
    // can still be under way. After an end that was announced nothing is.
    const onFree = () => {
      if (orderly) release()
      else unrefTimer(setTimeout(release, 2 * hastyPace))
    }
    const lookForEnd = () => (watch ??= watchLock(lock, onFree))
    const announce = () => {
      orderly = true
      lookForEnd().hurry()
    }
    const terminate = () => {
      worker.terminate()
      announce()
    }

    unref(worker)
    machine.attach({
      post: (message, transfer) => worker.postMessage(message, transfer as Array<Transferable>),
      terminate,
    })
    worker.onmessage = ({ data }) => {
      const note = readNote(data)
      if (note === undefined || note.kind === "hello") return machine.receive(data)
      if (note.kind === "booted") {
        worker.postMessage(writeNote({ kind: "load", lock, entry: entry.href }))
      } else if (note.kind === "locked") {
        lookForEnd()
        machine.allowTerminate()
      } else if (note.kind === "failed") {
        machine.fail(note.error)
        terminate()
      } else {
        announce()
      }
    }
    worker.onerror = (event) => {
      // Unhandled, it would end the host too.
      event.preventDefault()
      const error = event.error ?? new Error(event.message)
      // By its text, since to look at the file takes a permission.
      machine.fail(event.message.includes(`Module not found "${denoBoot.href}"`) ? bundled(denoBoot, error) : error)
      // The runtime sends this as the thread's end. One that ends before it has taken its lock leaves it free.
      lookForEnd().hurry()
    }
    return machine
  },
})
