import * as FastCheck from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import { copy, decode, encode, encodeFailure, sharedIds, Unsendable } from "../src/internal/codec/codec.ts"
import { readInline, readInline1, type Views, writeInline, writeInline1 } from "../src/internal/codec/inline.ts"
import { mentions, refused, refusedResult, roundTrip, shared } from "./support/codec.ts"

describe("inline payload", () => {
  const WORDS = 18
  const TAGS = 1
  const PAYLOAD = 4
  const makeViews = (): Views => {
    const buffer = new SharedArrayBuffer(256)
    new Int32Array(buffer).fill(0x55555555)
    return {
      i32: new Int32Array(buffer),
      f64: new Float64Array(buffer),
      u8: new Uint8Array(buffer),
      u16: new Uint16Array(buffer),
    }
  }
  const views = makeViews()
  const trip = (values: ReadonlyArray<unknown>): Array<unknown> | undefined =>
    writeInline(views, TAGS, PAYLOAD, WORDS, values) ? readInline(views, TAGS, PAYLOAD) : undefined

  const scalar = FastCheck.oneof(
    FastCheck.constantFrom<unknown>(undefined, null, false, true, -0, NaN, Infinity, -Infinity, "", "\ud800", "é"),
    FastCheck.double(),
    FastCheck.integer(),
    FastCheck.string({ maxLength: 8 }),
    FastCheck.string({ unit: "binary", maxLength: 6 }),
    FastCheck.string({ unit: "binary", minLength: 7, maxLength: 16 }),
    FastCheck.constantFrom("ÿ\0 longer than eight", "wide \ud800€ and lone \udfff"),
    FastCheck.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  )

  it("gives back what was written, bit for bit", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(scalar, { maxLength: 4 }), (values) => {
        const back = trip(values)
        if (back !== undefined) {
          expect(back.length).toBe(values.length)
          values.forEach((value, i) => expect(Object.is(back[i], value)).toBe(true))
        }
      }),
      { numRuns: 2000 },
    )
  })

  it("takes one value, of every kind", () => {
    FastCheck.assert(
      FastCheck.property(scalar, (value) => {
        expect(writeInline1(views, TAGS, PAYLOAD, WORDS, value)).toBe(true)
        expect(Object.is(readInline1(views, TAGS, PAYLOAD), value)).toBe(true)
        expect(Object.is(readInline(views, TAGS, PAYLOAD)[0], value)).toBe(true)
      }),
    )
  })

  it("takes up to nine values, 70 narrow or 35 wide characters", () => {
    expect(trip([])).toEqual([])
    expect(trip([1, 2, 3, 4, 5, 6, 7, 8, 9])).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(trip(new Array(9).fill(undefined))).toEqual(new Array(9).fill(undefined))
    expect(trip(["x".repeat(70)])).toEqual(["x".repeat(70)])
    expect(trip(["€".repeat(35)])).toEqual(["€".repeat(35)])
    expect(trip(["a", 1, "€", 2n, true, null])).toEqual(["a", 1, "€", 2n, true, null])
  })

  it("refuses what does not fit", () => {
    for (
      const values of [
        new Array(10).fill(undefined),
        ["x".repeat(71)],
        ["€".repeat(36)],
        ["x".repeat(60), 1, 2],
        [2n ** 63n],
        [-(2n ** 63n) - 1n],
        [{}],
        [() => 1],
        [Symbol.iterator],
      ]
    ) expect(trip(values)).toBe(undefined)
    expect(writeInline(views, TAGS, PAYLOAD, 2, [1, 2])).toBe(false)
    expect(writeInline1(views, TAGS, PAYLOAD, 0, 1)).toBe(false)
  })

  it("touches nothing outside the payload and the tags word", () => {
    const guarded = makeViews()
    FastCheck.assert(
      FastCheck.property(FastCheck.array(scalar, { maxLength: 9 }), (values) => {
        writeInline(guarded, TAGS, PAYLOAD, WORDS, values)
        writeInline1(guarded, TAGS, PAYLOAD, WORDS, values[0])
        guarded.i32.forEach((word, i) => {
          if (i !== TAGS && (i < PAYLOAD || i >= PAYLOAD + WORDS)) expect(word).toBe(0x55555555)
        })
      }),
    )
  })
})

