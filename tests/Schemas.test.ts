import { describe, expect, layer } from "@effect/vitest"
import { Cause, DateTime, Effect, Exit, Option } from "effect"
import { expectTypeOf } from "vitest"
import { Pool, type TaskError } from "../mod.ts"
import { Banned, greet, lies, nothing, older, User, UserId } from "./fixtures/schemas/tasks.ts"

const since = DateTime.unsafeMake("2024-02-29T12:00:00Z")
const user = (name: string, nick: Option.Option<string> = Option.none()) =>
  new User({ id: UserId.make(7), name, nick, since })

describe("schemaTask", () => {
  layer(Pool.layer({ procs: 2 }), { excludeTestServices: true, timeout: 30_000 })((it) => {
    it.effect("brings classes, brands, options and times through", () =>
      Effect.gen(function* () {
        const greeting = yield* greet(user("Ada", Option.some("Countess")))
        expect(greeting.text).toBe("Hello Countess")
        expect(greeting.of).toBeInstanceOf(User)
        expect(greeting.of.greeting).toBe("Hello Countess")
        expect(Option.isSome(greeting.next) && greeting.next.value).toBe(8)
        expect(DateTime.Equivalence(greeting.of.since, since)).toBe(true)
        expectTypeOf(greeting.next).toEqualTypeOf<Option.Option<UserId>>()
        expectTypeOf(greet(user("Ada"))).toMatchTypeOf<Effect.Effect<unknown, Banned | TaskError, Pool>>()
        expect(yield* nothing(undefined)).toBe(undefined)
      }))

    it.effect("brings typed failures through, wherever they stand in the cause", () =>
      Effect.gen(function* () {
        const banned = yield* Effect.flip(greet(user("Mallory")))
        expect(banned).toBeInstanceOf(Banned)
        expect(banned._tag === "Banned" && banned.user.greeting).toBe("Hello Mallory")
        const nested = yield* Effect.flip(older(user("Mallory")))
        expect(nested).toBeInstanceOf(Banned)
      }))

    it.effect("works between tasks on machines, and in bulk", () =>
      Effect.gen(function* () {
        const found = yield* Pool.forEach(["a", "b", "c"], (name) => older(user(name)))
        expect(found.map(({ name }) => name)).toEqual(["a", "b", "c"])
        expect(DateTime.toEpochMillis(found[0].since)).toBe(DateTime.toEpochMillis(since) - 86_400_000)
      }))

    it.effect("refuses a payload that does not fit, before it is sent, and the others run", () =>
      Effect.gen(function* () {
        const bad = { ...user("x"), name: "" } as never
        const results = yield* Pool.all([greet(user("a")), greet(bad), greet(user("b"))], { mode: "either" })
        expect(results.map(({ _tag }) => _tag)).toEqual(["Right", "Left", "Right"])
        const error = yield* Effect.flip(greet(bad))
        expect(error).toMatchObject({ _tag: "NotSerializable", task: "greet", path: "args[0]" })
      }))

    it.effect("makes an outcome that does not fit a defect of the task", () =>
      Effect.gen(function* () {
        expect(yield* lies(3)).toBe(3)
        const exit = yield* Effect.exit(lies(-3))
        expect(Exit.isFailure(exit) && Cause.isDie(exit.cause)).toBe(true)
      }))
  })
})
