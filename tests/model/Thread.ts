/** A simulated thread. */
import type { Frame } from "./compile.ts"

export const READY = 0
export const BLOCKED = 1
export const FINISHED = 2
export const DEAD = 3

/** A thread between two steps. Immutable, and so are its frames. */
export interface Thread {
  readonly state: number
  readonly frames: ReadonlyArray<Frame>
  /** The access that comes next, or the wait that blocks it. */
  readonly op: number
  readonly at: number
  readonly a: number
  readonly b: number
  /** What a wait gave, once it is over. */
  readonly woken: string | undefined
  /** Whether a variable holds an array or the like, which frames may have in common. */
  readonly heap: boolean
  readonly h1: number
  readonly h2: number
}
