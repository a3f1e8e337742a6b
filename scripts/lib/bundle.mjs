// Puts the compiled modules of src/ into a few files: on Node a machine loads one as large as a hundred in much less time. What
// depends on where it lies is in src/internal/files.ts, and the chunks go to the same folder.
import { readdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"

const MACHINE = "internal/machine/main.js"

/** What is loaded by its name: the package's entries, and what threads start with. */
const entries = [
  "index.js",
  "promise.js",
  "Streams.js",
  "Schemas.js",
  MACHINE,
  "internal/machine/denoBoot.js",
]

const options = {
  format: "esm",
  platform: "node",
  target: "node20",
  bundle: true,
  splitting: true,
  packages: "external",
  // A machine imports the main entry for what it does, not for what it exports: "sideEffects" in package.json is for users.
  ignoreAnnotations: true,
  metafile: true,
  write: false,
  logLevel: "warning",
}

/** Imported late: scripts that use this install what is missing first. */
const bundle = async (dir, modules, more = {}) => {
  const { build } = await import("esbuild")
  return build({ ...options, entryPoints: modules.map((module) => join(dir, module)), outdir: dir, ...more })
}

const nameIn = (dir, path) => relative(dir, path).replaceAll("\\", "/")

const modulesIn = (dir) =>
  readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.name.endsWith(".js"))
    .map((entry) => nameIn(dir, join(entry.parentPath ?? entry.path, entry.name)))

/** Bundles the compiled modules in `dir`, in place, and `more` of them with a name of their own. */
const bundleIn = async (dir, modules, more) => {
  const { outputFiles } = await bundle(dir, [...entries, ...more], {
    outbase: dir,
    chunkNames: "internal/[name]-[hash]",
    sourcemap: "linked",
    sourcesContent: false,
  })
  for (const module of modules) for (const suffix of ["", ".map"]) rmSync(join(dir, module + suffix), { force: true })
  for (const { contents, path } of outputFiles) writeFileSync(path, contents)
}

/** Bundles the package in `dir`. */
export const bundlePackage = (dir) => bundleIn(dir, modulesIn(dir), [])

/** What the modules in `dir` export, by module. */
const exportsIn = async (dir, modules) => {
  const { metafile } = await bundle(dir, modules)
  const outputs = Object.values(metafile.outputs).filter(({ entryPoint }) => entryPoint !== undefined)
  return new Map(outputs.map(({ entryPoint, exports }) => [nameIn(dir, entryPoint), exports]))
}

/** Which of them a machine loads. */
const loadedIn = async (dir) => {
  const { metafile } = await bundle(dir, [MACHINE])
  return new Set(Object.keys(metafile.inputs).map((path) => nameIn(dir, path)))
}

const ALL = "internal/all.js"

/**
 * Bundles the package in `dir` for tests, which import modules from within it: each of them still has its own name, and is
 * the same one that the package uses.
 */
export const bundleForTests = async (dir) => {
  const modules = modulesIn(dir)
  const loaded = await loadedIn(dir)
  const exported = await exportsIn(dir, modules)
  const inside = modules.filter((module) => loaded.has(module) && !entries.includes(module))
  const others = modules.filter((module) => !loaded.has(module) && !entries.includes(module))
  const lines = inside.map((module, i) => `export * as m${i} from ${JSON.stringify(`../${module}`)}`)
  writeFileSync(join(dir, ALL), lines.join("\n"))
  await bundleIn(dir, modules, [ALL, ...others])
  for (const [i, module] of inside.entries()) {
    const from = JSON.stringify(`./${nameIn(dirname(module), ALL)}`)
    writeFileSync(
      join(dir, module),
      `import { m${i} } from ${from}\nexport const { ${exported.get(module).join(", ")} } = m${i}\n`,
    )
  }
}