describe("codec", () => {
  it("agrees with structuredClone on any data", () => {
    const value = FastCheck.anything({
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
      withNullPrototype: true,
      withUnicodeString: true,
    })
    FastCheck.assert(
      FastCheck.property(value, (x) => {
        const back = roundTrip(x)
        const expected = structuredClone(x)
        expect(FastCheck.stringify(back)).toBe(FastCheck.stringify(expected))
        expect(back).toStrictEqual(expected)
      }),
      { numRuns: 2000 },
    )
  })

  it("keeps JSON-like data exactly", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.jsonValue(), (x) => {
        expect(roundTrip(x)).toStrictEqual(structuredClone(x))
      }),
      { numRuns: 1000 },
    )
  })

  it("keeps what JSON would lose", () => {
    const match = /b/.exec("abc")!
    const named = JSON.parse('{"__proto__":{"a":1},"b":2}')
    const odd = [-0, NaN, Infinity, undefined, { a: undefined }, [undefined], [, 1, ,], "\ud800", 2n ** 200n]
    for (const x of [...odd, match, named]) {
      expect(roundTrip(x)).toStrictEqual(structuredClone(x))
      expect(Object.is(roundTrip([x])[0], -0)).toBe(Object.is(x, -0))
    }
    expect(1 in roundTrip([, , 1])).toBe(false)
    expect("a" in roundTrip({ a: undefined })).toBe(true)
    expect(roundTrip(match).index).toBe(1)
    expect(Object.getOwnPropertyNames(roundTrip(named))).toEqual(["__proto__", "b"])
  })

  it("keeps named properties of arrays, and holes of huge ones", () => {
    const array: Array<unknown> & { extra?: unknown } = [1]
    array.extra = { deep: new Map([[1, array]]) }
    const back = roundTrip(array)
    expect((back.extra as { deep: Map<number, unknown> }).deep.get(1)).toBe(back)
    const huge: Array<unknown> = []
    // JavaScriptCore's own serializer visits every hole.
    const end = "Bun" in globalThis ? 1_000_000 : 4_000_000_000
    huge[end] = "end"
    expect(roundTrip(huge)[end]).toBe("end")
  })

  it("keeps cycles and shared identity", () => {
    const twice = { n: 1 }
    const map = new Map<unknown, unknown>([["k", twice]])
    map.set("self", map)
    const set = new Set<unknown>([twice])
    set.add(set)
    const [a, b, m, s] = roundTrip([twice, twice, map, set] as const)
    expect(a).toBe(b)
    expect(m.get("k")).toBe(a)
    expect(m.get("self")).toBe(m)
    expect(s.has(a)).toBe(true)
    expect(s.has(s)).toBe(true)
  })

  it("keeps views on one buffer together, and copies out of Node's pool", () => {
    const buffer = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]).buffer
    const [x, y, z] = roundTrip([buffer, new Uint8Array(buffer, 2, 2), new DataView(buffer, 1)] as const)
    expect(y.buffer).toBe(x)
    expect(z.buffer).toBe(x)
    expect([...y]).toEqual([3, 4])
    expect(z.byteOffset).toBe(1)
    const small = roundTrip(Buffer.from("abc"))
    expect(small.buffer.byteLength).toBe(3)
    expect([...small]).toEqual([97, 98, 99])
  })

  it("sends instances as their own enumerable properties", () => {
    class Point {
      x = 1
      readonly #secret = 2
      get sum() {
        return this.x + this.#secret
      }
    }
    expect(roundTrip(new Point())).toStrictEqual({ x: 1 })
    class Strings extends Map<string, string> {}
    expect(roundTrip(new Strings([["a", "b"]]))).toStrictEqual(new Map([["a", "b"]]))
    expect(roundTrip(new Proxy({ a: [1] }, {}))).toStrictEqual({ a: [1] })
  })

  it("ignores toJSON", () => {
    expect(roundTrip({ a: 1, nested: Object.create({ toJSON: () => "no" }, {}) })).toStrictEqual({ a: 1, nested: {} })
    expect(refusedResult({ toJSON: () => "no" }).path).toBe("result.toJSON")
  })

  it("sends shared buffers and views on them by reference, at any depth", () => {
    const one = new SharedArrayBuffer(64)
    const two = new SharedArrayBuffer(8)
    const view = new Float64Array(one, 8, 4)
    const value = {
      one,
      list: [view, new DataView(two, 4, 2)],
      map: new Map<unknown, unknown>([["v", view], [two, "key"]]),
      set: new Set([1 as unknown, one, 2]),
    }
    const bytes = encode([value], "args", shared).slice()
    expect([...sharedIds(bytes)].sort()).toEqual([shared.idOf(one, []), shared.idOf(two, [])].sort())
    const back = decode(bytes, shared)[0] as typeof value
    expect(back.one).toBe(one)
    expect(back.list[0]).toBe(back.map.get("v"))
    expect((back.list[0] as Float64Array).buffer).toBe(one)
    expect(back.list[0].byteOffset).toBe(8)
    expect((back.list[0] as Float64Array).length).toBe(4)
    expect(back.list[1].buffer).toBe(two)
    expect(back.list[1].byteLength).toBe(2)
    expect([...back.map.keys()]).toEqual(["v", two])
    expect([...back.set]).toEqual([1, one, 2])
    expect(Object.keys(back)).toEqual(Object.keys(value))
    expect(sharedIds(encode([1], "args", shared))).toBe(sharedIds(encode([new Map()], "args", shared)))
  })

  it("mentions each shared buffer once in what it sends, and in nothing that it refuses", () => {
    const buffer = new SharedArrayBuffer(64)
    const id = shared.idOf(buffer, [])
    const others = mentions[id]
    const views = [new Int32Array(buffer), new Uint8Array(buffer, 8)]
    const throwing = new Proxy({}, {
      getPrototypeOf: () => {
        throw new Error("no")
      },
    })
    for (const values of [[buffer], views, [views, buffer], [views[0], views[0]], [new Error("x", { cause: views })]]) {
      const bytes = encode(values, "args", shared).slice()
      expect(sharedIds(bytes)).toEqual([id])
      expect(mentions[id]).toBe(others + 1)
      shared.unmention(sharedIds(bytes))
      copy(values, "args", shared)
      expect(mentions[id]).toBe(others)
    }
    for (const value of [() => {}, throwing, { views, f: () => {} }, new Date(NaN), { toJSON: 1n, views }]) {
      for (const values of [[buffer, value], [value, buffer], [[buffer], value]]) {
        let sent: ReadonlyArray<number> = []
        try {
          sent = sharedIds(encode(values, "args", shared).slice())
        } catch (error) {
          expect(error).toBeInstanceOf(Unsendable)
        }
        expect(mentions[id]).toBe(others + sent.length)
        shared.unmention(sent)
        shared.unmention(sharedIds(encodeFailure(values, shared).slice()))
        expect(mentions[id]).toBe(others)
      }
    }
  })

  it("fails to decode when a shared buffer is unknown", () => {
    const bytes = encode([new SharedArrayBuffer(8)], "args", shared).slice()
    expect(() => decode(bytes, { ...shared, byId: () => undefined })).toThrow(
      "the machine that made this shared memory ended",
    )
  })

  it("survives a getter that encodes", () => {
    const value = {
      get a() {
        encode([{ other: "x".repeat(100) }], "args", shared)
        encode([new Map([[1, new Error("x")]])], "args", shared)
        return new Error("inner")
      },
      get b() {
        return encode(["y".repeat(100)], "args", shared).length
      },
    }
    expect(roundTrip(value)).toEqual({ a: new Error("inner"), b: 104 })
    expect(roundTrip({
      get b() {
        return encode([new Date(0)], "args", shared).length > 0
      },
    })).toEqual({ b: true })
  })
})

