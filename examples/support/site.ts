import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** A site of linked pages, served on this machine. */
export interface Site {
  readonly url: string
  /** Most requests that were in progress at once, so far. */
  readonly most: () => number
}

const page = (n: number, pages: number): string => {
  // A tree, in which every page is reached, and some links back, round and to nowhere.
  const links = [2 * n + 1, 2 * n + 2].filter((child) => child < pages).concat((7 * n) % pages, 0)
  if (n === 5) links.push(pages)
  const items = links.map((link) => `<li><a href="/page/${link}">page ${link}</a></li>`)
  return `<!doctype html>\n<title>Page ${n}</title>\n<ul>\n${items.join("\n")}\n</ul>\n<p>${"text ".repeat(n)}</p>\n`
}

/**
 * Serves a site for the life of the scope, slowly: each answer takes `latency` ms. `onMost` is called whenever more
 * requests are in progress than ever before.
 */
export const serveSite = (
  options: { readonly pages: number; readonly latency: number; readonly onMost?: (most: number) => void },
): Effect.Effect<Site, Error, Scope.Scope> =>
  Effect.gen(function* () {
    const { latency, onMost = () => {}, pages } = options
    let now = 0
    let most = 0
    const server = createServer((request, response) => {
      if (++now > most) onMost(most = now)
      setTimeout(() => {
        const n = Number(/^\/page\/(\d+)$/.exec(request.url ?? "")?.[1])
        response.writeHead(n < pages ? 200 : 404, { "content-type": "text/html" })
        response.end(n < pages ? page(n, pages) : "not found\n")
        now--
      }, latency)
    })
    yield* Effect.acquireRelease(
      Effect.async<void, Error>((resume) => {
        server.once("error", (error) => resume(Effect.fail(error)))
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        }),
    )
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/page/0`, most: () => most }
  })
