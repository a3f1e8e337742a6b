import { Task } from "../mod.ts"

/** Requests by column, so that the numbers of many travel as one typed array each. */
export interface Requests {
  readonly paths: ReadonlyArray<string>
  readonly statuses: Uint16Array
  readonly bytes: Float64Array
}

/** What is known of a path. */
export interface Summary {
  readonly requests: number
  readonly errors: number
  readonly bytes: number
}

export type Report = Map<string, Summary>

const line = /^\S+ \S+ \S+ \[[^\]]*\] "[A-Z]+ ([^ ?"]+)[^"]*" (\d{3}) (\d+|-)/

/** First stage: lines of a web server's log become requests. Those that are none are left out. */
export const parse = Task.make(import.meta, "parse", (lines: ReadonlyArray<string>): Requests => {
  const paths: Array<string> = []
  const statuses: Array<number> = []
  const bytes: Array<number> = []
  for (const text of lines) {
    const found = line.exec(text)
    if (found === null) continue
    paths.push(found[1])
    statuses.push(Number(found[2]))
    bytes.push(found[3] === "-" ? 0 : Number(found[3]))
  }
  return { paths, statuses: Uint16Array.from(statuses), bytes: Float64Array.from(bytes) }
})

/** Second stage: requests become a report. */
export const summarize = Task.make(import.meta, "summarize", ({ bytes, paths, statuses }: Requests): Report => {
  const report: Report = new Map()
  paths.forEach((path, i) => {
    add(report, path, { requests: 1, errors: statuses[i] >= 400 ? 1 : 0, bytes: bytes[i] })
  })
  return report
})

/** Adds to what a report says of a path. */
export const add = (report: Report, path: string, more: Summary): void => {
  const { bytes, errors, requests } = report.get(path) ?? { requests: 0, errors: 0, bytes: 0 }
  report.set(path, {
    requests: requests + more.requests,
    errors: errors + more.errors,
    bytes: bytes + more.bytes,
  })
}
