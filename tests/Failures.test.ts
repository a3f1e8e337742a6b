import { describe, expect, it, layer } from "@effect/vitest"
import { Cause, Effect, Exit, Logger, Option } from "effect"
import {
  type Call,
  Deadlock,
  MachineExited,
  MissingGuard,
  NotSerializable,
  Pool,
  type PoolService,
  Task,
  type TaskError,
  TaskFailed,
} from "../src/index.ts"
import { hidden } from "./fixtures/cases/conditional.ts"
import * as errors from "./fixtures/cases/errors.ts"
import { triple } from "./fixtures/cases/awaitsUnguarded.ts"
import { unreachable as loadsForEver } from "./fixtures/cases/loadsForEver.ts"
import { unreachable as neverLoads } from "./fixtures/cases/neverLoads.ts"
import { fourfold } from "./fixtures/cases/promisesUnguarded.ts"
import { unreachable as throwsAtLoad } from "./fixtures/cases/throwsAtLoad.ts"
import { double } from "./fixtures/cases/unguarded.ts"
import { isObserved } from "./fixtures/effects/tasks.ts"
import * as waiting from "./fixtures/cases/waiting.ts"
import { add, identity, later, newCells, reached } from "./fixtures/tasks/basic.ts"
import { NOTHING_LEFT, settledIn } from "./fixtures/tasks/pools.ts"
import { bottomOf } from "./support/errors.ts"
import { runScript } from "./support/run.ts"

const { CodedError, KnownError, rejectsWith, returns, throws, valueOf } = errors

const causeOf = <A, E>(exit: Exit.Exit<A, E>): Cause.Cause<E> => {
  if (Exit.isSuccess(exit)) throw new Error(`it succeeded with ${String(exit.value)}`)
  return exit.cause
}

const failureOf = <A, E>(exit: Exit.Exit<A, E>): E => {
  const cause = causeOf(exit)
  return Option.getOrThrowWith(Cause.failureOption(cause), () => new Error(Cause.pretty(cause)))
}

/** What a call fails with, after which the next call works. */
const failure = (call: Call<unknown>): Effect.Effect<TaskError, TaskError, Pool> =>
  Effect.gen(function* () {
    const error = failureOf(yield* Effect.exit(call))
    expect(yield* add(20, 3)).toBe(23)
    return error
  })

const thrown = (call: Call<unknown>): Effect.Effect<unknown, TaskError, Pool> =>
  Effect.map(failure(call), (error) => {
    expect(error).toBeInstanceOf(TaskFailed)
    return (error as TaskFailed).error
  })

const defectOf = <A, E>(exit: Exit.Exit<A, E>): unknown => {
  const cause = causeOf(exit)
  return Option.getOrThrowWith(Cause.dieOption(cause), () => new Error(Cause.pretty(cause)))
}

/** By tasks of all kinds, and through tasks of all kinds that wait for them. */
const forAll = (what: string, check: (error: unknown) => void) =>
  Effect.gen(function* () {
    for (const call of [throws(what), rejectsWith(what)]) check(yield* thrown(call))
    for (const call of [waiting.passesOn(what, true), waiting.passesOn(what, false), waiting.passesOnThrown(what)]) {
      check(bottomOf(yield* thrown(call)))
    }
    for (const call of [waiting.failsWith(what), waiting.failsLater(what), waiting.passesOnTyped(what)]) {
      check(failureOf(yield* Effect.exit(call)))
    }
    for (const call of [waiting.diesOf(what), waiting.throwsMidway(what)]) check(defectOf(yield* Effect.exit(call)))
    expect(yield* add(20, 3)).toBe(23)
  })

