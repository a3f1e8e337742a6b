/**
 * In how many ways can N queens stand on a board of N x N, so that none attacks another?
 *
 *     deno run --allow-read=. examples/nqueens.ts [N]
 *     bun examples/nqueens.ts [N]
 *     npx tsx examples/nqueens.ts [N]
 *
 * What it shows: tasks that spawn and join tasks from plain sync code, at any depth and without an Effect or a promise;
 * where the Gs ran and how many were stolen; and the speed against plain code that spawns nothing.
 *
 * @module
 */
import * as Effect from "effect/Effect"
import process from "node:process"
import { isMain, Pool } from "../mod.ts"
import { queens, queensAlone } from "./nqueens_tasks.ts"
import { compare, speed } from "./support/measure.ts"
import { workPerP } from "./support/table.ts"

/** The published counts, https://oeis.org/A000170, from N = 0 on. */
const KNOWN = [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14_200, 73_712, 365_596, 2_279_184, 14_772_512]

const main = (n: number) =>
  Effect.gen(function* () {
    const { procs } = yield* Pool
    const count = yield* queens(n, 0, 0, 0)
    const stats = yield* Pool.stats
    const right = count === KNOWN[n]
    console.log(`${n} queens: ${count} ways, ${right ? "as published" : `NOT ${KNOWN[n]} as published`}`)
    console.log(workPerP(stats))
    console.log(speed(yield* compare(() => void queensAlone(n, 0, 0, 0), queens(n, 0, 0, 0)), procs))
    return right ? 0 : 1
  }).pipe(Effect.provide(Pool.layer()))

if (isMain(import.meta)) {
  const n = Number(process.argv[2] ?? 14)
  if (Number.isInteger(n) && n >= 1 && n < KNOWN.length) {
    process.exitCode = await Effect.runPromise(main(n))
  } else {
    console.error(`usage: nqueens [N], with N from 1 to ${KNOWN.length - 1}`)
    process.exitCode = 2
  }
}
