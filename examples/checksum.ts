/**
 * Checksums of all files below a directory, in the format of `sha256sum`, computed on all cores.
 *
 *     deno run --allow-read=DIR,. examples/checksum.ts DIR > SUMS
 *     bun examples/checksum.ts DIR > SUMS
 *     npx tsx examples/checksum.ts DIR > SUMS
 *     sha256sum --quiet -c SUMS
 *
 * What it shows: a pool as a layer, many calls as one Effect, progress that moves within large files, and on stderr what
 * each P did, the speed against one thread, and that no worker is left. Permissions: what is to be read, and this project, because workers load their modules by reading them.
 *
 * @module
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { lstatSync, readdirSync, statSync } from "node:fs"
import process from "node:process"
import { parseArgs } from "node:util"
import { availableParallelism, isMain, Pool, type PoolError, type TaskError } from "../mod.ts"
import { hashFile, hashFiles, type Outcome } from "./checksum_tasks.ts"
import { compare, speed } from "./support/measure.ts"
import { workPerP } from "./support/table.ts"
import { threadReport, threads } from "./support/threads.ts"

const usage = `usage: checksum [--workers N] DIR ...

Prints the SHA-256 of every regular file below each DIR, as sha256sum does. Symbolic links are not followed.

  --workers N   number of worker threads (default: as many as there are cores, ${availableParallelism()} here)
  --help        print this`

/** More than this is not hashed again to measure speed: it takes time, and would not stay in the page cache. */
const SAMPLE_BYTES = 512 * 1024 * 1024

/** As much goes into one G: some hundred microseconds of work, or a single larger file. */
const BATCH_BYTES = 512 * 1024
const BATCH_FILES = 32

interface File {
  readonly path: string
  readonly size: number
}

/** The command line makes no sense. */
class UsageError extends Data.TaggedError("UsageError")<{ readonly message: string }> {}

/** What cannot be read, or written. */
class Unusable extends Data.TaggedError("Unusable")<{ readonly message: string }> {}

const reasonOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

const say = (message: string): Effect.Effect<void> => Effect.sync(() => process.stderr.write(`${message}\n`))

/** A path on one line. `sha256sum` writes these three so, and marks the line with a backslash in front. */
const escape = (path: string): string => path.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\r", "\\r")

/** The line that `sha256sum` prints for a file. */
export const sumLine = (digest: string, path: string): string => {
  const escaped = escape(path)
  return `${escaped === path ? "" : "\\"}${digest}  ${escaped}\n`
}

const options = (args: ReadonlyArray<string>) =>
  Effect.try({
    try: () =>
      parseArgs({
        args: [...args],
        options: { workers: { type: "string" }, help: { type: "boolean" } },
        allowPositionals: true,
      }),
    catch: (error) => new UsageError({ message: reasonOf(error) }),
  }).pipe(Effect.flatMap(({ positionals, values }) => {
    const workers = values.workers === undefined ? availableParallelism() : Number(values.workers.trim() || NaN)
    if (values.help) return Effect.succeed({ help: true, directories: [], workers })
    if (!Number.isInteger(workers) || workers < 1) {
      return Effect.fail(
        new UsageError({ message: `--workers must be a whole number from 1 on, not ${values.workers}` }),
      )
    }
    if (positionals.length === 0) return Effect.fail(new UsageError({ message: "which directory?" }))
    return Effect.succeed({ help: false, directories: positionals, workers })
  }))

const checkDirectory = (directory: string): Effect.Effect<void, Unusable> =>
  Effect.try({
    try: () => statSync(directory).isDirectory(),
    catch: (error) =>
      new Unusable({
        message: (error as { code?: string }).code === "ENOENT" ? "no such directory" : reasonOf(error),
      }),
  }).pipe(
    Effect.filterOrFail((is) => is, () => new Unusable({ message: "is not a directory" })),
    Effect.mapError(({ message }) => new Unusable({ message: `${escape(directory)}: ${message}` })),
    Effect.asVoid,
  )

