/**
 * Three figures that tell whether the design is fast at its heart, each against its yardstick in the same run:
 * a bulk of tiny calls against piscina, spawn and join per G, and a round trip against a bare `Atomics` ping-pong.
 *
 * Two machines. Both sides alternate and are warm; medians of the rounds are printed, and ratios, since machines differ.
 */
import { Effect } from "effect"
import { Pool } from "../mod.ts"
import { fib, increment } from "./tasks.ts"
import { median, pingPong, piscinaRate, runtime } from "./support.ts"

const ROUNDS = 7
/** Rounds of both sides before those that count: compilers get to their last tier in the course of the first. */
const WARM = 2
const BULK = 100_000
const FIB = 27
/** Calls that fib(27) makes, the first one not counted: each is a spawn and a join. */
const SPAWNS = 832_039
const TRIPS = 2000

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<number, E, R> =>
  Effect.gen(function* () {
    const began = performance.now()
    yield* effect
    return performance.now() - began
  })

const trips = Effect.gen(function* () {
  const times: Array<number> = []
  for (let i = 0; i < TRIPS; i++) times.push(yield* timed(increment(i)))
  return median(times) * 1000
})

const program = Effect.gen(function* () {
  const items = Array.from({ length: BULK }, (_, i) => i)
  const piscina = yield* Effect.promise(() => piscinaRate(2))
  const bare = yield* Effect.promise(() => pingPong())
  const bulk: Array<number> = []
  const theirs: Array<number> = []
  const spawns: Array<number> = []
  const ours: Array<number> = []
  const pings: Array<number> = []
  for (let round = 0; round < WARM + ROUNDS; round++) {
    bulk.push((yield* timed(Pool.forEach(items, (i) => increment(i)))) * 1000 / BULK)
    theirs.push(yield* Effect.promise(() => piscina.microsPerCall(2000)))
    spawns.push((yield* timed(fib(FIB))) * 1e6 / SPAWNS)
    ours.push(yield* trips)
    pings.push(median(yield* Effect.promise(() => bare.micros(TRIPS))))
  }
  for (const figures of [bulk, theirs, spawns, ours, pings]) figures.splice(0, WARM)
  yield* Effect.promise(() => piscina.close())
  yield* Effect.promise(() => bare.close())
  const row = (name: string, value: string, target: string) =>
    console.log(`${name.padEnd(34)}${value.padStart(14)}   ${target}`)
  console.log(`${runtime}, 2 machines, medians of ${ROUNDS} rounds`)
  row("bulk, per call", `${median(bulk).toFixed(2)} us`, "target 1 us")
  row("piscina, per call", `${median(theirs).toFixed(1)} us`, "")
  row("  piscina / bulk", `${(median(theirs) / median(bulk)).toFixed(0)} x`, "target 50 x")
  row("fib(27), per spawn and join", `${median(spawns).toFixed(0)} ns`, "target 200 ns")
  row("round trip, p50", `${median(ours).toFixed(1)} us`, "")
  row("bare Atomics ping-pong, p50", `${median(pings).toFixed(1)} us`, "")
  row("  round trip / bare", `${(median(ours) / median(pings)).toFixed(2)} x`, "target 2 x")
})

await Effect.runPromise(Effect.provide(program, Pool.layer({ procs: 2 })))
