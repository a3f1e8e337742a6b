/**
 * What the spawners of all runtimes share: a machine's messages held back until it has connected, a `terminate`
 * that waits until it is safe, and an exit that is reported once.
 */
import type { Moved } from "../machine/Link.ts"
import { readNote, writeNote } from "../machine/note.ts"
import type { MachineEvents, MachineHandle } from "./Spawner.ts"

/** The runtime's own worker. */
export interface Thread {
  readonly post: (message: unknown, transfer: Moved) => void
  readonly terminate: () => void
}

type Letter = readonly [message: unknown, transfer: Moved]

// Cloning at once gives a held message the semantics of one that is sent: it is as it was when it was posted, what
// it transfers is gone, and what cannot be cloned throws at the caller.
const seal = (message: unknown, transfer: Moved): Letter =>
  structuredClone([message, transfer] as const, { transfer: transfer as Array<Transferable> })

/** The host's view of one machine, from before it has connected to its end. */
export class Machine implements MachineHandle {
  #thread: Thread | undefined
  #held: Array<Letter> = []
  #connected = false
  #terminable = false
  #terminateWanted = false
  #ended = false
  #error: unknown
  readonly #events: MachineEvents

  /** Throws what `structuredClone` throws if `init` cannot be sent. */
  constructor(init: unknown, events: MachineEvents) {
    this.#events = events
    this.#held.push(seal(writeNote({ kind: "init", init }), []))
  }

  readonly post = (message: unknown, transfer: Moved = []): void => {
    if (this.#ended) return
    if (this.#connected) this.#thread!.post(message, transfer)
    else this.#held.push(seal(message, transfer))
  }

  readonly terminate = (): void => {
    if (this.#ended) return
    if (this.#terminable) this.#thread!.terminate()
    else this.#terminateWanted = true
  }

  /** Sets the thread once it has been started. */
  attach(thread: Thread): void {
    this.#thread = thread
  }

  /** From here on `terminate` is safe: carries out the one that was asked for before. */
  allowTerminate(): void {
    this.#terminable = true
    if (this.#terminateWanted && !this.#ended) this.#thread!.terminate()
  }

  /** Takes a message from the thread. */
  receive(message: unknown): void {
    if (this.#ended) return
    if (readNote(message)?.kind === "hello") {
      this.#connected = true
      for (const [held, transfer] of this.#held.splice(0)) this.#thread!.post(held, transfer)
      this.allowTerminate()
    } else if (this.#connected) {
      this.#events.onMessage(message)
    }
  }

  /** Keeps the error that the exit will report. The first one is the cause. */
  fail(error: unknown): void {
    this.#error ??= error
  }

  /** Reports the exit, once. Call it with proof that the thread has ended. */
  exit(code?: number): void {
    if (this.#ended) return
    this.#ended = true
    this.#held = []
    this.#events.onExit({ code, error: this.#error })
  }
}