layer(Pool.layer({ procs: 2, arena: 1 << 20 }), { excludeTestServices: true })(
  "What a task throws comes back:",
  (it) => {
    it.effect("undefined, null, numbers, text and plain objects as they are", () =>
      Effect.gen(function* () {
        for (const [what, value] of Object.entries({ undefined: undefined, null: null, "42": 42, text: "just text" })) {
          yield* forAll(what, (error) => expect(error).toBe(value))
        }
        yield* forAll("object", (error) => expect(error).toEqual({ reason: ["plain"] }))
      }))

    it.effect("an error with its name, message, stack, own properties and cause", () =>
      forAll("coded", (error) => {
        if (!(error instanceof Error)) throw new Error("not an error")
        expect(error).toMatchObject({
          name: "CodedError",
          message: "with all",
          code: "E_CODED",
          extra: { list: [1, 2] },
        })
        expect(error.stack).toContain("errors.ts")
        expect(error.cause).toBeInstanceOf(TypeError)
        expect((error.cause as Error).message).toBe("the cause")
        expect(error).not.toBeInstanceOf(CodedError)
      }))

    it.effect("an error whose failure leads to where it was thrown, through all its callers", () =>
      Effect.gen(function* () {
        for (const call of [throws("coded"), rejectsWith("coded"), waiting.passesOn("coded", false)]) {
          const { message, stack } = yield* failure(call)
          expect(message).toMatch(/task ".*" failed.*: CodedError: with all$/)
          const [told, frame] = stack!.split("\n")
          expect(told).toBe(`TaskFailed: ${message}`)
          expect(frame).toContain("errors.ts")
        }
        const { stack } = yield* failure(throws("undefined"))
        expect(stack).toMatch(/^TaskFailed: task "throws" failed: undefined\n +at /)
      }))

    it.effect("an error of a registered class as an instance of it", () =>
      forAll("known", (error) => {
        if (!(error instanceof KnownError)) throw new Error("not of the class")
        expect([error.message, error.detail, error.shout]).toEqual(["known: of old", "of old", "OF OLD"])
      }))

    it.effect("an AggregateError with its errors", () =>
      forAll("aggregate", (error) => {
        if (!(error instanceof AggregateError)) throw new Error("not of the class")
        expect(error.message).toBe("several")
        expect(error.errors).toHaveLength(3)
        expect(error.errors[0]).toMatchObject({ message: "one" })
        expect(error.errors[1]).toBe(2)
        expect(error.errors[2]).toBeInstanceOf(TypeError)
      }))

    it.effect("an error that is its own cause", () =>
      forAll("cyclic cause", (error) => expect((error as Error).cause).toBe(error)))

    it.effect("an error whose message cannot be read", () =>
      forAll("throwing message", (error) => {
        expect(error).toBeInstanceOf(Error)
        expect((error as Error).message).toContain("no message for you")
      }))

    for (const what of ["revoked proxy", "proxy without a class"]) {
      it.effect(`a ${what} as an error that says so`, () =>
        Effect.gen(function* () {
          const says = /cannot be looked at|reading it threw|revoked|no class for you/
          for (const call of [throws(what), rejectsWith(what)]) expect(String(yield* thrown(call))).toMatch(says)
          for (const inline of [true, false]) {
            expect(String(bottomOf(yield* thrown(waiting.passesOn(what, inline))))).toMatch(says)
          }
          // Effect cannot look at it either: its fibers may break, and their machine then ends as one that died.
          for (const call of [waiting.failsWith(what), waiting.diesOf(what), waiting.throwsMidway(what)]) {
            const error = Cause.squash(causeOf(yield* Effect.exit(call)))
            if (!(error instanceof MachineExited)) expect(String(error)).toMatch(says)
          }
          expect(yield* add(20, 3)).toBe(23)
        }))
    }

    it.effect("an error with a stack of a megabyte", () =>
      Effect.gen(function* () {
        // It does not fit this pool; that is told, and nothing hangs.
        for (
          const call of [
            throws,
            rejectsWith,
            waiting.failsWith,
            waiting.failsLater,
            waiting.diesOf,
            waiting.throwsMidway,
          ]
        ) {
          const error = Cause.squash(causeOf(yield* Effect.exit(call("long stack"))))
          expect(error).toMatchObject({ _tag: "PayloadTooLarge", task: call.task })
        }
        for (const call of [waiting.passesOn("long stack", false), waiting.passesOnThrown("long stack")]) {
          expect(bottomOf(yield* failure(call))).toMatchObject({ _tag: "PayloadTooLarge" })
        }
      }))

    it.effect("an error that holds a function, without it", () =>
      forAll("with a function", (error) => {
        expect(error).toMatchObject({ message: "holds one" })
        expect(typeof (error as { readonly handler: unknown }).handler).toBe("string")
      }))

    it.effect("from the bottom of a chain of calls, as each caller's failure", () =>
      Effect.gen(function* () {
        let error: unknown = yield* thrown(errors.failsBelow(3))
        for (let depth = 0; depth < 5 && error instanceof TaskFailed; depth++) error = error.error
        expect(error).toMatchObject({ name: "CodedError", message: "at the bottom" })
      }))

    it.effect("from a child that its parent did not join, as the parent's failure", () =>
      Effect.gen(function* () {
        expect(yield* thrown(errors.forgets())).toMatchObject({ error: { name: "CodedError" } })
      }))

    it.effect("from a parent, whose children have ended by then", () =>
      Effect.gen(function* () {
        const cells = newCells()
        expect(yield* thrown(errors.failsWithChildren(cells))).toMatchObject({ message: "the parent" })
        const ran = cells[0]
        yield* Pool.forEach([1, 2, 3], (i) => add(i, i))
        expect(cells[0]).toBe(ran)
      }))

    it.effect("with no caller to belong to, to nobody but the log", () =>
      Effect.gen(function* () {
        const cells = newCells()
        yield* errors.leavesTimer(cells)
        yield* errors.leavesRejection()
        yield* Effect.promise(() => reached(cells, 0, 1))
        for (let i = 0; i < 50; i++) expect(yield* add(i, 1)).toBe(i + 1)
      }))
  },
)

