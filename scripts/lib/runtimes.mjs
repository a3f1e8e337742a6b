import { join } from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../../", import.meta.url))

const inModules = (path) => join(root, "node_modules", path)

/** The two runtimes that come from npm: the real binary, and the script that puts it there. */
export const binaries = {
  deno: {
    path: inModules(process.platform === "win32" ? "deno/deno.exe" : "deno/deno"),
    postinstall: inModules("deno/install.cjs"),
  },
  // Called .exe on all platforms.
  bun: { path: inModules("bun/bin/bun.exe"), postinstall: inModules("bun/install.js") },
}

export const runtimes = ["node", "deno", "bun"]

/** `names` is a list such as "node,deno", "all", or undefined, which means all. */
export const selectRuntimes = (names) => {
  if (names === undefined || names === "" || names === "all") return runtimes
  const chosen = names.split(",").map((name) => name.trim())
  const unknown = chosen.filter((name) => !runtimes.includes(name))
  if (unknown.length === 0) return chosen
  console.error(`no such runtime: ${unknown.join(", ")} (there are ${runtimes.join(", ")})`)
  process.exit(2)
}

/** Takes `--name value` or `--name=value` out of `args`. */
export const takeOption = (args, name) => {
  const at = args.findIndex((arg) => arg === name || arg.startsWith(`${name}=`))
  if (at < 0) return undefined
  const [found] = args.splice(at, 1)
  return found === name ? args.splice(at, 1)[0] : found.slice(name.length + 1)
}

/** The command line that runs a TypeScript file. */
export const scriptCommand = (runtime, path, args) => {
  switch (runtime) {
    case "node":
      return [process.execPath, ["--import", "tsx", path, ...args]]
    case "deno":
      return [binaries.deno.path, ["run", "-A", path, ...args]]
    case "bun":
      return [binaries.bun.path, [path, ...args]]
  }
}

/** The command line that runs vitest, in that runtime and not in the node of vitest's own shebang. */
export const vitestCommand = (runtime, args) => {
  const vitest = [inModules("vitest/vitest.mjs"), "run", ...args]
  switch (runtime) {
    case "node":
      return [process.execPath, vitest]
    case "deno":
      return [binaries.deno.path, ["run", "-A", ...vitest]]
    case "bun":
      return [binaries.bun.path, ["--bun", ...vitest]]
  }
}