/** All regular files below a directory in the order of their names, and what could not be looked at. */
const filesBelow = (directory: string): { readonly files: Array<File>; readonly problems: Array<string> } => {
  const files: Array<File> = []
  const problems: Array<string> = []
  // No recursion: nothing limits how deep directories are.
  const pending = [directory]
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    try {
      const stat = path === directory ? statSync(path) : lstatSync(path)
      if (stat.isFile()) files.push({ path, size: stat.size })
      if (!stat.isDirectory()) continue
      const prefix = path.endsWith("/") ? path : `${path}/`
      pending.push(...readdirSync(path).sort().reverse().map((name) => prefix + name))
    } catch (error) {
      // Names are bytes; those that are not UTF-8 come with replacement characters, under which nothing is found.
      const why = path.includes("\ufffd") ? "the name is not UTF-8" : reasonOf(error)
      problems.push(`${escape(path)}: ${why}`)
    }
  }
  return { files, problems }
}

/** Writes to stdout, and succeeds when whoever reads it has taken it. */
const write = (text: string): Effect.Effect<void, Unusable> =>
  Effect.async((resume) => {
    const onError = (error: Error) =>
      resume(Effect.fail(new Unusable({ message: `standard output: ${error.message}` })))
    process.stdout.once("error", onError)
    process.stdout.write(text, (error) => {
      if (error) return onError(error)
      process.stdout.off("error", onError)
      resume(Effect.void)
    })
  })

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

const sizeOf = (files: ReadonlyArray<File>): number => files.reduce((sum, { size }) => sum + size, 0)

const plural = (count: number, what: string): string =>
  `${count.toLocaleString("en-US")} ${what}${count === 1 ? "" : "s"}`

/**
 * Files in batches, a G each. Some ten microseconds that a small file takes are no more than it costs to hand over a
 * result to a thread that sleeps; a large file is a batch of its own. The largest come first: one that is started last
 * would keep one core busy while the others have nothing left to do.
 */
const inBatches = (files: ReadonlyArray<File>): ReadonlyArray<ReadonlyArray<File>> => {
  const batches: Array<Array<File>> = []
  let bytes = Infinity
  for (const file of files.toSorted((a, b) => b.size - a.size)) {
    if (bytes + file.size > BATCH_BYTES || batches[batches.length - 1].length === BATCH_FILES) {
      batches.push([])
      bytes = 0
    }
    batches[batches.length - 1].push(file)
    bytes += file.size
  }
  return batches
}

const hashBatch = (batch: ReadonlyArray<File>) => hashFiles(batch.map(({ path }) => path))

/** Tells now and then how much has been read: often on a terminal, where a line replaces the former. */
const progress = (read: () => number, total: number): Effect.Effect<void> => {
  const terminal = process.stderr.isTTY
  const line = Effect.sync(() => {
    const text = `${megabytes(read())} of ${megabytes(total)}`
    process.stderr.write(terminal ? `\r\x1b[K${text}` : `${text}\n`)
  })
  return Effect.schedule(line, Schedule.spaced(terminal ? "100 millis" : "5 seconds")).pipe(
    Effect.ensuring(Effect.sync(() => terminal && process.stderr.write("\r\x1b[K"))),
    Effect.asVoid,
  )
}

/** Hashes files on the pool, and gives each one's outcome by its path. */
const hashAll = (batches: ReadonlyArray<ReadonlyArray<File>>) =>
  Effect.gen(function* () {
    // As the tasks tell while they read, so that the line moves within a large file.
    const read = batches.map(() => 0)
    yield* Effect.forkScoped(progress(() => read.reduce((sum, bytes) => sum + bytes, 0), sizeOf(batches.flat())))
    const outcomes = yield* Pool.forEach(batches, hashBatch, { onProgress: ({ done }, i) => read[i] = done })
    return new Map(batches.flatMap((batch, i) => batch.map(({ path }, j): [string, Outcome] => [path, outcomes[i][j]])))
  }).pipe(Effect.scoped)

