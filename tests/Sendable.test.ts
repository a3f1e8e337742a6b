// deno-lint-ignore-file require-await no-explicit-any ban-types no-unused-vars -- they are what is tested
import { Buffer } from "node:buffer"
import { Data, Effect } from "effect"
import type * as DateTime from "effect/DateTime"
import type * as Option from "effect/Option"
import { describe, expectTypeOf, it } from "vitest"
import type { Call } from "../src/Call.ts"
import type { NotSendable, Sendable, SendableArgs, SendableFunction, SendableResult } from "../src/Sendable.ts"

// Nothing runs here: the compiler is the test.
interface Made<Args extends ReadonlyArray<unknown>, A> {
  readonly args: Args
  readonly result: Awaited<A>
}
const make = <Args extends ReadonlyArray<unknown>, A>(_: SendableFunction<Args, A>): Made<Args, A> =>
  ({}) as Made<Args, A>

type Functions = NotSendable<"functions and methods cannot be sent to another thread">

interface Tree {
  readonly value: number
  readonly children: ReadonlyArray<Tree>
  readonly parent?: Tree | undefined
}
type Json = string | number | boolean | null | Array<Json> | { [key: string]: Json }
interface Left {
  readonly right: Right
}
interface Right {
  readonly left: Left | null
  readonly onDone: () => void
}
class Point {
  readonly x: number = 0
  y?: string
}
class Hidden {
  private readonly secret: number = 1
  readonly shown: number = this.secret
}
class Circle extends Point {
  area(): number {
    return this.x
  }
}
class Failure extends Error {
  readonly code: number = 1
  retry(): void {}
}

class NotFound extends Data.TaggedError("NotFound")<{ readonly id: number }> {}

