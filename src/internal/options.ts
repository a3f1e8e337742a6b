/** Options by their names: a name that means nothing would be a wish that is not granted, and nobody would be told. */
import { InvalidOptions } from "../Errors.ts"

/** What one function takes. */
export interface Taken {
  /** Who has the options, in words. */
  readonly of: string
  /** What all of them are called, if they are an option themselves. */
  readonly option?: string
  readonly names: ReadonlyArray<string>
  /** What to do instead, by the name of an option that is elsewhere or none, or by a meaning of {@link likely}. */
  readonly instead?: { readonly [name: string]: string }
}

/** What stands for a limit of time, in {@link Taken.instead}. */
export const TIME = "time"

/** What to do instead with a call that is an Effect. */
export const BY_EFFECT = { [TIME]: "use Effect.timeout", signal: "interrupt the fiber" }

/** What names are likely to mean: the first of their meanings that a function has. In small letters. */
const likely: ReadonlyArray<readonly [names: string, meanings: ReadonlyArray<string>]> = [
  ["procs workers threads size cpus cores parallelism poolsize numworkers numthreads", ["procs", "concurrency"]],
  ["maxworkers maxthreads minworkers minthreads max min", ["procs", "concurrency"]],
  ["concurrency concurrent limit parallel maxconcurrency highwatermark lookahead", ["concurrency", "procs"]],
  ["timeout timeoutms deadline timelimit", [TIME]],
  ["abort abortsignal abortcontroller controller cancel", ["signal"]],
  ["order unordered preserveorder keeporder", ["ordered"]],
  ["progress listener", ["onProgress"]],
  ["maxqueue queuesize", ["capacity"]],
  ["memory heap memorylimit", ["resourceLimits"]],
  ["closetimeout shutdowntimeout", ["grace"]],
  ["init initial initialvalue seed", ["zero"]],
  ["f fn call", ["map"]],
  ["reduce reducer merge", ["combine"]],
  ["start begin lo min", ["from"]],
  ["end stop until hi length count size max", ["to"]],
  ["chunk chunksize batch batchsize", ["grain"]],
  ["input args", ["payload"]],
  ["output result", ["success"]],
  ["error errors", ["failure"]],
  ["layers services provide", ["layer"]],
]

/** How many letters it takes to make one text of the other. */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1))
    }
    row = next
  }
  return row[b.length]
}

const adviceFor = (name: string, { instead = {}, names }: Taken): string | undefined => {
  const letters = name.toLowerCase().replace(/[^a-z]/g, "")
  const similar = names.find((known) => distance(letters, known.toLowerCase()) <= (known.length > 5 ? 2 : 1))
  const meanings = likely.flatMap(([words, meanings]) => words.split(" ").includes(letters) ? meanings : [])
  const meant = [name, similar, ...meanings].find((meaning) =>
    meaning !== undefined && (names.includes(meaning) || Object.hasOwn(instead, meaning))
  )
  return meant && (Object.hasOwn(instead, meant) ? instead[meant] : `use ${meant}`)
}

/** What is wrong with options: that they are none, or have a name that is none of theirs. */
export const wrongOptions = (taken: Taken, options: unknown): InvalidOptions | undefined => {
  if (options === undefined) return undefined
  if (typeof options !== "object" || options === null || Symbol.iterator in options) {
    const example = typeof options === "number" && taken.names.includes("procs")
      ? `, such as { procs: ${options} }`
      : ""
    return new InvalidOptions({ option: taken.option ?? "options", value: options, expected: `an object${example}` })
  }
  // An instance of a class may have what it needs for itself.
  const prototype = Object.getPrototypeOf(options)
  if (prototype !== Object.prototype && prototype !== null) return undefined
  for (const name of Object.keys(options)) {
    const value = (options as Record<string, unknown>)[name]
    if (value !== undefined && !taken.names.includes(name)) return unknown(taken, name, value)
  }
  return undefined
}

const unknown = (taken: Taken, option: string, value: unknown): InvalidOptions => {
  const advice = adviceFor(option, taken)
  return new InvalidOptions({
    option,
    value,
    expected: `left out, as ${taken.of} has no such option but ${taken.names.join(", ")}${advice ? `; ${advice}` : ""}`,
  })
}

/** Options of many calls at once. */
interface Bulk {
  readonly concurrency?: unknown
  readonly onProgress?: unknown
  readonly mode?: unknown
}

const MODES: ReadonlyArray<unknown> = [undefined, "default", "either", "validate"]

/** What is wrong with the options of many calls at once. */
export const wrongBulk = (taken: Taken, options: Bulk | undefined): InvalidOptions | undefined => {
  const wrong = wrongOptions(taken, options)
  if (wrong !== undefined || options === undefined) return wrong
  const { concurrency, mode } = options
  if (!MODES.includes(mode)) {
    return new InvalidOptions({ option: "mode", value: mode, expected: `"default", "either" or "validate"` })
  }
  if (concurrency !== "unbounded" && !isConcurrency(concurrency)) {
    return new InvalidOptions({
      option: "concurrency",
      value: concurrency,
      expected: `a whole number from 1, or "unbounded"`,
    })
  }
  return wrongListener(options.onProgress)
}

/** What is wrong with a listener: that it is no function. */
export const wrongListener = (listener: unknown): InvalidOptions | undefined =>
  listener === undefined || typeof listener === "function"
    ? undefined
    : new InvalidOptions({ option: "onProgress", value: listener, expected: "a function" })

/** Whether so many calls may be under way at once: as many as there are, if there is no number. */
export const isConcurrency = (value: unknown): value is number | undefined =>
  value === undefined || value === Infinity || (Number.isInteger(value) && (value as number) >= 1)

/** Throws what is wrong, if anything is. */
export const check = (wrong: Error | undefined): void => {
  if (wrong !== undefined) throw wrong
}
