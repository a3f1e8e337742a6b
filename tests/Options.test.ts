// Options that there are not, or that make no sense: whoever gives one is told, by every function that takes some.
import { describe, expect, it, layer } from "@effect/vitest"
import { Cause, Effect, Layer, Schema, Stream } from "effect"
import { type Call, isMain, Pool, runOn, Task } from "../mod.ts"
import { openPool, type PromisePool, runOn as runOnPromise } from "../src/promise.ts"
import { schemaTask } from "../src/Schemas.ts"
import { stream } from "../src/Streams.ts"
import { add, identity } from "./fixtures/tasks/basic.ts"
import * as ranges from "./fixtures/tasks/ranges.ts"
import { failureOf } from "./support/promises.ts"

/** What an Effect fails with or dies of. */
const refusal = <R>(effect: Effect.Effect<unknown, unknown, R>): Effect.Effect<unknown, unknown, R> =>
  Effect.map(Effect.flip(Effect.sandbox(effect)), Cause.squash)

const make = (options: unknown) => Effect.scoped(Pool.make(options as never))
const simulated = (options: unknown) => Effect.scoped(Layer.build(Pool.layerDeterministic(options as never)))
const f = (n: number): Call<unknown> => identity(n)
const reduction = { zero: 0, map: (n: number) => add(n, 1), combine: (a: number, b: number) => a + b }
const through = (options: unknown) => Stream.runDrain(stream(Stream.make(1), f, options as never))
const numbers = new Int32Array(2)