describe("Sendable", () => {
  it("keeps the types of parameters and result", () => {
    expectTypeOf(make((lo: number, hi: number): number => hi - lo)).toEqualTypeOf<
      Made<[lo: number, hi: number], number>
    >()
    expectTypeOf(make(() => {})).toEqualTypeOf<Made<[], void>>()
    expectTypeOf(make((a: string, b?: number) => a + b)).toEqualTypeOf<
      Made<[a: string, b?: number | undefined], string>
    >()
    expectTypeOf(make((...xs: Array<number>) => xs)).toEqualTypeOf<Made<Array<number>, Array<number>>>()
    expectTypeOf(make((a: string, ...xs: Array<number>) => [a, xs] as const).args).toEqualTypeOf<
      [a: string, ...xs: Array<number>]
    >()
    expectTypeOf(make(async (x: Tree): Promise<Tree> => x)).toEqualTypeOf<Made<[x: Tree], Promise<Tree>>>()
    expectTypeOf(make(async (x: number) => ({ x })).result).toEqualTypeOf<{ x: number }>()
    expectTypeOf(make((a: unknown, b: any): unknown => [a, b]).args).toEqualTypeOf<[a: unknown, b: any]>()
    expectTypeOf(
      make((): never => {
        throw 1
      }).result,
    ).toEqualTypeOf<never>()
    expectTypeOf(make((x: number = 1, y: "a" | "b" = "a") => x + y).args).toEqualTypeOf<
      [x?: number | undefined, y?: "a" | "b" | undefined]
    >()
    expectTypeOf(make(<T>(x: T): T => x).args).toEqualTypeOf<[x: unknown]>()
    expectTypeOf(
      make(function* (n: number) {
        yield* Effect.succeed(n)
        return "done"
      }).args,
    ).toEqualTypeOf<[n: number]>()
  })

  it("accepts data of every shape", () => {
    make((x: Tree) => x)
    make((x: Json): Json => x)
    make((x: readonly [number, string?]) => x)
    make((x: Record<string, number> & { readonly id?: string }) => x)
    make((x: { readonly a?: number; b: { c: Array<{ d: null | undefined }> } } | string) => x)
    make((x: Map<string, Set<Date>>, y: ReadonlyMap<string, ReadonlySet<RegExp>>) => [x, y])
    make((x: Uint8Array, y: DataView, z: ArrayBuffer, w: SharedArrayBuffer) => [x, y, z, w])
    make((x: Float64Array<SharedArrayBuffer>, y: ArrayBufferView) => [x, y])
    make((x: Error, y: Failure, z: AggregateError) => [x, y, z])
    make((x: 0 | 1, y: bigint, z: `a${string}`, w: string & { readonly brand: "Id" }) => [x, y, z, w])
    make((x: Point) => x)
    make((x: object, y: {}, z: Array<unknown>, w: Record<string, unknown>) => [x, y, z, w])
    make((x: { readonly [key: symbol]: () => void; readonly a: number }) => x)
    make(() => new Hidden())
    make(async (): Promise<void> => {})
    make((): number | Promise<number> => 1)
  })

  it("refuses functions, at any depth", () => {
    // @ts-expect-error -- a function
    make((f: () => void) => f)
    // @ts-expect-error -- inside an object
    make((x: { readonly handlers: { readonly onClick: () => void } }) => x.handlers !== undefined)
    // @ts-expect-error -- optional
    make((x: { readonly onClick?: () => void }) => x !== undefined)
    // @ts-expect-error -- in a union
    make((x: number | (() => void)) => x !== undefined)
    // @ts-expect-error -- in an array
    make((x: ReadonlyArray<() => void>) => x.length)
    // @ts-expect-error -- in a Map
    make((x: Map<string, () => void>) => x.size)
    // @ts-expect-error -- in mutually recursive types
    make((x: Left) => x !== undefined)
    // @ts-expect-error -- in a rest parameter
    make((...fs: Array<() => void>) => fs.length)
    // @ts-expect-error -- a class
    make((x: typeof Point) => x !== undefined)
    // @ts-expect-error -- methods would be lost
    make((x: Circle) => x !== undefined)
    // @ts-expect-error -- and so would those of Effect's data types
    make((x: Option.Option<number>) => x !== undefined)
    // @ts-expect-error -- likewise
    make((x: DateTime.Utc) => x !== undefined)
  })

  it("refuses symbols, promises and weak collections", () => {
    // @ts-expect-error -- a symbol
    make((x: symbol) => x !== undefined)
    // @ts-expect-error -- a promise as an argument
    make((x: Promise<number>) => x !== undefined)
    // @ts-expect-error -- weak
    make((x: { readonly cache: WeakMap<object, string> }) => x !== undefined)
    // @ts-expect-error -- weak
    make((x: WeakSet<object>) => x !== undefined)
    // @ts-expect-error -- weak
    make((x: WeakRef<object>) => x !== undefined)
  })

  it("refuses results likewise", () => {
    // @ts-expect-error -- a function
    make(() => () => 1)
    // @ts-expect-error -- promised
    make(async () => ({ f: () => 1 }))
    // @ts-expect-error -- a promise inside the result
    make(() => ({ later: Promise.resolve(1) }))
    // @ts-expect-error -- a generator's
    make(function* () {
      yield 1
      return () => 1
    })
    // @ts-expect-error -- an instance with methods
    make(() => new Circle())
    // @ts-expect-error -- one that has its methods no more
    make(() => Buffer.from("x"))
    // @ts-expect-error -- likewise
    make((buffer: Buffer) => buffer.toString("hex"))
    make((bytes: Uint8Array): Uint8Array => Buffer.from(bytes))
  })

  it("says what to do with a result that is an Effect or a call", () => {
    // @ts-expect-error -- Task.effect is for that
    make(() => Effect.succeed(1))
    // @ts-expect-error -- promised
    make(async () => Effect.succeed(1))
    // @ts-expect-error -- a call that nobody runs
    make((call: Array<number>) => ({}) as Call<number>)
    // @ts-expect-error -- likewise
    make(async () => ({}) as Call<number>)
    // @ts-expect-error -- likewise, of a generator
    make(function* () {
      yield* Effect.void
      return {} as Call<number>
    })
    type ACall = NotSendable<"a call: yield* it, await Task.run(call), or join Task.spawn(call)">
    type AnEffect = NotSendable<"an Effect: use Task.effect">
    expectTypeOf<SendableResult<Call<number>>>().toEqualTypeOf<ACall>()
    expectTypeOf<SendableResult<Promise<Call<number>>>>().toEqualTypeOf<PromiseLike<ACall>>()
    expectTypeOf<SendableResult<Effect.Effect<number, string>>>().toEqualTypeOf<AnEffect>()
    // Errors that can be yielded are Effects, and are sent.
    make((failure: NotFound) => failure)
    make((): unknown => Effect.succeed(1))
  })

  it("names the problem where it is", () => {
    expectTypeOf<Sendable<() => void>>().toEqualTypeOf<Functions>()
    expectTypeOf<Sendable<{ a: { b: () => void } }>["a"]["b"]>().toEqualTypeOf<Functions>()
    expectTypeOf<SendableArgs<[number, () => void]>>().toEqualTypeOf<[number, Functions]>()
    expectTypeOf<Sendable<Promise<1>>>().toEqualTypeOf<
      NotSendable<"promises cannot be sent to another thread: await them first">
    >()
    expectTypeOf<Sendable<string>>().toEqualTypeOf<string>()
    expectTypeOf<Sendable<unknown>>().toEqualTypeOf<unknown>()
  })
})
