import * as Effect from "effect/Effect"
import { readdirSync, readFileSync } from "node:fs"

/** The threads of this process at one moment, by id; or its workers, where threads cannot be seen. */
export interface Threads {
  readonly what: "threads" | "workers"
  readonly names: ReadonlyMap<string, string>
}

interface Permissions {
  readonly querySync: (permission: { readonly name: string }) => { readonly state: string }
}

/**
 * Deno lets a program read /proc only if it may do anything (`-A`), and else asks the user, which must not happen here.
 */
const mayReadProc = (): boolean => {
  const { Deno: deno } = globalThis as { readonly Deno?: { readonly permissions: Permissions } }
  return deno === undefined ||
    ["read", "write", "net", "env", "sys", "run", "ffi"].every((name) =>
      deno.permissions.querySync({ name }).state === "granted"
    )
}

const fromProc = (): Threads | undefined => {
  if (!mayReadProc()) return undefined
  try {
    const names = readdirSync("/proc/self/task").map((id) =>
      [id, readFileSync(`/proc/self/task/${id}/comm`, "utf8").trim()] as const
    )
    return { what: "threads", names: new Map(names) }
  } catch {
    return undefined // not Linux, or a thread ended between the two reads
  }
}

/** On Deno each worker of a pool holds a Web Lock until it is gone, and those can be counted without a permission. */
const fromLocks = async (): Promise<Threads | undefined> => {
  if (!("Deno" in globalThis)) return undefined
  const { held = [] } = await navigator.locks.query()
  return {
    what: "workers",
    names: new Map(held.flatMap(({ name = "" }) => name.startsWith("runon-") ? [[name, "worker"]] : [])),
  }
}

/** The threads of this process now; undefined where there is no way to tell. */
export const threads: Effect.Effect<Threads | undefined> = Effect.promise(async () => fromProc() ?? await fromLocks())

/** Bun's garbage collector has helpers for the whole process, and starts them when it first needs them. */
const ofNoWorker = "HeapHelper"

const cameBetween = (before: Threads, after: Threads): ReadonlyArray<string> =>
  [...after.names].flatMap(([id, name]) => before.names.has(id) || name === ofNoWorker ? [] : [id])

/**
 * Tells how many threads there were before a pool, while it was open, and after it, and which of those that came with
 * it are left. That a thread has ended its work and that the system has forgotten it are two moments: this waits for
 * the second one, for a second at most.
 */
export const threadReport = (before: Threads | undefined, during: Threads | undefined): Effect.Effect<string> =>
  Effect.gen(function* () {
    let after = yield* threads
    if (before === undefined || during === undefined || after === undefined) {
      return "threads: not counted, this system does not tell"
    }
    const came = cameBetween(before, during)
    const leftOf = ({ names }: Threads) => came.flatMap((id) => names.get(id) ?? [])
    for (let tries = 0; tries < 50 && leftOf(after).length > 0; tries++) {
      yield* Effect.sleep("20 millis")
      after = (yield* threads) ?? after
    }
    const left = leftOf(after)
    return `${before.what}: ${before.names.size} before, ${during.names.size} with the pool open, ` +
      `${after.names.size} after it closed; of the ${came.length} that came with it ${left.length} left` +
      (left.length > 0 ? ` (${left.join(", ")})` : "") +
      (before.what === "workers" ? " (counted by the locks they hold; Deno shows threads only with -A)" : "")
  })
