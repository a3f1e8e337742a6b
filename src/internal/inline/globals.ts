/** Which names mean on a machine what they mean where a task is defined. */

/** Whether it is the name of a built-in module. */
export const isBuiltin = (name: string): boolean => process.getBuiltinModule("node:module").isBuiltin(name)

/** The main thread's own, or each thread's: a machine lacks them, or they are something else there. */
const ownOfThread: ReadonlySet<string> = new Set([
  "alert",
  "close",
  "closed",
  "confirm",
  "document",
  "event",
  "localStorage",
  "location",
  "name",
  "onbeforeunload",
  "onerror",
  "onload",
  "onmessage",
  "onmessageerror",
  "onunhandledrejection",
  "onunload",
  "opener",
  "parent",
  "postMessage",
  "prompt",
  "sessionStorage",
  "status",
  "top",
  "window",
])

/** Some hosts (`node --eval`, consoles) put what is a module's own into the global object, on the main thread only. */
const ownOfModule: ReadonlySet<string> = new Set(["__dirname", "__filename", "exports", "module", "require"])

/** Built-in modules whose names are globals as well, and everywhere. */
const globalModules: ReadonlySet<string> = new Set(["console", "crypto", "process"])

/** What some runtimes have and others lack; programs ask with `typeof`. */
const ofSomeRuntimes: ReadonlySet<string> = new Set([
  "Buffer",
  "Bun",
  "Deno",
  "WorkerGlobalScope",
  "document",
  "global",
  "navigator",
  "process",
  "self",
  "window",
])

/**
 * Whether a free name is a global that machines have. The name is all there is to go by: a variable that is named like
 * a global hides it from the function, but not from its source.
 */
export const isGlobal = (name: string): boolean =>
  name in globalThis &&
  // Everything inherits these, the global object too, but nobody means that by them.
  !(name in Object.prototype) &&
  !ownOfThread.has(name) &&
  !ownOfModule.has(name) &&
  (!isBuiltin(name) || globalModules.has(name))

/** Whether a function that asks with `typeof` if there is such a global may use it, even where it is missing. */
export const isOptionalGlobal = (name: string): boolean => ofSomeRuntimes.has(name)

/** Why a name that is refused is not what one might think. */
export const hintFor = (name: string): string | undefined => {
  if (ownOfThread.has(name) && name in globalThis) {
    return `A global "${name}" belongs to one thread and is not for tasks.`
  }
  if (name === "arguments") return "An arrow function has no `arguments` of its own: use a rest parameter."
  if (ownOfModule.has(name)) {
    return `"${name}" belongs to one module: use \`await import("node:…")\` for built-in modules.`
  }
  if (/^__vi(te_ssr)?_/.test(name)) return `"${name}" is an import, as Vitest rewrites it.`
  if (name.startsWith("__")) {
    return `"${name}" may be a helper that a compiler has put in: compile for a newer target, such as ES2022.`
  }
  return undefined
}