layer(Pool.layerDeterministic())("Somebody is told by a function with Effects", (it) => {
  it.effect("which option there is not, which there are, and which is likely to be meant", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [Effect.Effect<unknown, unknown, Pool>, option: string, advice: string]> = [
        [make({ workers: 2 }), "workers", "grace, resourceLimits; use procs"],
        [make({ maxThreads: 2 }), "maxThreads", "; use procs"],
        [make({ proc: 2 }), "proc", "; use procs"],
        [make({ startTimeOut: 2 }), "startTimeOut", "; use startTimeout"],
        [make({ timeout: 2 }), "timeout", "; use startTimeout, loadTimeout or grace"],
        [make({ killAfter: 2 }), "killAfter", "; it is reserved"],
        [make({ signal: AbortSignal.abort() }), "signal", "a pool has no such option but"],
        [make({ resourceLimits: { maxOldGenerationSize: 1 } }), "maxOldGenerationSize", "; use maxOldGenerationSizeMb"],
        [simulated({ grace: 2 }), "grace", "no such option but procs, queue, capacity, arena, seed"],
        [runOn(2, [f(1)], { procs: 2 } as never), "procs", "comes first: runOn(workers, calls)"],
        [runOn(2, [f(1)], { concurrency: 2 } as never), "concurrency", "runOn(workers, calls)"],
        [runOn(2, [], { timeout: 2 } as never), "timeout", "; use Effect.timeout"],
        [Pool.forEach([1], f, { limit: 2 } as never), "limit", "; use concurrency"],
        [Pool.forEach([], f, { mode: "either" } as never), "mode", "Pool.forEach has no such option but"],
        [Pool.all([f(1)], { onprogress: f } as never), "onprogress", "; use onProgress"],
        [Pool.reduce([1], { ...reduction, init: 2 } as never), "init", "; use zero"],
        [through({ unordered: true }), "unordered", "; use ordered"],
        [Pool.range(ranges.sum, { start: 1, to: 2 } as never, numbers), "start", "; use from"],
      ]
      for (const [effect, option, advice] of cases) {
        const error = yield* refusal(effect)
        expect(error).toMatchObject({ _tag: "InvalidOptions", option })
        expect((error as Error).message).toContain(`option "${option}" must be left out, as `)
        expect((error as Error).message).toContain(advice)
      }
      const { message } = (yield* refusal(make({ colour: "red" }))) as Error
      expect(message).toMatch(/^option "colour" must be left out, as a pool .*, grace, resourceLimits$/)
    }))

  it.effect("which value an option cannot have", () =>
    Effect.gen(function* () {
      const durations = [-1, NaN, -Infinity, -1n, "-5 seconds", "5", "soon", [-1, 0], [NaN, 0], {}, true]
      for (const option of ["grace", "startTimeout", "loadTimeout"]) {
        for (const value of durations) {
          const error = yield* refusal(make({ [option]: value }))
          expect(error).toMatchObject({ _tag: "InvalidOptions", option, value })
          expect((error as Error).message).toContain(`must be a duration, such as 5000, in ms, or "5 seconds", not `)
        }
      }
      const cases: ReadonlyArray<readonly [Effect.Effect<unknown, unknown, Pool>, text: string]> = [
        [make({ resourceLimits: { stackSizeMb: 0 } }), `"stackSizeMb" must be a number of megabytes above 0, not 0`],
        [make({ resourceLimits: 64 }), `"resourceLimits" must be an object, not 64`],
        [make({ capacity: 15 }), `"capacity" must be a whole number from 16 to 4,194,302, not 15`],
        [make(2), `"options" must be an object, such as { procs: 2 }, not 2`],
        [make(null), `"options" must be an object, not null`],
        [simulated({ seed: NaN }), `"seed" must be a whole number, not NaN`],
        [runOn(1, [f(1)], { mode: "any" } as never), `"mode" must be "default", "either" or "validate", not "any"`],
        [Pool.all([f(1)], { mode: "any" } as never), `"mode" must be "default", "either" or "validate", not "any"`],
        [Pool.all([f(1)], { onProgress: 1 } as never), `"onProgress" must be a function, not 1`],
        ...[0, -1, 1.5, NaN, "8"].flatMap((concurrency) => {
          const value = typeof concurrency === "string" ? `"${concurrency}"` : String(concurrency)
          const many = `"concurrency" must be a whole number from 1, or "unbounded", not ${value}`
          const ahead = `"concurrency" must be a whole number from 1, or Infinity, not ${value}`
          return [
            [Pool.forEach([1], f, { concurrency: concurrency as number }), many],
            [Pool.all([f(1)], { concurrency: concurrency as number }), many],
            [Pool.reduce([1], { ...reduction, concurrency: concurrency as number }), ahead],
            [through({ concurrency }), ahead],
          ] as const
        }),
      ]
      for (const [effect, text] of cases) {
        const error = yield* refusal(effect)
        expect(error).toMatchObject({ _tag: "InvalidOptions", message: `option ${text}` })
      }
    }))

  it.effect("and is not of an instance of a class, which may have more for itself", () =>
    Effect.gen(function* () {
      class Scaled {
        readonly zero = 0
        readonly by = 1.5
        map(n: number) {
          return add(this.by, n)
        }
        combine(sum: number, n: number) {
          return sum + n
        }
      }
      expect(yield* Pool.reduce([1, 2], new Scaled())).toBe(6)
    }))

  it.effect("and is not if there is no limit, or none was set", () =>
    Effect.gen(function* () {
      const unset = { concurrency: undefined, workers: undefined } as never
      for (const options of [unset, { concurrency: Infinity }, { concurrency: "unbounded" }] as const) {
        expect(yield* Pool.forEach([1, 2], f, options)).toEqual([1, 2])
      }
      expect(yield* Pool.reduce([1, 2], { ...reduction, concurrency: Infinity })).toBe(5)
      // Longer than timers go, which would end at once.
      const long = { grace: Infinity, startTimeout: "1000 days", loadTimeout: Infinity } as const
      expect(yield* runOn(1, [f(1)], long)).toEqual([1])
    }))

  it.effect("the order of arguments", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [() => Effect.Effect<unknown, unknown, Pool>, text: string]> = [
        [() => runOn([f(1)] as never, 2 as never), "the number of workers comes first: runOn(workers, calls)"],
        [() => runOn(2, undefined as never), "calls are given as a list or a record: [task(...args)], not undefined"],
        [() => Pool.all(2 as never), "calls are given as a list or a record: [task(...args)], not 2"],
        [() => Pool.forEach(f as never, [1] as never) as never, "the items come first: Pool.forEach(items, f)"],
        [
          () => Pool.reduce(reduction as never, [1] as never),
          "the items come first: Pool.reduce(items, { zero, map, combine })",
        ],
        [() => Pool.reduce([1], { zero: 0, map: f } as never), "combine must be a function, not undefined"],
        [() => stream(f as never, Stream.make(1) as never) as never, "the stream comes first: stream(items, f)"],
        [
          () => Pool.range(ranges.sum, undefined as never, numbers),
          `range "sum" takes its bounds first, as { from, to }, not undefined`,
        ],
        [
          () => Pool.forEach([1], 5 as never),
          "what makes the calls of Pool.forEach(items, f) must be a function, not 5",
        ],
        [
          () => Pool.range(ranges.sum, [0, 5] as never, numbers),
          `range "sum" takes its bounds first, as { from, to }, not 0,5`,
        ],
        [
          () => Pool.range(ranges.sum, null as never, numbers),
          `range "sum" takes its bounds first, as { from, to }, not null`,
        ],
        [
          () => Pool.range(ranges.sum, 10 as never, numbers),
          `range "sum" takes its bounds first, as { from, to }, not 10`,
        ],
      ]
      for (const [effect, message] of cases) {
        expect(yield* refusal(Effect.suspend(effect))).toMatchObject({ name: "TypeError", message })
      }
    }))
})

