/**
 * Functions of the tasks that this machine has met, by their number in the pool. A number that is met for the first
 * time is looked up among the tasks that this thread's modules have defined; if it is not there, its module is
 * imported.
 */
import * as Cause from "effect/Cause"
import { MissingGuard } from "../../Errors.ts"
import { strayCause } from "../codec/stray.ts"
import { compileSource } from "../inline/compile.ts"
import { adviceOnCopies, learn, lookUp, type TaskDef, type TaskKey, unpackKey } from "../registry.ts"
import { type Sched, taskBytes } from "../scheduler/index.ts"
import { describe } from "../codec/unsendable.ts"

/** Why a task cannot be run here. */
export class NotFound {
  readonly module: string
  readonly reason: string
  /** Whether the module opened a pool where it must not. */
  readonly unguarded: boolean
  constructor(module: string, reason: string, unguarded = false) {
    this.module = module
    this.reason = reason
    this.unguarded = unguarded
  }
}

/** A task's function, or why there is none. */
export type Loaded = TaskDef | NotFound

const textDecoder = new TextDecoder()

/** What to import for a module's URL. Bun forgets the query of a `file:` URL, but not that of a path. */
const specifierOf = (module: string): string => {
  const query = module.indexOf("?")
  if (query < 0 || !module.startsWith("file:") || !("Bun" in globalThis)) return module
  return process.getBuiltinModule("node:url").fileURLToPath(module.slice(0, query)) + module.slice(query)
}

/**
 * Whether the import of a module failed because it opens a pool, also if an Effect failed with that. Deno puts another
 * error, with the same text, in the place of one that a module was rejected with and that has no stack of its own.
 */
const isUnguarded = (error: unknown, module: string): boolean =>
  Cause.squash(strayCause(error)) instanceof MissingGuard ||
  (error instanceof Error && error.message === new MissingGuard({ module }).message)

/** The tasks that one machine has met. */
export class Modules {
  readonly #defs: Array<TaskDef | undefined> = []
  readonly #loading = new Map<number, Promise<Loaded>>()
  readonly #s: Sched
  readonly #timeout: number
  /** Modules being imported now. */
  readonly importing: Set<string> = new Set()
  /** Those among them that have taken too long: nobody waits for them again. */
  readonly #late = new Set<string>()
  /** Those whose import failed, though they may have defined tasks before that. */
  readonly #broken = new Set<string>()

  constructor(s: Sched, timeout: number) {
    this.#s = s
    this.#timeout = timeout
  }

  /** The task with this number if it can be had without an import. */
  known(id: number): TaskDef | undefined {
    const def = this.#defs[id]
    if (def !== undefined) return def
    const key = this.#key(id)
    const found = this.#defined(key) ?? this.#compile(key)
    if (found !== undefined) this.remember(id, found)
    return found
  }

  /** A task whose module has been evaluated to its end: before that, what the task uses may not be there. */
  #defined(key: string): TaskDef | undefined {
    const def = lookUp(key)
    return def === undefined || this.importing.has(def.module) || this.#broken.has(def.module) ? undefined : def
  }

  /** Pairs a task of this thread with its number. */
  remember(id: number, def: TaskDef): void {
    def.id = id
    def.pool = this.#s
    this.#defs[id] = def
  }

  /** Stands for a task whose module is being imported. */
  placeholder(id: number): TaskDef {
    const { module, name } = unpackKey(this.#key(id))
    return {
      name,
      module,
      key: "",
      fn: () => undefined,
      effect: false,
      codec: undefined,
      layer: undefined,
      async: false,
      id,
      pool: undefined,
    }
  }

  /** Imports the task's module. Never rejects, and settles within the time-out. */
  load(id: number): Promise<Loaded> {
    let loading = this.#loading.get(id)
    if (loading === undefined) {
      loading = this.#import(id)
      this.#loading.set(id, loading)
      loading.then(() => this.#loading.delete(id))
    }
    return loading
  }

  async #import(id: number): Promise<Loaded> {
    const { module, name, source } = unpackKey(this.#key(id))
    if (source !== "") return this.#recompile({ module, name, source })
    const tooLate = new NotFound(module, `its module has not finished loading after ${this.#timeout} ms`)
    if (this.#late.has(module)) return tooLate
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<NotFound>((resolve) => {
      timer = setTimeout(() => resolve(tooLate), this.#timeout)
    })
    this.importing.add(module)
    const imported = import(specifierOf(module)).then(
      () => undefined,
      (error) => new NotFound(module, `importing it failed: ${describe(error)}`, isUnguarded(error, module)),
    )
    imported.then((problem) => {
      this.importing.delete(module)
      if (problem === undefined) this.#broken.delete(module)
      else this.#broken.add(module)
      this.#late.delete(module)
    })
    const problem = await Promise.race([imported, late])
    clearTimeout(timer)
    if (problem === tooLate) this.#late.add(module)
    if (problem !== undefined) return problem
    return this.known(id) ?? new NotFound(
      module,
      adviceOnCopies() ??
        `the module defines no task of that name when a machine imports it; define "${name}" at its top level, ` +
          "outside any condition",
    )
  }

  #recompile(parts: TaskKey): Loaded {
    try {
      return learn(parts, compileSource(parts.source, parts.name))
    } catch (error) {
      return new NotFound("the source that was sent", describe(error))
    }
  }

  #compile(key: string): TaskDef | undefined {
    const parts = unpackKey(key)
    if (parts.source === "") return undefined
    try {
      return learn(parts, compileSource(parts.source, parts.name))
    } catch {
      return undefined // `load` compiles it again, to tell why it cannot
    }
  }

  #key(id: number): string {
    return textDecoder.decode(taskBytes(this.#s, id))
  }
}
