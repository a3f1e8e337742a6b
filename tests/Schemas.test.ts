import { describe, expect, layer } from "@effect/vitest"
import { Cause, DateTime, Effect, Exit, Option, Schema } from "effect"
import { expectTypeOf } from "vitest"
import { Pool, type TaskError } from "../mod.ts"
import { schemaTask } from "../src/Schemas.ts"
import {
  Banned,
  failsWithOption,
  givesOption,
  greet,
  lies,
  nothing,
  older,
  takesOption,
  User,
  UserId,
} from "./fixtures/schemas/tasks.ts"

const since = DateTime.unsafeMake("2024-02-29T12:00:00Z")
const user = (name: string, nick: Option.Option<string> = Option.none()) =>
  new User({ id: UserId.make(7), name, nick, since })

class Shape {
  area(): number {
    return 1
  }
}
interface Tree {
  readonly value: Option.Option<number>
  readonly children: ReadonlyArray<Tree>
}
interface TreeEncoded {
  readonly value: Schema.OptionEncoded<number>
  readonly children: ReadonlyArray<TreeEncoded>
}

// Nothing of this runs: the compiler is the test.
export const typed = (meta: ImportMeta) => {
  const { DurationFromSelf, Number, OptionFromSelf, Struct, instanceOf } = Schema
  // @ts-expect-error -- an Option's encoded side is an Option
  schemaTask(meta, "a payload", { payload: OptionFromSelf(Number) }, () => Effect.void)
  // @ts-expect-error -- methods would be lost, at any depth
  schemaTask(meta, "a success", { payload: Number, success: Struct({ of: instanceOf(Shape) }) }, () => Effect.die(1))
  // @ts-expect-error -- likewise
  schemaTask(meta, "a failure", { payload: Number, failure: DurationFromSelf }, () => Effect.void)
  const Tree: Schema.Schema<Tree, TreeEncoded> = Struct({
    value: Schema.Option(Number),
    children: Schema.Array(Schema.suspend((): Schema.Schema<Tree, TreeEncoded> => Tree)),
  })
  const { Any, Cause, Chunk, Defect, Exit, HashMap, String, Uint8ArrayFromSelf, Union } = Schema
  const exit = Exit({ success: Number, failure: String, defect: Defect })
  schemaTask(meta, "a tree", { payload: Tree, success: Uint8ArrayFromSelf }, () => Effect.die(1))
  schemaTask(meta, "anything", { payload: Any, failure: Union(Defect, String) }, (x) => Effect.fail(x))
  schemaTask(
    meta,
    "Effect's own",
    {
      payload: Struct({ cause: Cause({ error: String, defect: Defect }), exit }),
      success: Chunk(HashMap({ key: String, value: Number })),
    },
    () => Effect.die(1),
  )
}

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

    it.effect("fails with NotSerializable where something that its schema needs was lost on the way", () =>
      Effect.gen(function* () {
        const places = yield* Effect.all([
          Effect.flip(takesOption(Option.some(1))),
          Effect.flip(givesOption(1)),
          Effect.flip(failsWithOption(1)),
        ])
        expect(places).toMatchObject([
          { _tag: "NotSerializable", task: "takesOption", path: "args[0]" },
          { _tag: "NotSerializable", task: "givesOption", path: "result" },
          { _tag: "NotSerializable", task: "failsWithOption", path: "failure" },
        ])
      }))

    it.effect("makes an outcome that does not fit a defect of the task", () =>
      Effect.gen(function* () {
        expect(yield* lies(3)).toBe(3)
        const exit = yield* Effect.exit(lies(-3))
        expect(Exit.isFailure(exit) && Cause.isDie(exit.cause)).toBe(true)
      }))
  })
})
