/**
 * Fibers of Effect tasks on a machine. They run on the machine's own scheduler: what they schedule goes to a ready
 * queue that the machine's loop works off between Gs, so that fibers and Gs take turns.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type { Scheduler } from "effect/Scheduler"

/** Operations of one fiber before it lets others go on, as in Effect's own schedulers. */
const MAX_OPS = 2048
/** Longest time in ms that a fiber runs before it lets others go on, however few its operations (Go's preemption). */
const SLICE_MS = 10
/** Operations between two looks at the clock: a power of two. */
const CLOCK_OPS = 16

/** The continuations that are ready to run on this machine. */
export class ReadyQueue implements Scheduler {
  #tasks: Array<() => void> = []
  #next = 0
  /** When the fiber that runs now went on. */
  #sliceBegan = 0
  readonly #wake: () => void

  constructor(wake: () => void) {
    this.#wake = wake
  }

  scheduleTask(task: () => void): void {
    this.#tasks.push(task)
    this.#wake()
  }

  shouldYield(fiber: Fiber.RuntimeFiber<unknown, unknown>): number | false {
    const ops = (fiber as unknown as { readonly currentOpCount: number }).currentOpCount
    if (ops === 1) this.#sliceBegan = performance.now()
    if ((ops & (CLOCK_OPS - 1)) !== 0) return false
    return ops >= MAX_OPS || performance.now() - this.#sliceBegan > SLICE_MS ? 0 : false
  }

  /** Runs up to `most` continuations. */
  run(most: number): void {
    for (let i = 0; i < most && !this.isEmpty; i++) this.#tasks[this.#next++]()
    if (this.isEmpty && this.#next > 0) {
      this.#tasks = []
      this.#next = 0
    }
  }

  get isEmpty(): boolean {
    return this.#next === this.#tasks.length
  }
}

/** Asks a fiber to stop. Its observer is called when its finalizers have run. */
export const stopFiber = (fiber: Fiber.RuntimeFiber<unknown, unknown>): void =>
  fiber.unsafeInterruptAsFork(FiberId.none)

/** Whether a value is an Effect. */
export const isEffect = Effect.isEffect