layer(Pool.layer({ procs: 2, arena: 1 << 18, loadTimeout: 6000 }), { excludeTestServices: true })(
  "A call that cannot be carried out",
  (it) => {
    const places = { function: "list[1].handler", symbol: 'deep.get("key")', getter: "broken" }
    for (const [what, place] of Object.entries(places)) {
      it.effect(`names the place of what cannot be sent: ${what}`, () =>
        Effect.gen(function* () {
          const arg = yield* failure(identity(valueOf(what)))
          expect(arg).toMatchObject({ _tag: "NotSerializable", task: "identity", path: `args[0].${place}` })
          for (const call of [returns(what), waiting.returnsLater(what), waiting.succeedsWith(what)]) {
            const result = yield* failure(call)
            expect(result).toMatchObject({ _tag: "NotSerializable", task: call.task, path: `result.${place}` })
          }
          const seen = `NotSerializable result.${place}`
          expect(yield* waiting.seesUnsendable(what)).toEqual([seen, seen])
        }))
    }

    it.effect("names the place of a promise", () =>
      Effect.gen(function* () {
        expect(yield* failure(identity(valueOf("promise")))).toMatchObject({ path: "args[0][0].later" })
        for (const what of ["revoked proxy", "proxy without a class"]) {
          expect(yield* failure(identity(valueOf(what)))).toMatchObject({ _tag: "NotSerializable", path: "args[0]" })
          expect(yield* failure(errors.returns(what))).toMatchObject({ _tag: "NotSerializable", path: "result" })
        }
        expect(yield* identity(valueOf("view without a class"))).toHaveLength(8)
        expect(yield* failure(returns("promise"))).toMatchObject({ path: "result[0].later" })
      }))

    it.effect("throws at the task that spawns it", () =>
      Effect.gen(function* () {
        expect(yield* errors.spawnsUnsendable()).toBe(new NotSerializable({ task: "", path: "", reason: "" })._tag)
      }))

    it.effect("tells the sizes of a payload that is too large", () =>
      Effect.gen(function* () {
        const large = "a megabyte"
        const results = [returns(large), waiting.returnsLater(large), waiting.succeedsWith(large)]
        for (const call of [identity(valueOf(large)), ...results]) {
          const error = yield* failure(call)
          expect(error).toMatchObject({ _tag: "PayloadTooLarge", task: call.task })
          if (error._tag !== "PayloadTooLarge") continue
          expect(error.bytes).toBeGreaterThanOrEqual(1 << 20)
          expect(error.limit).toBeLessThanOrEqual(1 << 18)
        }
        const seen = "PayloadTooLarge "
        expect(yield* waiting.seesUnsendable(large)).toEqual([seen, seen])
      }))

    it.effect("names the module that does not exist", () =>
      Effect.gen(function* () {
        const url = new URL("./fixtures/cases/missing.ts", import.meta.url).href
        const missing = Task.make({ url } as ImportMeta, "nowhere", (): number => 1)
        const error = yield* failure(missing())
        expect(error).toMatchObject({ _tag: "TaskNotFound", task: "nowhere", module: url })
        expect(error.message).toContain("missing.ts")
      }))

    it.effect("names the task that its module does not define", () =>
      Effect.gen(function* () {
        const error = yield* failure(hidden())
        expect(error).toMatchObject({ _tag: "TaskNotFound", task: "hidden" })
        expect(error.message).toContain("outside any condition")
      }))

    it.effect("tells why its module does not load", () =>
      Effect.gen(function* () {
        // Again and again, although by then the module has defined its task.
        for (let i = 0; i < 3; i++) {
          const error = yield* failure(throwsAtLoad())
          expect(error).toMatchObject({ _tag: "TaskNotFound", task: "unreachable" })
          expect(error.message).toContain("thrown while loading")
        }
      }))

    it.effect("fails its caller with the same error, which names it, if that lets it pass", () =>
      Effect.gen(function* () {
        const path = 'result.deep.get("key")'
        for (const call of [errors.joinsReturning("symbol"), errors.forgetsReturning("symbol")]) {
          expect(yield* failure(call)).toMatchObject({ _tag: "NotSerializable", task: "returns", path })
        }
        const awaited = yield* failure(waiting.awaitsReturning("symbol"))
        expect(awaited).toMatchObject({ _tag: "NotSerializable", task: "returnsLater", path })
      }))

    it.effect("gives up on a module that never finishes loading", () =>
      Effect.gen(function* () {
        const error = yield* failure(neverLoads())
        expect(error).toMatchObject({ _tag: "TaskNotFound", task: "unreachable" })
        expect(error.message).toContain("has not finished loading after 6000 ms")
      }))

    it.effect("can be interrupted while its module loads", () =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(Effect.timeoutFail(loadsForEver(), {
          duration: 50,
          onTimeout: () => "gave up" as const,
        }))
        expect(failureOf(exit)).toBe("gave up")
        expect(yield* add(1, 2)).toBe(3)
      }))

    it.effect("is a deadlock if a sync task waits for an async one", () =>
      Effect.gen(function* () {
        for (const call of [errors.joinsPromise(), errors.joinsJoin(), errors.forgetsPromise()]) {
          const error = yield* failure(call)
          expect(error).toBeInstanceOf(Deadlock)
          expect((error as Deadlock).task).toBe("promising")
          expect((error as Deadlock).message).toContain("can never go on")
          expect((error as Deadlock).message).toContain("before it ends itself")
        }
      }))

    it.effect("leaves nothing behind", () =>
      Effect.gen(function* () {
        expect(yield* settledIn(yield* Pool)).toEqual(NOTHING_LEFT)
      }))
  },
)