describe("what cannot be sent", () => {
  it("is refused with its path", () => {
    const f = () => 1
    expect(refused(() => encode([{ handlers: { onClick: f } }], "args", shared))).toMatchObject({
      path: "args[0].handlers.onClick",
      reason: "functions cannot be sent",
    })
    expect(refused(() => encode([1, new Map([["key", f]])], "args", shared)).path).toBe('args[1].get("key")')
    expect(refusedResult({ cache: new WeakMap() })).toMatchObject({
      path: "result.cache",
      reason: "a WeakMap cannot be copied",
    })
    expect(refusedResult(f).path).toBe("result")
    expect(refusedResult([1, [Symbol.iterator]]).path).toBe("result[1][0]")
    expect(refusedResult({ "odd key": f }).path).toBe('result["odd key"]')
    expect(refusedResult(new Map([[f, 1]])).path).toBe("result.keys()[0]")
    expect(refusedResult(new Set([1, f])).path).toBe("result.values()[1]")
    expect(refusedResult(Object.assign(new Error("x"), { f })).path).toBe("result.f")
  })

  it("includes every platform object that has no copy", () => {
    const { port1, port2 } = new MessageChannel()
    for (
      const value of [
        Promise.resolve(),
        new WeakSet(),
        new WeakRef({}),
        port1,
        new Blob(["x"]),
        new URL("http://localhost"),
        new AbortController().signal,
        [][Symbol.iterator](),
        (function* () {})(),
        (async function* () {})(),
        new Intl.NumberFormat(),
        Object(Symbol.iterator),
        new WebAssembly.Memory({ initial: 1 }),
      ]
    ) expect(refusedResult({ value }).path).toBe("result.value")
    port1.close()
    port2.close()
  })

  it("includes getters and traps that throw, and detached buffers", () => {
    const thrown = refusedResult({
      deep: [{
        get x() {
          throw new Error("no")
        },
      }],
    })
    expect(thrown).toMatchObject({ path: "result.deep[0].x", reason: "reading it threw Error: no" })
    const proxy = new Proxy({}, {
      ownKeys: () => {
        throw undefined
      },
    })
    expect(refusedResult([proxy])).toMatchObject({ path: "result[0]", reason: "reading it threw undefined" })
    const { proxy: revoked, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(refusedResult({ revoked }).path).toBe("result.revoked")
    const buffer = new ArrayBuffer(8)
    const view = new Uint8Array(buffer)
    structuredClone(buffer, { transfer: [buffer] })
    expect(refusedResult({ buffer }).path).toBe("result.buffer")
    expect(refusedResult({ view }).path).toBe("result.view")
  })

  it("leaves the codec working", () => {
    refusedResult(() => 1)
    expect(roundTrip({ a: new Date(5) })).toEqual({ a: new Date(5) })
  })

  it("includes what is nested too deeply, or it arrives", () => {
    let deep: unknown = new Date(0)
    for (let i = 0; i < 200_000; i++) deep = [deep]
    try {
      encode([deep], "args", shared)
    } catch (error) {
      expect(error).toBeInstanceOf(Unsendable)
      expect((error as Unsendable).path.length).toBeLessThan(1000)
    }
  })
})
