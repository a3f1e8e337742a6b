import { createHash } from "node:crypto"
import { closeSync, openSync, readSync } from "node:fs"
import { Task } from "../mod.ts"

// Made when the first file is read, which the main thread may never do. One is enough: a sync task has its thread to
// itself from its start to its end.
let buffer: Uint8Array | undefined

/** SHA-256 of a file in hexadecimal, read piece by piece. `onRead` is told the bytes of each. */
export const hashFile = (path: string, onRead: (bytes: number) => void = () => {}): string => {
  buffer ??= new Uint8Array(256 * 1024)
  const hash = createHash("sha256")
  const file = openSync(path, "r")
  try {
    for (;;) {
      const length = readSync(file, buffer, 0, buffer.length, null)
      if (length === 0) return hash.digest("hex")
      hash.update(buffer.subarray(0, length))
      onRead(length)
    }
  } finally {
    closeSync(file)
  }
}

/** What became of a file. */
export type Outcome = { readonly digest: string } | { readonly error: string }

const outcomeOf = (path: string, onRead: (bytes: number) => void): Outcome => {
  try {
    return { digest: hashFile(path, onRead) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

/**
 * Hashes some files, and tells how many bytes it has read. That one cannot be read is a result like any other, and does
 * not fail the task. The task has a module of its own so that workers load this and not the whole program.
 */
export const hashFiles = Task.make(
  import.meta,
  "hashFiles",
  (paths: ReadonlyArray<string>): Array<Outcome> => {
    let read = 0
    return paths.map((path) => outcomeOf(path, (bytes) => Task.progress(read += bytes)))
  },
)
