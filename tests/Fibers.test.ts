// The scheduler of a machine's fibers by itself, one continuation at a time.
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { ReadyQueue, stopFiber } from "../src/internal/machine/fibers.ts"
import { currentRuntime } from "./support/run.ts"

/** For the first fiber, time is up at operation `at`. */
class TimeIsUpAt extends ReadyQueue {
  readonly at: number
  first: Fiber.RuntimeFiber<unknown, unknown> | undefined
  yielded = false

  constructor(at: number) {
    super(() => {}, () => {})
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

const step = (queue: ReadyQueue, steps: number): void => {
  for (let i = 0; i < steps; i++) queue.run(1)
}

const drain = (queue: ReadyQueue): void => {
  while (!queue.isEmpty) queue.run(1)
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
          step(queue, steps)
          stopFiber(fiber)
          drain(queue)
          expect(fiber.unsafePoll()?._tag, `time was up at operation ${at}, interrupted after ${steps} steps`).toBe(
            "Failure",
          )
        }
      }
    })
  }

  it("leaves nothing to run", () => {
    const queue = new ReadyQueue(() => {}, () => {})
    const fiber = Effect.runFork(concurrent, { scheduler: queue })
    stopFiber(fiber)
    drain(queue)
    expect(queue.isEmpty).toBe(true)
    expect(fiber.unsafePoll()?._tag).toBe("Failure")
  })
})

describe.runIf(currentRuntime === "node")("A pass of continuations", () => {
  /** Runs a pass, and returns how many looks at the clock it leaves time for. */
  const pass = (queue: ReadyQueue): number => {
    let looks = 1
    while (!queue.run(16)) looks++
    return looks
  }

  it("ends when all have had their turn, those that became ready meanwhile too", () => {
    const queue = new ReadyQueue(() => {}, () => {})
    const gate = Effect.runSync(Deferred.make<void>())
    let awaited: Effect.Effect<void> = Deferred.await(gate)
    for (let i = 0; i < 60; i++) {
      awaited = Fiber.join(Effect.runFork(awaited, { scheduler: queue }))
    }
    let ended = false
    Effect.runFork(Effect.zipRight(awaited, Effect.sync(() => ended = true)), { scheduler: queue })
    pass(queue)
    Effect.runSync(Deferred.succeed(gate, undefined))
    expect(pass(queue)).toBeGreaterThan(2)
    expect(ended).toBe(true)
  })

  /** Counts its turns, without end. */
  const yields = (count: () => void) =>
    Effect.whileLoop({
      while: () => true,
      body: () => Effect.zipRight(Effect.sync(count), Effect.yieldNow()),
      step: () => {},
    })

  it("gives a fiber that yields one turn", () => {
    const queue = new ReadyQueue(() => {}, () => {})
    const turns = [0, 0]
    for (const i of turns.keys()) Effect.runFork(yields(() => turns[i]++), { scheduler: queue })
    pass(queue)
    const before = [...turns]
    for (let n = 1; n < 10; n++) {
      pass(queue)
      expect(turns).toEqual(before.map((turns) => turns + n))
    }
  })

  it("ends at some time, though some wake each other without end, and others go on then", () => {
    const queue = new ReadyQueue(() => {}, () => {})
    let calls = 0
    const again = (): void => {
      calls++
      queue.scheduleTask(() => again())
    }
    again()
    let turns = 0
    Effect.runFork(yields(() => turns++), { scheduler: queue })
    for (let n = 0; n < 20; n++) pass(queue)
    expect(calls).toBeGreaterThan(1000)
    expect(turns).toBeGreaterThan(5)
  })
})

describe.runIf(currentRuntime === "node")("A fiber that computes for long where it cannot be interrupted", () => {
  const spin = Effect.sync(() => {
    for (const until = performance.now() + 1; performance.now() < until;);
  })
  const long = Effect.forEach(Array.from({ length: 300 }), () => spin, { discard: true })
  const programs = {
    "in a region": Effect.uninterruptible(long),
    "in a finalizer": Effect.ensuring(Effect.void, long),
  }
  for (const [name, program] of Object.entries(programs)) {
    it(`lets others have their turn all the same: ${name}`, () => {
      const queue = new ReadyQueue(() => {}, () => {})
      let turns = 0
      const fiber = Effect.runFork(program, { scheduler: queue })
      Effect.runFork(Effect.forever(Effect.zipRight(Effect.sync(() => turns++), Effect.yieldNow())), {
        scheduler: queue,
      })
      while (fiber.unsafePoll() === null) queue.run(1)
      expect(turns).toBeGreaterThan(3)
    })
  }
})
