import { Effect } from "effect"
import { Pool } from "../mod.ts"
import { inc } from "./try_tasks.ts"
await Effect.runPromise(Effect.gen(function*() {
  const st = setInterval(() => Effect.runPromise(Effect.provideService(Pool.stats, Pool, pool)).then(x => console.log(JSON.stringify(x))), 1000)
  const pool = yield* Pool
  for (const N of [1000, 20000, 45000, 49152, 49153, 60000, 100000]) {
    const xs = yield* Pool.forEach(Array.from({ length: N }, (_, i) => i), (i) => inc(i))
    console.log(N, xs.length, performance.now()|0)
  }
  clearInterval(st)
}).pipe(Effect.provide(Pool.layer({ procs: 2 }))))
