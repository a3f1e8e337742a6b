/**
 * Tasks in the very script that runs them.
 *
 *     deno run --allow-read=. examples/single_file.ts
 *     bun examples/single_file.ts
 *     npx tsx examples/single_file.ts
 *
 * What it shows: `Task.make` in the entry script, which the workers import too, hence the guard; and `Task.inline`,
 * whose function is sent as source and so may use nothing but its arguments and globals.
 *
 * @module
 */
import * as Effect from "effect/Effect"
import { isMain, runOn, Task } from "../mod.ts"

const countPrimes = Task.make(import.meta, "countPrimes", (from: number, to: number): number => {
  let count = 0
  for (let n = Math.max(2, from); n < to; n++) {
    let d = 2
    while (d * d <= n && n % d !== 0) d++
    if (d * d > n) count++
  }
  return count
})

const shout = Task.inline((text: string) => text.toUpperCase() + "!")

if (isMain(import.meta)) {
  const [low, high, done] = await Effect.runPromise(
    runOn(2, [countPrimes(0, 50_000), countPrimes(50_000, 100_000), shout("done")]),
  )
  console.log(`${low + high} primes below 100000, ${done}`)
}
