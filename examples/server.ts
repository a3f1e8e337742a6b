/**
 * A web server that computes and stays responsive.
 *
 *     deno run --allow-read=. --allow-net=127.0.0.1 examples/server.ts [PORT]
 *     bun examples/server.ts [PORT]
 *     npx tsx examples/server.ts [PORT]
 *
 *     curl http://127.0.0.1:8080/primes?to=20000000 & curl http://127.0.0.1:8080/health
 *
 * What it shows: a pool behind promises, `runon/promise`. Requests that compute go to the workers, so others are answered
 * meanwhile; a client that goes away stops its computation; and SIGINT or SIGTERM closes the server, then the pool, after
 * which the process ends by itself.
 *
 * @module
 */
import process from "node:process"
import { isMain } from "../mod.ts"
import { openPool, type PromisePool } from "../src/promise.ts"
import { countPrimes } from "./server_tasks.ts"
import { type Handler, serve } from "./support/serve.ts"

/** More would take minutes. */
const MOST = 100_000_000

const handle = (pool: PromisePool): Handler => async (request) => {
  const { pathname, searchParams } = new URL(request.url)
  if (pathname === "/health") return new Response("fine\n")
  if (pathname !== "/primes") return new Response("try /primes?to=1000000 or /health\n", { status: 404 })
  const to = Number(searchParams.get("to") ?? 1_000_000)
  if (!Number.isInteger(to) || to < 0 || to > MOST) {
    return new Response(`to: a whole number up to ${MOST}\n`, { status: 400 })
  }
  const began = performance.now()
  const primes = await pool.run(countPrimes(to), { signal: request.signal })
  return Response.json({ to, primes, ms: Math.round(performance.now() - began) })
}

const main = async (port: number): Promise<void> => {
  const asked = new Promise<void>((resolve) => {
    process.once("SIGINT", () => resolve())
    process.once("SIGTERM", () => resolve())
  })
  await using pool = await openPool()
  const server = await serve(handle(pool), port)
  console.log(`http://127.0.0.1:${server.port} with ${pool.procs} workers`)
  await asked
  await server.close()
}

if (isMain(import.meta)) await main(Number(process.argv[2] ?? 8080))
