/**
 * Whether a module is the program.
 *
 * @since 0.1.0
 */
import { currentMachine } from "./internal/machine/current.ts"

/**
 * Whether the module with this `import.meta` is the one that the process was started with. False in a machine, which
 * imports that module too if it holds tasks. Works on Deno, on Bun, and on Node from 20 on, also under tsx. Throws a
 * `TypeError` for anything but an `import.meta`.
 *
 * @example
 * import { isMain } from "runon"
 *
 * if (isMain(import.meta)) {
 *   console.log("this is the program")
 * }
 *
 * @since 0.1.0
 * @category utils
 */
export const isMain = (meta: ImportMeta): boolean => {
  if (typeof meta !== "object" || typeof meta?.url !== "string") {
    throw new TypeError("isMain takes the module's import.meta: isMain(import.meta)")
  }
  if (currentMachine() !== undefined) return false
  const { main } = meta as { readonly main?: boolean }
  if (typeof main === "boolean") return main
  const { isMainThread } = process.getBuiltinModule("node:worker_threads")
  const { realpathSync } = process.getBuiltinModule("node:fs")
  const { pathToFileURL } = process.getBuiltinModule("node:url")
  const entry = process.argv[1]
  if (!isMainThread || entry === undefined) return false
  try {
    return pathToFileURL(realpathSync(entry)).href === meta.url.replace(/[?#].*$/, "")
  } catch {
    return false // not a file: `node --eval`, for example
  }
}