describe("Somebody is told by a function with promises", () => {
  const usingPool = async (use: (pool: PromisePool) => Promise<void>): Promise<void> => {
    await using pool = await openPool({ procs: 1 })
    await use(pool)
  }

  it("which option there is not", () =>
    usingPool(async (pool) => {
      const signal = "has no such option but signal, onProgress; use signal: AbortSignal.timeout(ms)"
      const cases: ReadonlyArray<readonly [Promise<unknown>, option: string, advice: string]> = [
        [pool.run(f(1), { timeout: 5 } as never), "timeout", signal],
        [pool.run(f(1), { abortSignal: 5 } as never), "abortSignal", "; use signal"],
        [openPool({ threads: 5 } as never), "threads", "openPool has no such option but procs, "],
        [runOnPromise(1, [f(1)], { timeout: 5 } as never), "timeout", "; use signal: AbortSignal.timeout(ms)"],
        [runOnPromise(1, [f(1)], { ordered: true } as never), "ordered", "onProgress, signal"],
      ]
      for (const [promise, option, advice] of cases) {
        const error = await failureOf(promise)
        expect(error).toMatchObject({ _tag: "InvalidOptions", option })
        expect((error as Error).message).toContain(advice)
      }
      expect(() => pool.map([1], f, { workers: 2 } as never)).toThrowError(/"workers" .* map .*; use concurrency$/)
    }))

  it("what a signal is", () =>
    usingPool(async (pool) => {
      const signal = new AbortController() as never
      const message = `option "signal" must be an AbortSignal, not [object AbortController]: pass controller.signal, ` +
        "or AbortSignal.timeout(ms)"
      const promises = [pool.run(f(1), { signal }), openPool({ signal }), runOnPromise(1, [f(1)], { signal })]
      for (const promise of promises) expect(await failureOf(promise)).toMatchObject({ name: "TypeError", message })
      expect(() => pool.map([1], f, { signal })).toThrowError(new TypeError(message))
      for (const wrong of [null, 5, "now", {}]) {
        expect(await failureOf(pool.run(f(1), { signal: wrong as never }))).toBeInstanceOf(TypeError)
      }
      expect(pool.stats()).toMatchObject({ inFlight: 0 })
    }))

  it("where a signal goes", () =>
    usingPool(async (pool) => {
      const { signal } = new AbortController()
      const given = signal as never
      expect(await failureOf(pool.run(f(1), given))).toEqual(
        new TypeError("run takes a signal as an option: { signal }"),
      )
      expect(await failureOf(openPool(given))).toBeInstanceOf(TypeError)
      expect(await failureOf(runOnPromise(1, [f(1)], given))).toBeInstanceOf(TypeError)
      expect(() => pool.map([1], f, given)).toThrowError(TypeError)
      // A controller has a signal of that name.
      expect(await pool.run(f(1), new AbortController())).toBe(1)
    }))

  it("the order of arguments", async () => {
    const message = "the number of workers comes first: runOn(workers, calls)"
    expect(await failureOf(runOnPromise([f(1)] as never, 2 as never))).toMatchObject({ name: "TypeError", message })
    await usingPool(async (pool) => {
      expect(() => pool.map(f as never, [1] as never)).toThrowError(
        "the items come first: map(items, f)",
      )
      expect(await failureOf(pool.run(f(1), { onProgress: 1 } as never))).toMatchObject({ option: "onProgress" })
    })
  })
})

describe("Somebody is told where a task is made", () => {
  it("which option there is not", () => {
    const one = () => Effect.succeed(1)
    expect(() => Task.effect(import.meta, "withLayers", one, { layers: [] } as never))
      .toThrowError(/"layers" must be left out, as Task.effect .* but layer; use layer$/)
    expect(() => schemaTask(import.meta, "withError", { payload: Schema.String, error: Schema.String } as never, one))
      .toThrowError(/"error" must be left out, as schemaTask .* failure; use failure$/)
  })

  it("what isMain takes", () => {
    for (const wrong of [undefined, null, import.meta.url, new URL(import.meta.url), true]) {
      expect(() => isMain(wrong as never)).toThrowError(
        new TypeError("isMain takes the module's import.meta: isMain(import.meta)"),
      )
    }
    expect(isMain(import.meta)).toBe(false)
  })
})
