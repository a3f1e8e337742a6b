// Plain JavaScript without a dependency, like all of scripts/: it runs before anything is installed.
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"
import { binaries, root } from "./runtimes.mjs"

const readPackages = (path) => {
  try {
    return JSON.parse(readFileSync(path, "utf8")).packages ?? {}
  } catch {
    return {}
  }
}

/**
 * True if node_modules holds what package-lock.json asks for. npm writes the hidden lockfile as the last act of an
 * install, so an interrupted one is not taken for a whole one. Optional packages are those of other platforms.
 */
const isInstalled = () => {
  const installed = readPackages(join(root, "node_modules/.package-lock.json"))
  return Object.entries(readPackages(join(root, "package-lock.json"))).every(([path, wanted]) => {
    if (path === "") return true
    const found = installed[path]
    if (found === undefined) return wanted.optional === true
    return found.version === wanted.version && found.integrity === wanted.integrity && existsSync(join(root, path))
  })
}

const must = (command, args) => {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] })
  if (status === 0) return
  console.error(`${[command, ...args].join(" ")} failed: ${error?.message ?? `exit code ${status}`}`)
  process.exit(1)
}

const npm = (...args) => {
  // Under `npm run` this is the very npm that was called; it also spares us npm.cmd on Windows.
  const cli = process.env.npm_execpath
  if (cli?.endsWith(".js")) must(process.execPath, [cli, ...args])
  else must("npm", args)
}

/** Installs what package-lock.json asks for, unless it is there. `npm ci` never writes the lockfile. */
export const install = () => {
  if (!isInstalled()) {
    console.error("Installing dependencies (npm ci)")
    npm("ci", "--include=dev", "--include=optional", "--no-audit", "--no-fund")
  }
  // Both packages put the real binary in place in a postinstall script, which npm skips under `ignore-scripts`.
  for (const { path, postinstall } of Object.values(binaries)) {
    if (spawnSync(path, ["--version"], { stdio: "ignore" }).status !== 0) must(process.execPath, [postinstall])
  }
}
