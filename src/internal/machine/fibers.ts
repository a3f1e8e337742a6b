/**
 * Fibers of Effect tasks on a machine. They run on the machine's own scheduler: what they schedule goes to a ready
 * queue that the machine's loop works off between Gs, so that fibers and Gs take turns.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as RuntimeFlags from "effect/RuntimeFlags"
import type { Scheduler } from "effect/Scheduler"

/** Operations of one fiber before it lets others go on, as in Effect's own schedulers. */
const MAX_OPS = 2048
/** Longest time in ms that a fiber runs before it lets others go on, however few its operations (Go's preemption). */
const SLICE_MS = 10
/** Operations between two looks at the clock: a power of two. */
const CLOCK_OPS = 16
/** The priority of a fiber that was made to yield, by which {@link ReadyQueue.scheduleTask} knows it. */
const YIELDED = 1

/** What Effect's own schedulers see of a fiber, and hides in its types. */
interface Internals {
  readonly currentOpCount: number
  readonly currentRuntimeFlags: RuntimeFlags.RuntimeFlags
  readonly _running: boolean
  readonly _children: Iterable<Internals> | null
}

const mayYield = ({ _children: children, currentRuntimeFlags }: Internals): boolean => {
  if (!RuntimeFlags.interruptible(currentRuntimeFlags)) return false
  for (const child of children ?? []) if (child.currentOpCount === 0 && !child._running) return false
  return true
}

/** The continuations that are ready to run on this machine. */
export class ReadyQueue implements Scheduler {
  #tasks: Array<() => void> = []
  #next = 0
  /** When the fiber that runs now went on. */
  #sliceBegan = 0
  /** Operations since it should have yielded. */
  #overdue = 0
  readonly #wake: () => void

  constructor(wake: () => void) {
    this.#wake = wake
  }

  /**
   * A fiber that was made to yield goes behind what the tasks queued before it queue in their turn, see
   * {@link shouldYield}.
   */
  scheduleTask(task: () => void, priority = 0): void {
    this.#tasks.push(priority === YIELDED ? () => void this.#tasks.push(task) : task)
    this.#wake()
  }

  /**
   * A fiber yields by the clock or by its operations, but where it may, if it gets there soon. Some of Effect's
   * combinators (3.22) are not made for a yield and an interruption between two of their operations:
   * - `forEachConcurrentDiscard` starts a fiber in an uninterruptible region, in two steps, and waits for it in an
   *   interruptible one. If it is interrupted before the other has run, it waits for ever. So a fiber does not yield where
   *   it cannot be interrupted, and with the rule of {@link scheduleTask} the other has run before it goes on.
   * - `raceFibersWith` makes fibers, and then starts them. If it is interrupted before that, it waits for ever for them
   *   to end. So a fiber does not yield while it has children that were not started.
   */
  shouldYield(fiber: Fiber.RuntimeFiber<unknown, unknown>): number | false {
    const ops = (fiber as unknown as Internals).currentOpCount
    if (ops === 1) {
      this.#sliceBegan = performance.now()
      this.#overdue = 0
    }
    if (this.#overdue === 0) {
      if ((ops & (CLOCK_OPS - 1)) !== 0) return false
      if (ops < MAX_OPS && performance.now() - this.#sliceBegan <= SLICE_MS) return false
    }
    if (this.#overdue < MAX_OPS && !mayYield(fiber as unknown as Internals)) {
      this.#overdue++
      return false
    }
    this.#overdue = 0
    return YIELDED
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
