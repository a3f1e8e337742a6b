// The scheduler of a machine's fibers by itself, one continuation at a time.
import { describe, expect, it } from "@effect/vitest"
import { Effect, type Fiber } from "effect"
import { ReadyQueue, stopFiber } from "../src/internal/machine/fibers.ts"
import { currentRuntime } from "./support/run.ts"

/** For the first fiber, time is up at operation `at`. */
class TimeIsUpAt extends ReadyQueue {
  readonly at: number
  first: Fiber.RuntimeFiber<unknown, unknown> | undefined
  yielded = false

  constructor(at: number) {
    super(() => {})
    this.at = at
  }

  override shouldYield(fiber: Fiber.RuntimeFiber<unknown, unknown>): number | false {
    this.first ??= fiber
    const { currentOpCount } = fiber as unknown as Record<string, number>
    if (fiber !== this.first || this.yielded || currentOpCount < this.at) return false
    // So many operations are a fiber's last ones.
    const answer = super.shouldYield(Object.create(fiber, { currentOpCount: { value: 2048 } }) as typeof fiber)
    this.yielded = answer !== false
    return answer
  }
}

const concurrent = Effect.all([Effect.never, Effect.never, Effect.never], { concurrency: "unbounded" })

const programs = {
  "all": concurrent,
  "all in a bracket": Effect.acquireUseRelease(Effect.void, () => concurrent, () => Effect.void),
  "all, five at a time": Effect.forEach(Array.from({ length: 20 }), () => Effect.never, { concurrency: 5 }),
  "race": Effect.raceAll([Effect.never, Effect.never]),
  "race of two": Effect.race(Effect.never, concurrent),
  "race to be first": Effect.raceFirst(concurrent, Effect.never),
  "timeout": Effect.timeout(concurrent, "1 hour"),
  "children": Effect.zipRight(Effect.fork(concurrent), Effect.never),
}

// Nothing in here depends on the runtime.
describe.runIf(currentRuntime === "node")("A fiber that is interrupted at any moment", () => {
  for (const [name, program] of Object.entries(programs)) {
    it(`ends, wherever its time was up: ${name}`, () => {
      for (let at = 1; at < 50; at++) {
        for (let steps = 0; steps < 16; steps++) {
          const queue = new TimeIsUpAt(at)
          const fiber = Effect.runFork(program as Effect.Effect<unknown, unknown>, { scheduler: queue })
          queue.run(steps)
          stopFiber(fiber)
          queue.run(10_000)
          expect(fiber.unsafePoll()?._tag, `time was up at operation ${at}, interrupted after ${steps} steps`).toBe(
            "Failure",
          )
        }
      }
    })
  }

  it("leaves nothing to run", () => {
    const queue = new ReadyQueue(() => {})
    const fiber = Effect.runFork(concurrent, { scheduler: queue })
    stopFiber(fiber)
    queue.run(10_000)
    expect(queue.isEmpty).toBe(true)
    expect(fiber.unsafePoll()?._tag).toBe("Failure")
  })
})
