/**
 * How the host starts machines. One spawner per runtime, behind this interface. A spawner knows nothing of
 * queues, tasks or pools: it starts a thread, carries messages, and proves that the thread ended.
 */
import type { Moved } from "../machine/Link.ts"

/** Why a machine ended, as far as the runtime tells. */
export interface MachineExit {
  /** Exit code where the runtime gives one. */
  readonly code: number | undefined
  /** The uncaught error that ended the thread, or that kept it from loading, where the runtime tells. */
  readonly error: unknown
}

/** What a spawner reports. No callback is called before `spawn` has returned. */
export interface MachineEvents {
  /** A message that the machine sent through its link. */
  readonly onMessage: (message: unknown) => void
  /** Called exactly once, and only with proof that the thread has ended. Nothing is reported after it. */
  readonly onExit: (exit: MachineExit) => void
}

/** A started machine. */
export interface MachineHandle {
  /**
   * Sends a message. Messages sent before the machine connected are held back until it has (none is lost), as they
   * were when they were sent. Throws what `structuredClone` throws; after the exit it does nothing.
   */
  readonly post: (message: unknown, transfer?: Moved) => void
  /**
   * Asks the runtime to end the thread by force. The proof comes through `onExit`, if at all: see
   * {@link Spawner.canTerminate}. Asked of a thread that is still loading where that is not safe (Bun could crash),
   * it is carried out once the machine has connected or sits in a top-level await, or dropped if it ends by itself.
   */
  readonly terminate: () => void
}

/** A way to start machines on one runtime. */
export interface Spawner {
  readonly runtime: "deno" | "bun" | "node"
  /** Whether `terminate` stops a thread that is busy or blocked. False on Deno, where it stops one that idles. */
  readonly canTerminate: boolean
  /**
   * Starts a thread that runs the machine entry module. The thread never keeps the host process alive by itself, nor
   * does the wait for its messages or its exit: who waits for those has to.
   * `init` is handed to the machine when it connects; SharedArrayBuffers in it are shared.
   * Throws if `init` cannot be cloned, or if the runtime refuses outright; an entry that cannot be loaded is reported
   * by `onExit` with its error.
   */
  readonly spawn: (entry: URL, name: string, init: unknown, events: MachineEvents) => MachineHandle
}
