/**
 * Kills machines at random while a million Gs with nested spawns and nested calls run, and audits every G: it ran once, or it did not
 * run to its end because its machine was killed and the call that it belongs to failed once. None is missing, none ran
 * twice, no thread is left.
 *
 * Where the runtime cannot kill a busy thread (Deno), tasks end their own machines instead.
 *
 * Arguments: number of Gs (default 1,000,000), number of kills (default 100), seed (default 1).
 */
import { Effect, Either } from "effect"
import { Pool } from "../../mod.ts"
import { hostOf } from "../../src/internal/poolHost.ts"
import { threadCount, threadsBackTo } from "../support/threads.ts"
import { mixedTree, tree } from "./tasks.ts"

const [gs = 1_000_000, kills = 100, seed = 1] = process.argv.slice(2).map(Number)
const PROCS = 4
/** Gs of one call. */
const TREE = 50
const calls = Math.ceil(gs / TREE)
const canKill = !("Deno" in globalThis)

let state = seed | 1
const random = (below: number): number => {
  state ^= state << 13
  state ^= state >>> 17
  state ^= state << 5
  return (state >>> 0) % below
}

/** Whether a call failed because a machine ended: its own, or that of something it had spawned. */
const isDeath = (error: unknown): boolean => {
  const { _tag, error: inner } = (error ?? {}) as { readonly _tag?: string; readonly error?: unknown }
  return _tag === "MachineExited" || (_tag === "TaskFailed" && isDeath(inner))
}

/** Calls go on until all kills are done, up to this many. */
const maxCalls = 10 * calls
/** Calls that are submitted together; two such portions are under way at any time. */
const PORTION = 200

const cells = new Int32Array(new SharedArrayBuffer(maxCalls * TREE * 4))
const before = threadCount()

const program = Effect.gen(function* () {
  const pool = yield* Pool
  const host = hostOf(pool)
  const deathsAt = (n: number) => host.deaths >= n && host.atFullStrength
  const outcomes: Array<Either.Either<number, unknown>> = []
  let next = 0
  let killed = 0
  // At moments that have nothing to do with what the machines are doing.
  const killing = Effect.gen(function* () {
    for (; killed < kills && canKill; killed++) {
      yield* Effect.sleep(random(10))
      host.kill(random(PROCS))
      while (!deathsAt(killed + 1)) yield* Effect.sleep(1)
    }
  })
  const calling = Effect.gen(function* () {
    while (next < calls || (host.deaths < kills && next < maxCalls)) {
      const from = next
      next += PORTION
      const lastCell = canKill || host.deaths >= kills ? -1 : (from + random(PORTION)) * TREE + random(TREE)
      const ended = yield* Pool.all(
        Array.from(
          { length: PORTION },
          (_, i) => (i % 2 === 0 ? tree : mixedTree)(cells, (from + i) * TREE, TREE, lastCell),
        ),
        { mode: "either" },
      )
      ended.forEach((outcome, i) => {
        outcomes[from + i] = outcome
      })
    }
  })
  yield* Effect.all([killing, calling, calling], { concurrency: "unbounded" })
  // What the dead had spawned and others run is waited for by nobody, and may take a moment more.
  const stats = yield* Effect.repeat(Effect.delay(Pool.stats, 10), {
    until: ({ inFlight, records }) => inFlight + records === 0,
    times: 1000,
  })
  return { outcomes, submitted: next, stats }
})

const { outcomes, stats, submitted } = await Effect.runPromise(
  Effect.provide(program, Pool.layer({ procs: PROCS, capacity: 4096 })),
)

const seconds = Math.round(performance.now() / 1000)
let failed = 0
let ran = 0
const problems: Array<string> = []
outcomes.forEach((outcome, call) => {
  let sum = 0
  for (let i = call * TREE; i < (call + 1) * TREE; i++) {
    if (cells[i] > 1) problems.push(`G ${i} ran ${cells[i]} times`)
    sum += cells[i]
  }
  ran += sum
  if (Either.isRight(outcome)) {
    if (outcome.right !== TREE || sum !== TREE) problems.push(`call ${call} gave ${outcome.right}, ${sum} Gs ran`)
  } else {
    failed++
    if (!isDeath(outcome.left)) problems.push(`call ${call} failed otherwise: ${outcome.left}`)
  }
})
const missing = submitted - Object.keys(outcomes).length
const threads = before === undefined ? undefined : await threadsBackTo(before)
console.log(JSON.stringify({
  calls: submitted,
  gs: submitted * TREE,
  ran,
  failed,
  missing,
  deaths: stats.deaths,
  records: stats.records,
  inFlight: stats.inFlight,
  threads: threads === undefined ? "unknown" : threads - before!,
  seconds,
  problems: problems.slice(0, 5),
}))
if (problems.length + missing + stats.records + stats.inFlight > 0 || stats.deaths < kills) process.exitCode = 1
