/**
 * Fibers of Effect tasks on a machine. They run on the machine's own scheduler: what they schedule goes to a ready
 * queue that the machine's loop works off between Gs, so that fibers and Gs take turns.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import { tame } from "../codec/unsendable.ts"
import * as RuntimeFlags from "effect/RuntimeFlags"
import type { Scheduler } from "effect/Scheduler"

/** Operations of one fiber before it lets others go on, as in Effect's own schedulers. */
const MAX_OPS = 2048
/** Longest time in ms that a fiber runs before it lets others go on, however few its operations (Go's preemption). */
const SLICE_MS = 10
/** Operations between two looks at the clock: a power of two. */
const CLOCK_OPS = 16
/**
 * Most of a slice in ms that is taken to have been used between two looks: it may be that the system ran another thread.
 * A fiber that only starts, or makes a call, is so short that it would have to meet with that twice.
 */
const MOST_USED_MS = SLICE_MS / 2
/** The priority of a fiber that was made to yield, by which {@link ReadyQueue.scheduleTask} knows it. */
const YIELDED = 1
/** Most continuations of a pass: fibers can wake each other without end. */
const PASS = 1024

/** What Effect's own schedulers see of a fiber, and hides in its types. */
interface Internals {
  readonly run: () => void
  readonly resume: (effect: Effect.Effect<never>) => void
  readonly unsafePoll: () => unknown
  readonly currentOpCount: number
  readonly currentRuntimeFlags: RuntimeFlags.RuntimeFlags
  readonly _running: boolean
  readonly _children: Iterable<Internals> | null
}

/** A fiber, which has one function for all its continuations, or another continuation. */
type Ready = Internals | (() => void)

const mayYield = ({ _children: children, currentRuntimeFlags }: Internals): boolean => {
  if (!RuntimeFlags.interruptible(currentRuntimeFlags)) return false
  for (const child of children ?? []) if (child.currentOpCount === 0 && !child._running) return false
  return true
}

/**
 * The continuations that are ready to run on this machine, and can run nowhere else. They run in passes, and a pass
 * ends when all have had their turn, also those that became ready meanwhile: then it is the turn of a G, which may take
 * long, and which any other machine could run. A fiber that has yielded has had its turn.
 */
export class ReadyQueue implements Scheduler {
  #tasks: Array<Ready> = []
  #next = 0
  /** The one that runs now. */
  #current: Ready | undefined
  /** Those of fibers that have yielded in this pass. */
  #yielded: Array<Ready> = []
  /** How many the pass may still run. */
  #left = PASS
  /** How much of its slice in ms the fiber that runs now has used, and when that was looked at. */
  #used = 0
  #looked = 0
  /** Operations since it should have yielded, and may not. */
  #overdue = 0
  readonly #wake: () => void
  readonly #onStray: (error: unknown) => void

  /** `onStray` is told what code throws that is called when a fiber has ended, and that belongs to nobody. */
  constructor(wake: () => void, onStray: (error: unknown) => void) {
    this.#wake = wake
    this.#onStray = onStray
  }

  /**
   * A fiber that was made to yield goes behind what the tasks queued before it queue in their turn, see
   * {@link shouldYield}. One that yields of its own accord is known by being queued while it runs.
   */
  scheduleTask(task: () => void, priority = 0, fiber?: Fiber.RuntimeFiber<unknown, unknown>): void {
    const internals = fiber as unknown as Internals | undefined
    const ready = internals?.run === task ? internals : task
    if (priority === YIELDED) this.#yielded.push(() => void this.#tasks.push(ready))
    else if (ready === this.#current) this.#yielded.push(ready)
    else this.#tasks.push(ready)
    this.#wake()
  }

  /**
   * A fiber yields by the clock or by its operations, but where it may, if it gets there within another slice. Some of
   * Effect's combinators (3.22) are not made for a yield and an interruption between two of their operations:
   * - `forEachConcurrentDiscard` starts a fiber in an uninterruptible region, in two steps, and waits for it in an
   *   interruptible one. If it is interrupted before the other has run, it waits for ever. So a fiber does not yield where
   *   it cannot be interrupted, and with the rule of {@link scheduleTask} the other has run before it goes on.
   * - `raceFibersWith` makes fibers, and then starts them. If it is interrupted before that, it waits for ever for them
   *   to end. So a fiber does not yield while it has children that were not started.
   *
   * Both are over after a few operations, fewer than are between the two looks at the clock that a slice has at least. A
   * finalizer that computes for long is not, and bears it.
   */
  shouldYield(fiber: Fiber.RuntimeFiber<unknown, unknown>): number | false {
    const ops = (fiber as unknown as Internals).currentOpCount
    if (ops === 1) {
      this.#looked = performance.now()
      this.#used = 0
      this.#overdue = 0
    }
    if (this.#overdue === 0) {
      if ((ops & (CLOCK_OPS - 1)) !== 0) return false
      if (ops < MAX_OPS && !this.#sliceIsOver()) return false
    }
    if (!mayYield(fiber as unknown as Internals) && !this.#isOverdue()) return false
    this.#overdue = 0
    return YIELDED
  }

  /** Whether a slice has passed, or the operations of one, since a fiber should have yielded. */
  #isOverdue(): boolean {
    if (this.#overdue++ === 0) {
      this.#used = 0
      this.#looked = performance.now()
      return false
    }
    return this.#overdue > MAX_OPS || ((this.#overdue & (CLOCK_OPS - 1)) === 0 && this.#sliceIsOver())
  }

  #sliceIsOver(): boolean {
    const now = performance.now()
    this.#used += Math.min(now - this.#looked, MOST_USED_MS)
    this.#looked = now
    return this.#used >= SLICE_MS
  }

  /** Runs up to `most` continuations of a pass. True at its end; if it is not, more are ready. */
  run(most: number): boolean {
    for (let i = 0; i < most && this.#left > 0 && this.#next < this.#tasks.length; i++) {
      this.#left--
      this.#call(this.#current = this.#tasks[this.#next++])
    }
    this.#current = undefined
    if (this.#left > 0 && this.#next < this.#tasks.length) return false
    this.#left = PASS
    if (this.#next > 0 && 2 * this.#next >= this.#tasks.length) {
      this.#tasks = this.#tasks.slice(this.#next)
      this.#next = 0
    }
    if (this.#yielded.length > 0) {
      for (const task of this.#yielded) this.#tasks.push(task)
      this.#yielded = []
    }
    return true
  }

  #call(ready: Ready): void {
    if (typeof ready === "function") return ready()
    try {
      ready.run()
    } catch (error) {
      // An observer that was told of the end threw; or else Effect itself broke on what it met, which is a defect then.
      if (ready.unsafePoll() === null) ready.resume(Effect.die(tame(error)))
      else this.#onStray(error)
    }
  }

  get isEmpty(): boolean {
    return this.#next === this.#tasks.length && this.#yielded.length === 0
  }
}

/** Asks a fiber to stop. Its observer is called when its finalizers have run. */
export const stopFiber = (fiber: Fiber.RuntimeFiber<unknown, unknown>): void =>
  fiber.unsafeInterruptAsFork(FiberId.none)

/** Whether a value is an Effect. */
export const isEffect = Effect.isEffect
