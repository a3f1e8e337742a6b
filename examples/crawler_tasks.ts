import { Task } from "../mod.ts"

/** A page as it was found. */
export interface Page {
  readonly status: number
  readonly bytes: number
  /** Addresses on the same site that it links to. */
  readonly links: ReadonlyArray<string>
}

/** Fetches a page and finds its links. While it waits for the server, its worker does other things. */
export const visit = Task.make(import.meta, "visit", async (url: string): Promise<Page> => {
  const response = await fetch(url)
  const text = await response.text()
  const links = response.ok ? [...text.matchAll(/href="([^"#]+)/g)].map(([, href]) => new URL(href, url)) : []
  return {
    status: response.status,
    bytes: new TextEncoder().encode(text).length,
    links: links.filter(({ origin }) => origin === new URL(url).origin).map(String),
  }
})
