/**
 * Connects a machine to its host: the machine's half of the handshake.
 */
import type { Link, Moved } from "./Link.ts"
import { readNote, writeNote } from "./note.ts"

/** What a thread has to offer, by runtime. */
interface Port {
  readonly post: (message: unknown, transfer?: Moved) => void
  readonly listen: (handler: (message: unknown) => void) => void
  readonly catchStray: (handler: (error: unknown) => void) => void
  readonly exit: () => void
}

interface WorkerScope {
  readonly postMessage: (message: unknown, transfer?: Moved) => void
  readonly addEventListener: (
    type: string,
    listener: (event: {
      readonly data?: unknown
      readonly error?: unknown
      readonly reason?: unknown
      readonly preventDefault: () => void
    }) => void,
  ) => void
  readonly close: () => void
}

const scope = globalThis as unknown as WorkerScope

const postToScope: Port["post"] = (message, transfer) => scope.postMessage(message, transfer ?? [])

const listenToScope: Port["listen"] = (handler) => scope.addEventListener("message", (event) => handler(event.data))

const catchInProcess: Port["catchStray"] = (handler) => {
  process.on("uncaughtException", handler)
  process.on("unhandledRejection", handler)
}

const denoPort = (): Port => ({
  post: postToScope,
  listen: listenToScope,
  catchStray: (handler) => {
    scope.addEventListener("error", (event) => {
      event.preventDefault()
      handler(event.error)
    })
    scope.addEventListener("unhandledrejection", (event) => {
      event.preventDefault()
      handler(event.reason)
    })
  },
  exit: () => {
    // Only a hint that makes the host look at once: the proof is the lock, which goes with the thread.
    scope.postMessage(writeNote({ kind: "bye" }))
    scope.close()
  },
})

const bunPort = (): Port => ({
  post: postToScope,
  listen: listenToScope,
  catchStray: catchInProcess,
  exit: () => process.exit(0),
})

const nodePort = (): Port => {
  const { parentPort } = process.getBuiltinModule("node:worker_threads")
  if (parentPort === null) {
    throw new Error("runon: connect was called outside of a machine")
  }
  return {
    post: (message, transfer) => parentPort.postMessage(message, transfer as ReadonlyArray<ArrayBuffer> | undefined),
    listen: (handler) => parentPort.on("message", handler),
    catchStray: catchInProcess,
    exit: () => process.exit(0),
  }
}

const openPort = (): Port => "Deno" in globalThis ? denoPort() : "Bun" in globalThis ? bunPort() : nodePort()

/** Says hello to the host, and returns the link once the host has answered with the machine's `init`. */
export const connect = (): Promise<Link> =>
  new Promise((resolve) => {
    const port = openPort()
    const early: Array<unknown> = []
    let onMessage: ((message: unknown) => void) | undefined
    let onStray: ((error: unknown) => void) | undefined

    port.listen((message) => {
      const note = readNote(message)
      if (note?.kind === "init") {
        resolve(link(note.init))
      } else if (onMessage === undefined) {
        early.push(message)
      } else {
        onMessage(message)
      }
    })
    port.post(writeNote({ kind: "hello" }))

    const link = (init: unknown): Link => ({
      init,
      post: port.post,
      onMessage: (handler) => {
        onMessage = handler
        for (const message of early.splice(0)) handler(message)
      },
      onStray: (handler) => {
        if (onStray === undefined) port.catchStray((error) => onStray?.(error))
        onStray = handler
      },
      exit: port.exit,
    })
  })
