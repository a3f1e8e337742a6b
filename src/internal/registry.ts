/**
 * Tasks known to this thread. A task is known by the URL of its module and its name, or, if it is shipped as source,
 * by its source; that key is what crosses threads.
 */

import type { MachineLayer } from "../Services.ts"
import type { Codec } from "./schemaCodec.ts"

/** A task as one thread knows it. */
export interface TaskDef {
  readonly name: string
  /** URL of the module that defines it; empty for a task that is shipped as source. */
  readonly module: string
  /** What crosses threads: see {@link keyOf}. */
  readonly key: string
  readonly fn: (...args: Array<never>) => unknown
  /** Whether the function returns an Effect that is to be run. */
  readonly effect: boolean
  /** What provides the services that the Effect needs. */
  readonly layer: MachineLayer<never, unknown> | undefined
  /** What its schemas make of what crosses threads. */
  readonly codec: Codec | undefined
  /** Whether it is an async function. */
  readonly async: boolean
  /** Its number in the pool whose memory is {@link TaskDef.pool}. */
  id: number
  /** The pool that a machine of this thread last ran it for. */
  pool: unknown
}

/** What a task is besides a plain function. */
export interface TaskKind {
  readonly effect?: boolean
  readonly layer?: TaskDef["layer"]
  readonly codec?: TaskDef["codec"]
}

const COPIES: unique symbol = Symbol.for("runon/copies")
const known = new Map<string, TaskDef>()

/** The copies of this package that this thread has loaded, by the URL of this module: none knows another's tasks. */
const copies: Set<string> = (globalThis as { [COPIES]?: Set<string> })[COPIES] ??= new Set()
/** tsx compiles a module and all that it imports to CommonJS where "type" does not say otherwise: one file, two copies. */
const AGAIN = `${import.meta.url} once more`
copies.add(copies.has(import.meta.url) ? AGAIN : import.meta.url)

/** What to do about several copies, if there are. */
export const adviceOnCopies = (): string | undefined => {
  if (copies.has(AGAIN)) {
    return `this package was loaded twice from one file, as CommonJS too: set "type": "module" in the program's ` +
      "package.json, or name its modules .mts"
  }
  if (copies.size < 2) return undefined
  return "its module makes it with another copy of this package than the pool's: have one instead of " +
    [...copies].join(" and ")
}

/** Names by `import.meta`: a module that is evaluated anew has a new one and may define its tasks anew. */
const namesOf = new WeakMap<ImportMeta, Set<string>>()

/** The parts of a task's key. */
export interface TaskKey {
  readonly name: string
  readonly module: string
  readonly source: string
}

/** Packs what identifies a task. */
export const packKey = (key: TaskKey): string => JSON.stringify([key.module, key.name, key.source])

/** Unpacks what {@link packKey} packed. */
export const unpackKey = (key: string): TaskKey => {
  const [module, name, source] = JSON.parse(key) as [string, string, string]
  return { module, name, source }
}

/** Throws if this evaluation of the module has already defined a task, or a layer, of that name. */
export const claimName = (meta: ImportMeta, kind: "task" | "layer", name: string): void => {
  if (typeof meta?.url !== "string") {
    throw new TypeError(`${kind} "${name}": the first argument must be the module's import.meta`)
  }
  if (typeof name !== "string" || name === "") throw new TypeError(`a ${kind} in ${meta.url} has no name`)
  const names = namesOf.get(meta) ?? new Set()
  const claim = `${kind} ${name}`
  if (names.has(claim)) {
    throw new TypeError(`two ${kind}s named "${name}" in ${meta.url}: names must differ in a module`)
  }
  namesOf.set(meta, names.add(claim))
}

/** Makes a task of a module known. Throws if this evaluation of the module has already defined one of that name. */
export const defineTask = (
  meta: ImportMeta,
  name: string,
  fn: TaskDef["fn"],
  kind: TaskKind = {},
): TaskDef => {
  claimName(meta, "task", name)
  if (typeof fn !== "function") throw new TypeError(`task "${name}" in ${meta.url} is not a function`)
  return learn({ name, module: meta.url, source: "" }, fn, kind)
}

const isAsync = (fn: unknown): boolean => Object.prototype.toString.call(fn) === "[object AsyncFunction]"

/** Makes a task known under its key, in place of a former one. */
export const learn = (parts: TaskKey, fn: TaskDef["fn"], kind: TaskKind = {}): TaskDef => {
  const key = packKey(parts)
  const { module, name } = parts
  const { codec, effect = false, layer } = kind
  const def: TaskDef = { name, module, key, fn, effect, layer, codec, async: isAsync(fn), id: -1, pool: undefined }
  known.set(key, def)
  return def
}

/** The task with this key, if its module has been evaluated on this thread. */
export const lookUp = (key: string): TaskDef | undefined => known.get(key)
