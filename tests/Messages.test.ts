import { inspect } from "node:util"
import { describe, expect, it, layer } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { InvalidOptions, MachineStartFailed, Pool, runOn } from "../mod.ts"
import * as mistakes from "./fixtures/cases/mistakes.ts"
import { openPool } from "../src/promise.ts"
import { add, identity } from "./fixtures/tasks/basic.ts"
import { currentRuntime } from "./support/run.ts"

layer(Pool.layer({ procs: 1 }), { excludeTestServices: true })("Somebody is told what to do instead who", (it) => {
  it.effect("returns an Effect from a plain task", () =>
    Effect.gen(function* () {
      for (const call of [mistakes.returnsEffect(), mistakes.returnsLazyEffect()]) {
        const error = yield* Effect.flip(call)
        expect(error).toMatchObject({ _tag: "NotSerializable", task: call.task, path: "result" })
        expect(error.message).toContain("Task.effect")
      }
    }))

  it.effect("returns a call from a task", () =>
    Effect.gen(function* () {
      for (const call of [mistakes.returnsCall(), mistakes.promisesCall()]) {
        const error = yield* Effect.flip(call)
        expect(error).toMatchObject({ _tag: "NotSerializable", task: call.task, path: "result" })
        expect(error.message).toContain("await Task.run(call)")
      }
      const [effect, call] = yield* mistakes.joins()
      expect(effect).toContain("Task.effect")
      expect(call).toContain("await Task.run(call)")
    }))

  it.effect("passes a call to a task", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(identity({ then: [add(1, 2)] }))
      expect(error).toMatchObject({ _tag: "NotSerializable", path: "args[0].then[0]" })
      expect(error.message).toContain("await Task.run(call)")
    }))

  it.effect("spawns where no sync code of a task runs", () =>
    Effect.gen(function* () {
      for (const call of [mistakes.spawnsInEffect(), mistakes.spawnsInGenerator(), mistakes.spawnsLater()]) {
        const text = yield* call
        expect(text).toContain("in an Effect or generator task yield* the call")
        expect(text).toContain("await Task.run(call)")
      }
    }))

  it.effect("makes a call of what is none", () =>
    Effect.gen(function* () {
      const others = ['the task "one" itself', "a function", "a promise", "another Effect", "7", "undefined"]
      const texts = ["Task.run", "Task.spawn", "Task.detach"].flatMap((way) =>
        others.map((other) => `TypeError: ${way} takes a call, ${way}(task(...args)), not ${other}`)
      )
      expect(yield* mistakes.callsOthers()).toEqual(texts)
    }))
})

describe("Somebody is told", () => {
  it("that there is no pool, and for which task", async () => {
    const exit = await Effect.runPromiseExit(add(1, 2) as unknown as Effect.Effect<number, unknown, never>)
    const text = Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "no failure"
    expect(text).toContain('"add"')
    expect(text).toContain("Pool.layer()")
  })

  it.effect("which value an option had, and of which type", () =>
    Effect.gen(function* () {
      const values = { '"2"': "2", "2n": 2n, "0": 0, NaN: NaN, '{"n":1}': { n: 1 }, '""': "" }
      for (const [text, procs] of Object.entries(values)) {
        const error = yield* Effect.flip(Effect.scoped(Pool.make({ procs: procs as number })))
        expect(error).toBeInstanceOf(InvalidOptions)
        expect(error.message).toBe(`option "procs" must be a whole number from 1 to 1,024, not ${text}`)
      }
    }))

  it("that a call is no list of calls, nor a task a call", async () => {
    const texts = async (...effects: ReadonlyArray<Effect.Effect<unknown, unknown, Pool>>) => {
      const pool = Pool.layerDeterministic()
      const exits = effects.map((effect) => Effect.runPromiseExit(Effect.provide(effect, pool)))
      return (await Promise.all(exits)).map((exit) => Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "no failure")
    }
    const [one, list, items, itself] = await texts(
      runOn(2, add(1, 2) as never),
      Pool.all(add(1, 2) as never),
      Pool.all([add(1, 2), 7 as never]),
      Pool.forEach([1], () => add as never),
    )
    for (const text of [one, list]) expect(text).toContain("as a list or a record: [add(...args)], not add(...args)")
    expect(items).toContain("item 1 is not a call, task(...args), but 7")
    expect(itself).toContain(`item 0 is not a call, task(...args), but the task "add" itself`)
  })

  it("how a promise pool takes calls", async () => {
    await using pool = await openPool({ procs: 1 })
    const refusal = (promise: Promise<unknown>) => promise.then(() => "no failure", (error) => String(error))
    expect(await refusal(pool.run(add as never))).toBe(
      `TypeError: run takes a call, run(task(...args)), not the task "add" itself`,
    )
  })

  it.live("which option gives a machine more time to start, and what takes it on Node", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(runOn(1, [add(1, 2)], { startTimeout: 1 }))
      expect(error).toBeInstanceOf(MachineStartFailed)
      expect(error.message).toContain('"startTimeout"')
      expect(error.message.includes("tsx")).toBe(currentRuntime === "node")
    }))
})

describe("A call", () => {
  it("shows its task and its arguments, and nothing else", () => {
    const call = add(1, 2)
    const text = inspect(call, { breakLength: Infinity })
    expect(text).toBe("{ _id: 'Call', task: 'add', args: [ 1, 2 ] }")
    expect(JSON.parse(JSON.stringify(call))).toEqual({ _id: "Call", task: "add", args: [1, 2] })
    expect(JSON.parse(String(call))).toEqual({ _id: "Call", task: "add", args: [1, 2] })
    expect(inspect(identity(new Map([[1, "x"]])), { depth: 3 })).toContain("Map(1) { 1 => 'x' }")
  })
})
