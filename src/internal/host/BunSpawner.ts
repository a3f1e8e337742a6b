/**
 * Machines on Bun: web workers, which tell their end by a `close` event there.
 */
import type { Moved } from "../machine/Link.ts"
import { explained } from "./bundled.ts"
import { Machine } from "./Machine.ts"
import type { Spawner } from "./Spawner.ts"

interface BunWorker {
  readonly postMessage: (message: unknown, transfer: Moved) => void
  readonly terminate: () => void
  readonly addEventListener: (type: string, listener: (event: BunWorkerEvent) => void) => void
}

interface BunWorkerEvent {
  readonly code?: number
  readonly data?: unknown
  readonly error?: unknown
  readonly message?: string
  readonly preventDefault: () => void
}

type BunWorkerConstructor = new (
  entry: string,
  options: { readonly name: string; readonly ref: boolean },
) => BunWorker

// A worker that is terminated while its modules load could take the process down in older versions, one that sits
// in a top-level await could not. A worker that has not connected in this time is taken to be the latter.
const loadingLimit = 2000

/** Starts machines on Bun. */
export const makeBunSpawner = (): Spawner => ({
  runtime: "bun",
  canTerminate: true,
  spawn: (entry, name, init, events) => {
    const machine = new Machine(init, events)
    const BunWorker = Worker as unknown as BunWorkerConstructor
    const worker = new BunWorker(entry.href, { name, ref: false })
    const loading = setTimeout(() => machine.allowTerminate(), loadingLimit)
    loading.unref()
    machine.attach({
      post: (message, transfer) => worker.postMessage(message, transfer),
      terminate: () => worker.terminate(),
    })
    worker.addEventListener("message", (event) => machine.receive(event.data))
    worker.addEventListener("error", (event) => {
      event.preventDefault()
      machine.fail(explained(entry, event.error ?? new Error(event.message)))
    })
    worker.addEventListener("close", (event) => {
      clearTimeout(loading)
      machine.exit(event.code)
    })
    return machine
  },
})