describe("Tasks", () => {
  it("of one name in one module are refused", () => {
    const meta = { url: "file:///twice.ts" } as ImportMeta
    Task.make(meta, "twice", () => 1)
    expect(() => Task.make(meta, "twice", () => 2)).toThrow('two tasks named "twice" in file:///twice.ts')
    expect(() => Task.make(meta, "", () => 2)).toThrow("has no name")
    expect(() => Task.make(meta, "three", 3 as never)).toThrow("is not a function")
    expect(() => Task.make(undefined as never, "four", () => 4)).toThrow("import.meta")
    expect(() => Task.spawn(add(1, 2))).toThrow("inside a running task")
  })

  it("are found by whatever URL their module was reached, and if it imports the entry script", async () => {
    const { code, stderr, stdout } = await runScript(new URL("./fixtures/cases/urls.ts", import.meta.url))
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout.trim().split("\n")).toEqual([
      "./where.ts true",
      "./where.ts?v=1 true",
      "./where.ts?v=2 true",
      "./whereLink.ts true",
      "the entry script",
    ])
  })
})

/** Lines as the default logger writes them, and what loggers that take logs apart get. */
const lines: Array<string> = []
const causes: Array<Cause.Cause<unknown>> = []
const noting = Logger.replace(
  Logger.defaultLogger,
  Logger.make((options) => {
    lines.push(Logger.stringLogger.log(options))
    causes.push(options.cause)
  }),
)

