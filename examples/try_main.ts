import { Effect } from "effect"
import { Pool, runOn } from "../mod.ts"
import { fib, inc, slow } from "./try_tasks.ts"
console.log(await Effect.runPromise(runOn(2, [inc(1), fib(10), slow(20)])))
await Effect.runPromise(Effect.gen(function*() {
  for (let k = 0; k < 4; k++) {
    const N = 100_000
    const t = performance.now()
    const xs = yield* Pool.forEach(Array.from({ length: N }, (_, i) => i), (i) => inc(i))
    const us = (performance.now() - t) * 1000 / N
    if (!xs.every((x, i) => x === i + 1)) throw new Error("wrong")
    console.log("bulk us/call", us.toFixed(3))
  }
  for (let k = 0; k < 4; k++) {
    const t = performance.now()
    const r = yield* fib(27)
    const n = 832040
    console.log("fib", r, "ns/spawn", ((performance.now() - t) * 1e6 / n).toFixed(1))
  }
  for (let k = 0; k < 3; k++) {
    const t = performance.now()
    for (let i = 0; i < 10000; i++) yield* inc(i)
    console.log("round trip us", ((performance.now() - t) / 10).toFixed(2))
  }
}).pipe(Effect.provide(Pool.layer({ procs: 2 }))))
