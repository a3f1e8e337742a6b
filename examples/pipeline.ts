/**
 * What was asked of a web server, from its log: requests, errors and bytes by path.
 *
 *     deno run --allow-read=. examples/pipeline.ts [LOG]
 *     bun examples/pipeline.ts [LOG]
 *     npx tsx examples/pipeline.ts [LOG]
 *
 * Without a file it makes up 200,000 lines.
 *
 * What it shows: a stream that fans out to the pool in two stages and comes together in one result, with a bound on what
 * is read ahead: a log of any size takes no more memory than a few batches of it.
 *
 * @module
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { createReadStream } from "node:fs"
import process from "node:process"
import { isMain, Pool } from "../mod.ts"
import { add, parse, type Report, summarize } from "./pipeline_tasks.ts"
import { table } from "./support/table.ts"

/** Lines of one G: some milliseconds of work. */
const BATCH = 5_000
/** Batches that may be in one stage at once: two for each worker, so that none waits for its next one. */
const aheadOf = (procs: number): number => 2 * procs

/** Most paths that are printed. */
const SHOWN = 10

const linesOf = (path: string): Stream.Stream<string, Error> =>
  // Opened when it is read, and not before.
  Stream.suspend(() =>
    Stream.fromAsyncIterable<string, Error>(createReadStream(path, "utf8"), (error) => error as Error)
  )
    .pipe(Stream.splitLines)

/** Lines as a server may have written them, always the same ones, with numbers for times. */
const madeUp = function* (count: number): Generator<string> {
  let seed = 1
  const random = (n: number) => (seed = Math.imul(seed, 48_271) & 0x7fffffff) % n
  for (let i = 0; i < count; i++) {
    const path = ["/", "/about", "/search?q=deno", "/images/logo.png", `/articles/${random(20)}`][random(5)]
    const status = [200, 200, 200, 304, 404, 500][random(6)]
    yield `10.0.${random(256)}.${random(256)} - - [${i}] "GET ${path} HTTP/1.1" ${status} ${
      status === 304 ? "-" : random(50_000)
    }`
  }
}

const main = (lines: Stream.Stream<string, Error>) =>
  Effect.gen(function* () {
    const { procs } = yield* Pool
    const stage = { concurrency: aheadOf(procs), unordered: true, bufferSize: 1 }
    let read = 0
    let done = 0
    let most = 0
    const began = performance.now()
    const report = yield* lines.pipe(
      Stream.grouped(BATCH),
      Stream.tap(() => Effect.sync(() => most = Math.max(most, ++read - done))),
      Stream.mapEffect((batch) => parse(Chunk.toReadonlyArray(batch)), stage),
      Stream.mapEffect((requests) => summarize(requests), stage),
      Stream.runFold(new Map() as Report, (whole, part) => {
        done++
        part.forEach((summary, path) => add(whole, path, summary))
        return whole
      }),
    )
    const seconds = (performance.now() - began) / 1000

    const rows = [...report].sort(([a, x], [b, y]) => y.requests - x.requests || (a < b ? -1 : 1))
    console.log(table([
      ["path", "requests", "errors", "bytes"],
      ...rows.slice(0, SHOWN).map(([path, { bytes, errors, requests }]) => [path, requests, errors, bytes]),
    ]))
    if (rows.length > SHOWN) console.log(`and ${rows.length - SHOWN} more`)
    const requests = rows.reduce((sum, [, summary]) => sum + summary.requests, 0)
    console.log(
      `${requests.toLocaleString("en-US")} requests on ${procs} workers in ${seconds.toFixed(2)} s, ` +
        `at most ${most} of ${read} batches in memory`,
    )
    return 0
  }).pipe(
    Effect.provide(Pool.layer()),
    Effect.catchAll((error) =>
      Effect.sync(() => {
        console.error(`pipeline: ${error.message}`)
        return 1
      })
    ),
  )

if (isMain(import.meta)) {
  const [path] = process.argv.slice(2)
  process.exitCode = await Effect.runPromise(
    main(path === undefined ? Stream.fromIterable(madeUp(200_000)) : linesOf(path)),
  )
}