/** Runs calls that leave errors behind, and waits for as many logs. */
const leaving = (count: number, run: (pool: PoolService) => Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    lines.length = causes.length = 0
    yield* run(yield* Pool.make({ procs: 1 }))
    while (lines.length < count) yield* Effect.sleep(5)
    return lines.join("\n")
  }).pipe(Effect.scoped, Effect.provide(noting))

describe("Calls of a module that opens a pool without a guard", () => {
  it.live("fail with MissingGuard", () =>
    Effect.gen(function* () {
      for (const call of [triple(1), fourfold(1)]) {
        const error = yield* failure(call)
        expect(error).toMatchObject({ _tag: "MissingGuard", task: call.task })
        expect(error.message).toContain("if (isMain(import.meta))")
        expect(error.message).toContain("Unguarded")
      }
    }).pipe(Effect.provide(Pool.layer({ procs: 1 }))))
})

describe("Errors outside any call", () => {
  it.live("are logged with text and stack, and as a cause", () =>
    Effect.gen(function* () {
      const text = yield* leaving(3, (pool) =>
        pool.run(errors.leavesTimer(newCells())).pipe(
          Effect.zipRight(pool.run(errors.leavesRejection())),
          Effect.zipRight(pool.run(errors.leavesKnown())),
        ))
      expect(text).toContain("belongs to no running call")
      for (const message of ["Error: left behind", "Error: left behind, rejected", "known: and left behind"]) {
        expect(text).toContain(message)
      }
      expect(text.split("errors.").length).toBeGreaterThan(3)
      const thrown = causes.map((cause) => Option.getOrThrow(Cause.dieOption(cause)))
      expect(thrown.filter((error) => error instanceof KnownError)).toHaveLength(1)
    }))

  it.live("of observers of a fiber are told, and end nothing", () =>
    Effect.gen(function* () {
      const text = yield* leaving(2, (pool) =>
        Effect.gen(function* () {
          const calls = [isObserved(true), isObserved(false), later(100)].map((call) =>
            pool.run<unknown, unknown>(call)
          )
          expect(yield* Effect.all(calls, { concurrency: "unbounded" })).toEqual(["went on", "went on", 100])
          expect((yield* pool.stats).deaths).toBe(0)
        }))
      expect(text.split("Error: from an observer").length).toBe(3)
    }))

  it.live("name the task where the runtime knows it", () =>
    Effect.gen(function* () {
      // Bun knows it in timers, others in promises.
      const text = yield* leaving(2, (pool) => pool.run(errors.leavesBoth()))
      expect(text).toContain('the code of task \\"leavesBoth\\"')
    }))

  it.live("tell of a missing guard when nobody waits for the start of a module", () =>
    Effect.gen(function* () {
      const text = yield* leaving(1, (pool) => Effect.map(pool.run(double(2)), (n) => expect(n).toBe(4)))
      expect(text).toContain("if (isMain(import.meta))")
      expect(text).toContain("cases/unguarded")
      expect(Option.getOrThrow(Cause.failureOption(causes[0]))).toBeInstanceOf(MissingGuard)
    }))

  it.live("tell of a detached call that fails, by its name", () =>
    Effect.gen(function* () {
      const text = yield* leaving(1, (pool) => pool.run(waiting.detachesFailing()))
      expect(text).toContain('detached call of task \\"throwsToo\\" failed')
      expect(Option.getOrThrow(Cause.failureOption(causes[0]))).toMatchObject({ _tag: "TaskFailed", task: "throwsToo" })
    }))
})
