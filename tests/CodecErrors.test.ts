import * as Data from "effect/Data"
import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"
import { registerErrorClass } from "../src/ErrorClass.ts"
import { failTrip, roundTrip } from "./support/codec.ts"

class NotFound extends Error {
  readonly code: string
  constructor(code: string, options?: ErrorOptions) {
    super(`not found: ${code}`, options)
    this.name = "NotFound"
    this.code = code
  }
}
class Registered extends RangeError {
  constructor(readonlyField: number) {
    super("registered")
    constructed++
    this.field = readonlyField
  }
  readonly field: number
  double(): number {
    return this.field * 2
  }
}
let constructed = 0
registerErrorClass(Registered)

class Tagged extends Data.TaggedError("Tagged")<{ readonly id: number; readonly at: Date }> {
  override get message() {
    return `tagged ${this.id}`
  }
}
class Schemed extends Schema.TaggedError<Schemed>()("Schemed", { id: Schema.Number }) {}

describe("errors", () => {
  it("keep name, message, stack, cause and own properties", () => {
    const cause = new TypeError("why")
    const error = Object.assign(new NotFound("E1", { cause }), { extra: { list: [1, new Map([[1, 2]])] } })
    for (const back of [roundTrip(error), failTrip(error) as typeof error]) {
      expect(back).toBeInstanceOf(Error)
      expect(back.name).toBe("NotFound")
      expect(back.message).toBe("not found: E1")
      expect(back.stack).toBe(error.stack)
      expect(back.code).toBe("E1")
      expect(back.extra).toEqual(error.extra)
      expect(back.cause).toBeInstanceOf(TypeError)
      expect((back.cause as Error).message).toBe("why")
      expect(Object.keys(back)).toEqual(Object.keys(error))
    }
  })

  it("keep their identity anywhere in a value", () => {
    const error = new Error("x")
    const value = { error, list: [error], map: new Map<unknown, unknown>([[error, error]]), set: new Set([error]) }
    const back = roundTrip(value)
    expect(back.error).toBeInstanceOf(Error)
    expect(back.list[0]).toBe(back.error)
    expect(back.map.get(back.error)).toBe(back.error)
    expect(back.set.has(back.error)).toBe(true)
  })

  it("come back as the built-in classes they are", () => {
    for (const cls of [Error, TypeError, RangeError, SyntaxError, EvalError, ReferenceError, URIError]) {
      const back = roundTrip(new cls("m"))
      expect(Object.getPrototypeOf(back)).toBe(cls.prototype)
      expect(back.name).toBe(cls.name)
    }
    const many = roundTrip(new AggregateError([new TypeError("a"), 1, new AggregateError([])], "m"))
    expect(many).toBeInstanceOf(AggregateError)
    expect(many.errors[0]).toBeInstanceOf(TypeError)
    expect(many.errors[1]).toBe(1)
    expect(many.errors[2]).toBeInstanceOf(AggregateError)
    const aborted = roundTrip(new DOMException("m", "AbortError"))
    expect(aborted).toBeInstanceOf(DOMException)
    expect([aborted.name, aborted.message, aborted.code]).toEqual(["AbortError", "m", 20])
  })

  it("come back as instances of registered classes, without running constructors", () => {
    const error = new Registered(21)
    const before = constructed
    const back = roundTrip(error)
    expect(back).toBeInstanceOf(Registered)
    expect(back.double()).toBe(42)
    expect(Object.keys(back)).toEqual(Object.keys(error))
    expect(constructed).toBe(before)
    class Derived extends Registered {}
    expect(roundTrip(new Derived(1))).toBeInstanceOf(Registered)
  })

  it("of Effect survive, registered or not", () => {
    const tagged = new Tagged({ id: 7, at: new Date(5) })
    const plain = roundTrip(tagged)
    expect(plain).toMatchObject({ _tag: "Tagged", id: 7, at: new Date(5), message: "tagged 7", name: "Tagged" })
    expect(plain).not.toBeInstanceOf(Tagged)
    registerErrorClass(Tagged)
    registerErrorClass(Schemed)
    const back = roundTrip(tagged)
    expect(back).toBeInstanceOf(Tagged)
    expect(back).toMatchObject({ _tag: "Tagged", id: 7, at: new Date(5), message: "tagged 7", name: "Tagged" })
    expect(Object.keys(back)).toEqual(Object.keys(tagged))
    const schemed = roundTrip(new Schemed({ id: 3 }))
    expect(schemed).toBeInstanceOf(Schemed)
    expect(schemed).toMatchObject({ _tag: "Schemed", id: 3 })
  })

  it("cannot share a name", () => {
    expect(registerErrorClass(Registered)).toBe(Registered)
    const Other = class Registered extends Error {}
    expect(() => registerErrorClass(Other)).toThrow("already registered")
    expect(registerErrorClass(Other, "OtherRegistered")).toBe(Other)
    expect(() => registerErrorClass((() => class extends Error {})())).toThrow("without a name")
  })
})

describe("failures", () => {
  it("come back as thrown, whatever was thrown", () => {
    for (const thrown of [undefined, null, 42, -0, "text", 5n, { a: [1] }, new Map([[1, 2]])]) {
      expect(failTrip(thrown)).toStrictEqual(thrown)
    }
    expect(failTrip(Symbol("s"))).toBe("[symbols cannot be sent]")
  })

  it("replace what cannot be sent and keep the rest", () => {
    const error = Object.assign(new Error("x"), {
      f: () => 1,
      n: 1,
      nested: { p: Promise.resolve(), ok: true },
    })
    Object.defineProperty(error, "bad", {
      enumerable: true,
      get: () => {
        throw new TypeError("bad getter")
      },
    })
    expect(failTrip(Object.freeze(error))).toMatchObject({
      message: "x",
      f: "[functions cannot be sent]",
      n: 1,
      nested: { p: expect.stringContaining("promise"), ok: true },
      bad: "[reading it threw TypeError: bad getter]",
    })
  })

  it("survive getters that throw", () => {
    const error = Object.defineProperty(new TypeError("x"), "message", {
      get: () => {
        throw new Error("no message")
      },
    })
    const back = failTrip(error) as Error
    expect(back).toBeInstanceOf(TypeError)
    expect(back.message).toContain("no message")
    class Bad extends Error {
      override get name(): string {
        throw undefined
      }
    }
    expect((failTrip(new Bad("kept")) as Error).message).toBe("kept")
  })

  it("survive proxies that throw at every touch", () => {
    const traps = new Proxy({}, {
      get: () => () => {
        throw new Error("trap")
      },
    })
    expect(typeof failTrip(new Proxy({}, traps))).toBe("string")
    expect(typeof failTrip(new Proxy(new Error("x"), traps))).toBe("string")
    expect(typeof failTrip(new Proxy(() => 1, traps))).toBe("string")
    expect((failTrip(Object.assign(new Error("x"), { p: new Proxy({}, traps) })) as Error).message).toBe("x")
  })

  it("survive cyclic causes and causes without end", () => {
    const error: Error = new Error("a")
    error.cause = new Error("b", { cause: error })
    const back = failTrip(error) as Error & { cause: Error }
    expect(back.cause.cause).toBe(back)
    let deep: unknown = new Error("bottom")
    for (let i = 0; i < 20_000; i++) deep = new Error(`e${i}`, { cause: deep })
    expect((failTrip(deep) as Error).message).toBe("e19999")
  })

  it("keep a stack of 1 MB whole", () => {
    const error = new Error("long")
    error.stack = "s".repeat(1 << 20)
    expect((failTrip(error) as Error).stack).toBe(error.stack)
  })
})