/** Hashes files again, here and on the pool. They were just read, so that neither side waits for the disk. */
const compareSpeed = (files: ReadonlyArray<File>): Effect.Effect<string, never, Pool> =>
  Effect.gen(function* () {
    // Every n-th by size, so that the sample is like the whole.
    const step = Math.max(1, Math.ceil(sizeOf(files) / SAMPLE_BYTES))
    const sample = files.toSorted((a, b) => b.size - a.size).filter((_, i) => i % step === step - 1)
    if (sample.length < 2) return "speed: too few files to compare"
    const batches = inBatches(sample)
    const { procs } = yield* Pool
    const result = yield* compare(
      () => sample.forEach(({ path }) => hashFile(path)),
      Pool.forEach(batches, hashBatch, { discard: true }),
    )
    return `${step === 1 ? "the same" : plural(sample.length, "file")} again, ${megabytes(sizeOf(sample))} ` +
      `from the page cache: ${speed(result, procs)}`
  }).pipe(Effect.catchAllCause(() => Effect.succeed("speed: not compared, the files have changed")))

/** Prints the sums of files, and on stderr how they came about. Succeeds with the number of files that failed. */
const checksum = (
  files: ReadonlyArray<File>,
  workers: number,
): Effect.Effect<number, Unusable | PoolError | TaskError> =>
  Effect.gen(function* () {
    const before = yield* threads
    const { during, failures } = yield* Effect.gen(function* () {
      const batches = inBatches(files)
      const began = performance.now()
      const outcomes = yield* hashAll(batches)
      const seconds = (performance.now() - began) / 1000
      const stats = yield* Pool.stats
      const during = yield* threads

      const good: Array<File> = []
      const sums: Array<string> = []
      const failures: Array<string> = []
      for (const file of files) {
        const outcome = outcomes.get(file.path)!
        if ("digest" in outcome) {
          good.push(file)
          sums.push(sumLine(outcome.digest, file.path))
        } else {
          failures.push(`checksum: ${escape(file.path)}: ${outcome.error}`)
        }
      }
      yield* write(sums.join(""))
      yield* Effect.forEach(failures, say, { discard: true })

      const bytes = sizeOf(good)
      yield* say(
        `${plural(good.length, "file")}, ${megabytes(bytes)} in ${plural(batches.length, "G")} on ` +
          `${plural(workers, "worker")}: ${seconds.toFixed(2)} s (${megabytes(bytes / seconds)}/s), ` +
          `in which the workers also loaded the task's module\n${workPerP(stats)}`,
      )
      yield* say(yield* compareSpeed(good))
      return { during, failures }
    }).pipe(Effect.provide(Pool.layer({ procs: workers })))
    // The layer's scope has closed: every worker has ended.
    yield* say(yield* threadReport(before, during))
    return failures.length
  })

/** The program. Succeeds with the exit code. */
const main = (args: ReadonlyArray<string>): Effect.Effect<number> =>
  Effect.gen(function* () {
    const { directories, help, workers } = yield* options(args)
    if (help) {
      yield* write(`${usage}\n`)
      return 0
    }
    yield* Effect.forEach(directories, checkDirectory, { discard: true })
    const lists = directories.map(filesBelow)
    const files = lists.flatMap((list) => list.files)
    const problems = lists.flatMap((list) => list.problems)
    yield* Effect.forEach(problems, (problem) => say(`checksum: ${problem}`), { discard: true })
    const failed = files.length === 0 ? yield* Effect.as(say("no files"), 0) : yield* checksum(files, workers)
    return problems.length + failed === 0 ? 0 : 1
  }).pipe(
    Effect.catchTag("UsageError", ({ message }) => Effect.as(say(`checksum: ${message}\n\n${usage}`), 2)),
    Effect.catchAll(({ message }) => Effect.as(say(`checksum: ${message}`), 1)),
  )

if (isMain(import.meta)) process.exitCode = await Effect.runPromise(main(process.argv.slice(2)))
