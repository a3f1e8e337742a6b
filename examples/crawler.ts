/**
 * Crawls a site of some hundred linked pages, which it serves itself.
 *
 *     deno run --allow-read=. --allow-net=127.0.0.1 examples/crawler.ts [IN_PROGRESS]
 *     bun examples/crawler.ts [IN_PROGRESS]
 *     npx tsx examples/crawler.ts [IN_PROGRESS]
 *
 * What it shows: Effect tasks that use a service, `HttpClient` of `@effect/platform`, which each worker has once. One that
 * waits holds no worker, so two workers have as many fetches in progress as they may, with no more threads than for one.
 *
 * @module
 */
import * as Effect from "effect/Effect"
import process from "node:process"
import { isMain, Pool } from "../mod.ts"
import { type Page, visit } from "./crawler_tasks.ts"
import { serveSite } from "./support/site.ts"
import { type Threads, threads } from "./support/threads.ts"

const PAGES = 400
/** Ms that the server takes for each. */
const LATENCY = 50
const WORKERS = 2

/** Visits everything that can be reached, one generation of links after the other. */
const crawl = (start: string, concurrency: number) =>
  Effect.gen(function* () {
    const found = new Map<string, Page>()
    for (let next = [start]; next.length > 0;) {
      const pages = yield* Pool.forEach(next, (url) => visit(url), { concurrency })
      next.forEach((url, i) => found.set(url, pages[i]))
      next = [...new Set(pages.flatMap(({ links }) => links))].filter((url) => !found.has(url))
    }
    return found
  })

const main = (concurrency: number) =>
  Effect.gen(function* () {
    const many = Math.ceil(concurrency / 2)
    let during: Promise<Threads | undefined> | undefined
    const site = yield* serveSite({
      pages: PAGES,
      latency: LATENCY,
      onMost: (most) => {
        if (most === many) during = Effect.runPromise(threads)
      },
    })
    // Once on each worker, so that what the runtime starts for the first fetch is there.
    yield* Pool.forEach(Array.from({ length: WORKERS }), () => visit(site.url))
    const before = yield* threads

    const began = performance.now()
    const found = yield* crawl(site.url, concurrency)
    const seconds = (performance.now() - began) / 1000
    const pages = [...found.values()]
    const bytes = pages.reduce((sum, page) => sum + page.bytes, 0)
    const broken = [...found].filter(([, { status }]) => status !== 200).map(([url]) => new URL(url).pathname)
    console.log(
      `${pages.length - broken.length} pages, ${bytes.toLocaleString("en-US")} bytes in ${seconds.toFixed(2)} s; ` +
        `one after the other they would take ${((pages.length * LATENCY) / 1000).toFixed(0)} s`,
    )
    console.log(`broken links: ${broken.join(", ") || "none"}`)
    console.log(`fetches in progress: ${site.most()} at most, on ${WORKERS} workers`)
    const then = yield* Effect.promise(async () => await during)
    if (before !== undefined && then !== undefined) {
      console.log(`${before.what}: ${before.names.size} before, ${then.names.size} with ${many} fetches in progress`)
    }
  }).pipe(Effect.provide(Pool.layer({ procs: WORKERS })), Effect.scoped)

if (isMain(import.meta)) {
  const concurrency = Number(process.argv[2] ?? 64)
  if (Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= PAGES) {
    await Effect.runPromise(main(concurrency))
  } else {
    console.error(`usage: crawler [IN_PROGRESS], from 1 to ${PAGES}`)
    process.exitCode = 2
  }
}
