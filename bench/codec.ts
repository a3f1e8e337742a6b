/**
 * What picked the codec: time and fidelity of the candidates, and what the inline payload costs.
 *
 *     tsx bench/codec.ts · deno run -A bench/codec.ts · bun bench/codec.ts
 *
 * Times are the best of seven rounds, in microseconds (inline: nanoseconds). The native addons that msgpackr and
 * cbor-x load by default are left out of it: those built for Node end the process on Deno and Bun.
 */
import { Packr } from "msgpackr/pack"
import { Unpackr } from "msgpackr/unpack"
import * as V8 from "node:v8"
import { isDeepStrictEqual } from "node:util"
import { decode, encode, type SharedBuffers } from "../src/internal/codec/codec.ts"
import { readInline, readInline1, type Views, writeInline, writeInline1 } from "../src/internal/codec/inline.ts"
import { deserialize, serialize } from "../src/internal/codec/serializer.ts"

interface Candidate {
  readonly name: string
  readonly encode: (values: Array<unknown>) => Uint8Array
  readonly decode: (bytes: Uint8Array) => unknown
}

const shared: SharedBuffers = { idOf: () => 0, byId: () => undefined, unmention: () => {} }
const packr = new Packr({ structuredClone: true, moreTypes: true })
const unpackr = new Unpackr({ structuredClone: true, moreTypes: true })
const textEncoder = new TextEncoder()
const textDecoder = new TextDecoder()

const candidates: ReadonlyArray<Candidate> = [
  { name: "ours", encode: (values) => encode(values, "args", shared), decode: (bytes) => decode(bytes, shared) },
  { name: "v8 bare", encode: serialize, decode: deserialize },
  { name: "v8.serialize", encode: V8.serialize, decode: (bytes) => V8.deserialize(bytes) },
  { name: "msgpackr", encode: (values) => packr.pack(values), decode: (bytes) => unpackr.unpack(bytes) },
  {
    name: "JSON",
    encode: (values) => textEncoder.encode(JSON.stringify(values)),
    decode: (bytes) => JSON.parse(textDecoder.decode(bytes)),
  },
]

let sink: unknown

const best = (rounds: number, f: () => unknown): number => {
  let least = Infinity
  for (let round = 0; round < 7; round++) {
    const start = performance.now()
    for (let i = 0; i < rounds; i++) sink = f()
    least = Math.min(least, (performance.now() - start) / rounds)
  }
  return least
}

const cell = (text: string) => text.padStart(14)
const row = (name: string, cells: ReadonlyArray<string>) => console.log(name.padEnd(22) + cells.map(cell).join(""))

const list = <A>(length: number, f: (i: number) => A): Array<A> => Array.from({ length }, (_, i) => f(i))
const tree = (depth: number): unknown =>
  depth === 0 ? { leaf: true } : { left: tree(depth - 1), right: tree(depth - 1) }

const payloads: ReadonlyArray<readonly [name: string, rounds: number, values: Array<unknown>]> = [
  ["small object", 20_000, [{ a: 1, b: "x" }]],
  ["string of 200", 20_000, ["héllo ".repeat(33)]],
  ["user record", 10_000, [{ id: 1, name: "Jane", tags: ["a", "b"], at: { no: 5, geo: [1.5, 2.5] }, on: true }]],
  ["with undefined", 10_000, [{ a: 1, b: undefined }]],
  ["Date and Map", 10_000, [new Date(0), new Map([["a", 1], ["b", 2]])]],
  ["error", 2_000, [new TypeError("bad", { cause: { code: 1 } })]],
  ["tree of 255", 500, [tree(7)]],
  ["1,000 records", 100, [list(1_000, (i) => ({ id: i, name: `n${i}`, v: i / 3 }))]],
  ["1,000 floats in array", 500, [list(1_000, (i) => i / 3)]],
  ["Float64Array(1,000)", 2_000, [new Float64Array(1_000)]],
  ["Float64Array(100,000)", 3, [new Float64Array(100_000)]],
]

for (const side of ["encode", "decode"] as const) {
  row(`${side}, µs`, candidates.map((c) => c.name))
  for (const [name, rounds, values] of payloads) {
    row(
      name,
      candidates.map((candidate) => {
        try {
          const bytes = candidate.encode(values).slice()
          const f = side === "encode" ? () => candidate.encode(values) : () => candidate.decode(bytes)
          return (best(rounds, f) * 1_000).toFixed(2)
        } catch {
          return "fails"
        }
      }),
    )
  }
  console.log()
}

