import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** What answers requests. */
export type Handler = (request: Request) => Promise<Response>

/** A server that listens. */
export interface Server {
  readonly port: number
  readonly close: () => Promise<void>
}

interface BunServer {
  readonly port: number
  readonly stop: (closeConnections: boolean) => Promise<void>
}

interface BunRuntime {
  readonly serve: (
    options: { readonly hostname: string; readonly port: number; readonly fetch: Handler },
  ) => BunServer
}

const hostname = "127.0.0.1"

/** A request of `node:http` as a `Request`, whose signal is aborted if the client goes away. The body is left out. */
const toRequest = (incoming: IncomingMessage, outgoing: ServerResponse): Request => {
  const gone = new AbortController()
  outgoing.on("close", () => outgoing.writableFinished || gone.abort())
  const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)])
  return new Request(new URL(incoming.url ?? "/", `http://${hostname}`), {
    method: incoming.method ?? "GET",
    headers,
    signal: gone.signal,
  })
}

const send = async (outgoing: ServerResponse, response: Response): Promise<void> => {
  outgoing.writeHead(response.status, [...response.headers].flat())
  outgoing.end(new Uint8Array(await response.arrayBuffer()))
}

/** Serves on this machine: by `Bun.serve` on Bun, by `node:http` elsewhere. Port 0: any that is free. */
export const serve = async (handler: Handler, port: number): Promise<Server> => {
  const { Bun: bun } = globalThis as { readonly Bun?: BunRuntime }
  if (bun !== undefined) {
    const server = bun.serve({ hostname, port, fetch: handler })
    return { port: server.port, close: () => server.stop(true) }
  }
  const server = createServer((incoming, outgoing) => {
    handler(toRequest(incoming, outgoing)).then((response) => send(outgoing, response), (error) => {
      // Whoever has gone away gets no answer.
      if (outgoing.destroyed) return
      console.error(error)
      outgoing.writeHead(500).end()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(port, hostname, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
