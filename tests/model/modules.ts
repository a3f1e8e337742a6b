/**
 * Loads TypeScript modules as data: types stripped, parsed, imports resolved. Patches and constants are applied to the
 * source first, so a broken or a smaller scheduler is checked by the same means as the one that ships.
 */
import { readFileSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseAst, transformWithEsbuild } from "vite"

/** A node of the syntax tree (ESTree). Which fields there are follows from `type`. */
// deno-lint-ignore no-explicit-any
export type Node = any

/** A module whose imports are resolved. */
export interface Module {
  /** File name without extension; unique among the modules loaded together. */
  readonly name: string
  /** JavaScript. */
  readonly code: string
  readonly body: ReadonlyArray<Node>
  /** Local name to the module and name that it stands for. */
  readonly imports: ReadonlyMap<string, { readonly module: string; readonly name: string }>
  /** Names declared at the top, with their initial value or function. */
  readonly top: ReadonlyMap<string, Node>
}

/** A change of a source text: `find` must occur exactly once. */
export interface Patch {
  /** File name with extension. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

/** What is changed before modules are read. */
export interface Changes {
  /** New initial values of top-level constants, by `module.NAME`. */
  readonly constants?: Readonly<Record<string, number>>
  readonly patches?: ReadonlyArray<Patch>
}

export const here: string = dirname(fileURLToPath(import.meta.url))
export const schedulerDir: string = resolve(here, "../../src/internal/scheduler")

/** Applies the patches of one file. Throws if one does not fit exactly once. */
export function patched(file: string, source: string, patches: ReadonlyArray<Patch>): string {
  let text = source
  for (const patch of patches) {
    if (patch.file !== file) continue
    const found = text.split(patch.find).length - 1
    if (found !== 1) throw new Error(`a patch of ${file} fits ${found} times instead of once: ${patch.find}`)
    text = text.split(patch.find).join(patch.replace)
  }
  return text
}

/** Loads the given files and what they import, dependencies first. */
export async function loadModules(files: ReadonlyArray<string>, changes: Changes = {}): Promise<Array<Module>> {
  const loaded = new Map<string, Module>()
  const order: Array<Module> = []
  const constants = new Map(Object.entries(changes.constants ?? {}))
  const visit = async (path: string): Promise<Module> => {
    const known = loaded.get(path)
    if (known !== undefined) return known
    const file = basename(path)
    const name = file.replace(/\.ts$/, "")
    let source = patched(file, readFileSync(path, "utf8"), changes.patches ?? [])
    for (const [key, value] of constants) {
      const [module, constant] = key.split(".")
      if (module !== name) continue
      const declaration = new RegExp(`^(export )?const ${constant} = .*$`, "m")
      if (!declaration.test(source)) throw new Error(`there is no constant ${key}`)
      source = source.replace(declaration, `$1const ${constant} = ${value}`)
      constants.delete(key)
    }
    const options = { loader: "ts", target: "esnext", sourcemap: false } as const
    // Compiler options are given here, so that the file's own project is not looked up.
    const { code } = await transformWithEsbuild(source, path, { ...options, tsconfigRaw: "{}" })
    const body = (parseAst(code) as Node).body as Array<Node>
    const imports = new Map<string, { module: string; name: string }>()
    for (const node of body) {
      const from = node.source?.value as string | undefined
      if (from === undefined || !from.startsWith(".")) continue
      const dependency = await visit(join(dirname(path), from))
      if (node.type !== "ImportDeclaration") continue
      for (const { imported, local } of node.specifiers) {
        const target = resolveExport(dependency, imported.name, loaded)
        if (target === undefined) throw new Error(`${file} imports ${imported.name}, which is not in ${from}`)
        imports.set(local.name, target)
      }
    }
    const module = { name, code, body, imports, top: topLevel(body) }
    loaded.set(path, module)
    order.push(module)
    return module
  }
  for (const file of files) await visit(file)
  if (constants.size > 0) throw new Error(`no module has ${[...constants.keys()].join(", ")}`)
  return order
}

/** Follows `export *`. */
function resolveExport(
  module: Module,
  name: string,
  loaded: ReadonlyMap<string, Module>,
): { module: string; name: string } | undefined {
  if (module.top.has(name)) return { module: module.name, name }
  if (module.imports.has(name)) return module.imports.get(name)
  for (const node of module.body) {
    if (node.type !== "ExportAllDeclaration") continue
    const file = basename(node.source.value as string).replace(/\.ts$/, "")
    const next = [...loaded.values()].find((other) => other.name === file)
    const found = next === undefined ? undefined : resolveExport(next, name, loaded)
    if (found !== undefined) return found
  }
  return undefined
}

function topLevel(body: ReadonlyArray<Node>): Map<string, Node> {
  const top = new Map<string, Node>()
  for (const statement of body) {
    const node = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement
    if (node?.type === "FunctionDeclaration" || node?.type === "ClassDeclaration") top.set(node.id.name, node)
    else if (node?.type === "VariableDeclaration") {
      for (const { id, init } of node.declarations) top.set(id.name, init)
    }
  }
  return top
}

/** JavaScript that makes an object with everything that a module declares; it finds its imports in `N`. */
export function nativeCode(module: Module): string {
  let code = module.code
  for (const node of [...module.body].reverse()) {
    if (node.type === "ImportDeclaration" || node.type === "ExportAllDeclaration") {
      code = code.slice(0, node.start) + code.slice(node.end)
    } else if (node.type === "ExportNamedDeclaration") {
      const kept = node.declaration === null ? "" : code.slice(node.declaration.start, node.end)
      code = code.slice(0, node.start) + kept + code.slice(node.end)
    }
  }
  const names = [...module.top.keys()]
  const imports = [...module.imports].map(([local, { module, name }]) => `const ${local} = N.${module}.${name};`)
  return `N.${module.name} = (() => {\n${imports.join("\n")}\n${code}\nreturn { ${names.join(", ")} } })();`
}
