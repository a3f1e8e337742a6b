/** What host and machine tell each other by messages. Calls and results do not go this way. */
import type { Packed } from "../context/envelope.ts"
import type { ConfigAnswer, ConfigQuestion, Told } from "../context/messages.ts"
import type { ForgetNotice, LostNotice, SharedNotice } from "./SharedTable.ts"

/** What a machine gets at its start. */
export interface MachineInit {
  readonly memory: SharedArrayBuffer
  /** Slots for the progress of Gs, see progress.ts. */
  readonly progress: ArrayBufferLike
  readonly m: number
  readonly p: number
  /** Longest time in ms that a task's module may take to load. */
  readonly loadTimeout: number
  /** How deep pools are nested: 0 for a pool of the main thread. */
  readonly nesting: number
  /** Seed of the machine's random numbers, not 0. */
  readonly seed: number
  readonly shared: ReadonlyArray<SharedNotice>
  /** Numbers of shared buffers that are lost. */
  readonly lost: ReadonlyArray<number>
  /** How many payloads mention each shared buffer, see mentions.ts. */
  readonly mentions: ArrayBufferLike
  /** The context of who opened the pool, as far as it travels: for what the machine does for itself. */
  readonly ofPool: Packed | undefined
}

/** From host to machine. */
export type ToMachine = SharedNotice | ForgetNotice | LostNotice | ConfigAnswer

/** From machine to host. */
export type ToHost =
  | { readonly kind: "ready" }
  | { readonly kind: "stray"; readonly error: unknown }
  | SharedNotice
  | Told
  | ConfigQuestion
