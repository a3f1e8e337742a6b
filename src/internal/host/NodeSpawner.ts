/**
 * Machines on Node: `node:worker_threads`, which tell their end by an `exit` event.
 */
import type { ResourceLimits } from "node:worker_threads"
import { explained } from "./bundled.ts"
import { Machine } from "./Machine.ts"
import type { Spawner } from "./Spawner.ts"

/** What Node alone can do for its machines. */
export interface NodeSpawnerOptions {
  /** Limits of a machine's heap. One that exceeds them ends with `ERR_WORKER_OUT_OF_MEMORY`. */
  readonly resourceLimits?: ResourceLimits | undefined
}

const isTypeScript = (entry: URL): boolean => /\.[cm]?tsx?$/.test(entry.pathname)

// Node 22.18 and later strip types by themselves, but not below node_modules.
const stripsTypes = (entry: URL): boolean =>
  Boolean((process.features as { readonly typescript?: unknown }).typescript) &&
  !entry.pathname.includes("/node_modules/")

const hostRunsTsx = (): boolean =>
  [...process.execArgv, process.env.NODE_OPTIONS ?? ""].some((arg) => /(^|[\s=/\\])tsx($|[\s/\\])/.test(arg))

/**
 * The directory of tsx's modules: of the tsx that runs the host where its command started it, or else as seen from
 * the entry, from this package, or from the working directory.
 */
const findTsx = (entry: URL): URL | undefined => {
  const running = process.execArgv.find((arg) => /^file:.*\/tsx\/dist\/loader\.mjs$/.test(arg))
  if (running !== undefined) return new URL(".", running)
  const { createRequire } = process.getBuiltinModule("node:module")
  const { pathToFileURL } = process.getBuiltinModule("node:url")
  for (const base of [entry, import.meta.url, pathToFileURL(`${process.cwd()}/`)]) {
    try {
      const manifest = createRequire(base).resolve("tsx/package.json")
      return new URL("./dist/", pathToFileURL(manifest))
    } catch {
      // Not visible from there.
    }
  }
  return undefined
}

// tsx installs its hooks in workers by itself only on Node versions that have synchronous hooks (22.22, 24.11 and
// later), whatever `execArgv` they inherit. Its API does everywhere, so this module, run as the worker's first,
// calls that, and loads the entry with it.
const withTsx = (tsx: URL, entry: URL): URL =>
  new URL(`data:text/javascript,${
    encodeURIComponent([
      `import { register as registerRequire } from ${JSON.stringify(new URL("cjs/api/index.mjs", tsx).href)}`,
      `import { register } from ${JSON.stringify(new URL("esm/api/index.mjs", tsx).href)}`,
      "registerRequire()",
      "register()",
      `await import(${JSON.stringify(entry.href)})`,
    ].join("\n"))
  }`)

/** The module to start a worker with, so that it and what it imports can be TypeScript where the host's can. */
const loadable = (entry: URL): URL => {
  const entryNeedsTsx = isTypeScript(entry) && !stripsTypes(entry)
  if (!entryNeedsTsx && !hostRunsTsx()) return entry
  const tsx = findTsx(entry)
  if (tsx !== undefined) return withTsx(tsx, entry)
  if (!entryNeedsTsx) return entry
  throw new Error(
    `runon: this version of Node cannot load ${entry.href}, which is TypeScript. ` +
      "Install tsx (npm install --save-dev tsx), or use the compiled package.",
  )
}

/** Starts machines on Node. */
export const makeNodeSpawner = (options: NodeSpawnerOptions = {}): Spawner => ({
  runtime: "node",
  canTerminate: true,
  spawn: (entry, name, init, events) => {
    const machine = new Machine(init, events)
    const { Worker } = process.getBuiltinModule("node:worker_threads")
    const { resourceLimits } = options
    // What tells how to read a program from the command line is none of a worker's business, and Node refuses it there.
    const execArgv = process.execArgv.filter((arg) => !arg.startsWith("--input-type"))
    const inherited = execArgv.length === process.execArgv.length ? {} : { execArgv }
    const worker = new Worker(
      loadable(entry),
      resourceLimits === undefined ? { name, ...inherited } : { name, ...inherited, resourceLimits },
    )
    machine.attach({
      post: (message, transfer) => worker.postMessage(message, transfer as ReadonlyArray<ArrayBuffer>),
      terminate: () => void worker.terminate(),
    })
    // Node takes the termination of a thread that is still loading.
    machine.allowTerminate()
    worker.on("message", (message) => machine.receive(message))
    worker.on("error", (error) => machine.fail(explained(entry, error)))
    worker.on("exit", (code) => machine.exit(code))
    // After the listeners: one for messages makes the worker keep the process alive again.
    worker.unref()
    return machine
  },
})