const buffer = new ArrayBuffer(16)
const twice = { n: 1 }
const cycle: Record<string, unknown> = {}
cycle.self = cycle
const same = isDeepStrictEqual
// deno-lint-ignore no-explicit-any -- each check knows the shape of what comes back
const fidelity: ReadonlyArray<readonly [name: string, values: Array<unknown>, keeps: (back: any) => boolean]> = [
  ["-0", [-0], ([x]) => Object.is(x, -0)],
  ["undefined / missing", [{ a: undefined }], ([x]) => "a" in x && x.a === undefined],
  ["holes", [[, 1]], ([x]) => !(0 in x)],
  ["lone surrogate", ["\ud800"], ([x]) => x === "\ud800"],
  ["BigInt of 200 bits", [2n ** 200n], ([x]) => x === 2n ** 200n],
  ["boxed string", [Object("s")], ([x]) => typeof x === "object"],
  ["Map, Set, Date, RegExp", [new Map([[1, new Set([new Date(1), /a/g])]])], ([x]) => x.get(1).size === 2],
  ["cycle", [cycle], ([x]) => x.self === x],
  ["identity", [twice, twice], ([x, y]) => x === y],
  ["views share a buffer", [new Uint8Array(buffer), new Uint8Array(buffer)], ([x, y]) => x.buffer === y.buffer],
  ["key __proto__", [JSON.parse('{"__proto__":1}')], ([x]) => same(Object.keys(x), ["__proto__"])],
  ["ignores toJSON", [Object.create({ toJSON: () => 1 })], ([x]) => same(x, {})],
  ["array with properties", [/b/.exec("abc")], ([x]) => x.index === 1],
  ["error's own properties", [Object.assign(new Error("x"), { code: 1 })], ([x]) => x.code === 1],
  ["error's cause", [new Error("x", { cause: 1 })], ([x]) => x.cause === 1],
  ["AggregateError.errors", [new AggregateError([1])], ([x]) => same(x.errors, [1])],
  ["refuses a function", [{ f: () => 1 }], () => false],
  ["refuses a Blob", [new Blob(["x"])], () => false],
]

row("fidelity", candidates.map((c) => c.name))
for (const [name, values, keeps] of fidelity) {
  row(
    name,
    candidates.map((candidate) => {
      try {
        return keeps(candidate.decode(candidate.encode(values).slice())) ? "yes" : "no"
      } catch {
        return name.startsWith("refuses") ? "yes" : "fails"
      }
    }),
  )
}
console.log()

const memory = new SharedArrayBuffer(64 * 32 * 4 + 256)
const views: Views = {
  i32: new Int32Array(memory),
  f64: new Float64Array(memory),
  u8: new Uint8Array(memory),
  u16: new Uint16Array(memory),
}
// Loops of their own: a call through a closure costs more than what it would measure.
const OPS = 2_000_000
const perOp = (loop: () => number): string => (best(1, () => loop()) * 1e6 / OPS).toFixed(1)
const at = (i: number) => (i & 63) * 32
const writes = (values: Array<unknown>) => () => {
  let written = 0
  for (let i = 0; i < OPS; i++) if (writeInline(views, at(i) + 1, at(i) + 16, 18, values)) written += 1
  return written
}
const reads = () => {
  let count = 0
  for (let i = 0; i < OPS; i++) count += readInline(views, at(i) + 1, at(i) + 16).length
  return count
}
const writeResults = () => {
  let written = 0
  for (let i = 0; i < OPS; i++) if (writeInline1(views, at(i) + 1, at(i) + 16, 18, i)) written += 1
  return written
}
const readResults = () => {
  let sum = 0
  for (let i = 0; i < OPS; i++) sum += readInline1(views, at(i) + 1, at(i) + 16) as number
  return sum
}
row("inline, ns", ["write", "read"])
row("1.5, as a result", [perOp(writeResults), perOp(readResults)])
const inline: ReadonlyArray<Array<unknown>> = [[1.5], [1, 2], [1, 2, 3], [true, null], ["hello, world"], ["π"], [5n]]
for (const values of inline) {
  row(JSON.stringify(values, (_, x) => typeof x === "bigint" ? `${x}n` : x), [perOp(writes(values)), perOp(reads)])
}
if (sink === memory) console.log("the loops were kept")
