import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { Task } from "../mod.ts"

/** A page as it was found. */
export interface Page {
  readonly status: number
  readonly bytes: number
  /** Addresses on the same site that it links to. */
  readonly links: ReadonlyArray<string>
}

/** A page that could not be fetched, as opposed to one that is not there. */
export class Unreachable extends Data.TaggedError("Unreachable")<{ readonly url: string; readonly message: string }> {}

const Http = Task.layer(import.meta, "Http", FetchHttpClient.layer)

/** Fetches a page and finds its links. While it waits for the server, its worker does other things. */
export const visit = Task.effect(
  import.meta,
  "visit",
  (url: string) =>
    Effect.gen(function* () {
      const response = yield* HttpClient.get(url)
      const text = yield* response.text
      const found = response.status === 200 ? [...text.matchAll(/href="([^"#]+)/g)] : []
      const links = found.map(([, href]) => new URL(href, url))
      const page: Page = {
        status: response.status,
        bytes: new TextEncoder().encode(text).length,
        links: links.filter(({ origin }) => origin === new URL(url).origin).map(String),
      }
      return page
    }).pipe(
      // The client's own errors hold the request, whose methods no other thread could call.
      Effect.mapError(({ message }) => new Unreachable({ url, message })),
    ),
  { layer: Http },
)
