/**
 * Sorts random numbers in shared memory.
 *
 *     deno run --allow-read=. examples/merge_sort.ts [COUNT]
 *     bun examples/merge_sort.ts [COUNT]
 *     npx tsx examples/merge_sort.ts [COUNT]
 *
 * What it shows: divide and conquer with `Task.spawn` and `join` on data that no message carries, checked against the
 * runtime's own sort, and the speed against that.
 *
 * @module
 */
import * as Effect from "effect/Effect"
import process from "node:process"
import { isMain, Pool } from "../mod.ts"
import { mergeSort } from "./merge_sort_tasks.ts"
import { compare, speed } from "./support/measure.ts"
import { workPerP } from "./support/table.ts"

/** Pieces per worker. */
const PIECES = 4

const shared = (count: number): Float64Array => new Float64Array(new SharedArrayBuffer(8 * count))

const main = (count: number) =>
  Effect.gen(function* () {
    const { procs } = yield* Pool
    const numbers = Float64Array.from({ length: count }, () => Math.random())
    const data = shared(count)
    const scratch = shared(count)
    // Enough pieces for all to be busy to the end, and no more: what they cost is the merging.
    const piece = Math.max(4096, Math.ceil(count / (PIECES * procs)))
    // Both sides begin with the same numbers, out of order.
    const sort = Effect.suspend(() => {
      data.set(numbers)
      return mergeSort(data, scratch, 0, count, piece)
    })
    const alone = new Float64Array(count)
    const sortAlone = () => {
      alone.set(numbers)
      alone.sort()
    }

    yield* sort
    const stats = yield* Pool.stats
    sortAlone()
    const right = data.every((number, i) => number === alone[i])
    console.log(`${count.toLocaleString("en-US")} numbers: ${right ? "sorted" : "NOT SORTED"}`)
    console.log(workPerP(stats))
    console.log(speed(yield* compare(sortAlone, sort), procs))
    return right ? 0 : 1
  }).pipe(Effect.provide(Pool.layer()))

if (isMain(import.meta)) {
  const count = Number(process.argv[2] ?? 1_000_000)
  if (Number.isInteger(count) && count >= 1 && count <= 1e8) {
    process.exitCode = await Effect.runPromise(main(count))
  } else {
    console.error("usage: merge_sort [COUNT], with COUNT from 1 to 100,000,000")
    process.exitCode = 2
  }
}
