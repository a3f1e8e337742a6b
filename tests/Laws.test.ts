import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as FastCheck from "effect/FastCheck"
import process from "node:process"
import { Pool } from "../mod.ts"
import {
  evaluate,
  evaluated,
  evaluatedThere,
  generated,
  type Kind,
  summaryOf,
  type Tree,
} from "./fixtures/laws/tasks.ts"
import { NOTHING_LEFT, settledIn } from "./fixtures/tasks/pools.ts"

/** Trees for each law. */
const RUNS = Number(process.env.RUNON_LAW_RUNS ?? 100)

const kind: FastCheck.Arbitrary<Kind> = FastCheck.constantFrom("sync", "async", "effect", "generator", "here")
const n = FastCheck.nat(9)

const { tree } = FastCheck.letrec<{ tree: Tree; safe: Tree; leaf: Tree }>((tie) => {
  const tree = tie("tree")
  const safe = tie("safe")
  const tagged = <const Tag extends string, Parts extends object>(
    _tag: Tag,
    parts: { readonly [K in keyof Parts]: FastCheck.Arbitrary<Parts[K]> },
  ) => FastCheck.record<{ _tag: Tag } & Parts>({ _tag: FastCheck.constant(_tag), ...parts } as never)
  const leaf = tagged("leaf", { end: FastCheck.constantFrom("succeed", "succeed", "fail", "die"), n, kind })
  // Without races: a finalizer cannot be interrupted, so neither can those that lose in it.
  const finalizer = FastCheck.oneof(leaf, tagged("sequential", { items: FastCheck.array(leaf, { maxLength: 3 }) }))
  return {
    leaf: leaf as FastCheck.Arbitrary<Tree>,
    // One that cannot fail: of several that could and run at once, which is the first is not determined.
    safe: FastCheck.oneof(
      { maxDepth: 4, depthIdentifier: "tree", withCrossShrink: true },
      tagged("leaf", { end: FastCheck.constant("succeed" as const), n, kind }),
      tagged("exit", { one: tree }),
      tagged("parallel", { items: FastCheck.array(safe, { maxLength: 5 }) }),
    ) as FastCheck.Arbitrary<Tree>,
    tree: FastCheck.oneof(
      { maxDepth: 4, depthIdentifier: "tree", withCrossShrink: true },
      leaf,
      tagged("flaky", { n, times: FastCheck.nat(3), kind }),
      tagged("sequential", { items: FastCheck.array(tree, { maxLength: 4 }) }),
      tagged("parallel", { items: FastCheck.array(safe, { maxLength: 8 }) }),
      tagged("beside", { one: tree, at: n, nevers: FastCheck.array(kind, { maxLength: 4 }) }),
      tagged("zip", { left: tree, right: tree }),
      tagged("race", { one: tree, never: kind, first: FastCheck.boolean() }),
      tagged("raceFirst", { one: tree, never: kind }),
      tagged("expires", { never: kind }),
      tagged("timeout", { one: tree }),
      tagged("catchAll", { one: tree, other: tree }),
      tagged("catchCause", { one: tree, other: tree }),
      tagged("ensuring", { one: tree, other: finalizer }),
      tagged("retry", { one: tree, times: FastCheck.nat(3) }),
      tagged("either", { one: tree }),
      tagged("call", { one: tree, kind: FastCheck.constantFrom("effect", "generator") }),
    ) as FastCheck.Arbitrary<Tree>,
  }
})

const options = { fastCheck: { numRuns: RUNS }, timeout: 60_000 + RUNS * 200 }

const pools = {
  "one machine": Pool.layer({ procs: 1 }),
  "two machines": Pool.layer({ procs: 2 }),
  "two machines and few records": Pool.layer({ procs: 2, capacity: 16 }),
  "simulated machines": Pool.layerDeterministic({ procs: 2, seed: 3 }),
}

describe("A tree of Effects ends as it does with plain Effects for leaves", () => {
  for (const [where, pool] of Object.entries(pools)) {
    layer(pool, { excludeTestServices: true, timeout: 60_000 })(`on ${where}`, (it) => {
      const ways = {
        "when its leaves are calls": (tree: Tree) => evaluate(tree, false),
        "when an Effect task evaluates it, whose calls are its leaves": (tree: Tree) => evaluated(tree),
        "when a generator task does": (tree: Tree) => generated(tree),
        "when an Effect task evaluates it without calls": (tree: Tree) => evaluatedThere(tree),
      }
      for (const [way, evaluateIt] of Object.entries(ways)) {
        it.effect.prop(way, [tree], ([tree]) =>
          Effect.gen(function* () {
            const plain = yield* Effect.exit(evaluate(tree, true))
            const there = yield* Effect.exit(evaluateIt(tree))
            expect(summaryOf(there)).toEqual(summaryOf(plain))
          }), options)
      }

      it.effect("and leaves nothing behind", () =>
        Effect.gen(function* () {
          expect(yield* settledIn(yield* Pool)).toEqual(NOTHING_LEFT)
        }))
    })
  }
})
