// npm run bench [-- --runtime node|deno|bun|all] [name] [arguments]: every bench/*.ts is a program of its own.
import { readdirSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"
import { compileForNode } from "./lib/compile.mjs"
import { exec } from "./lib/exec.mjs"
import { install } from "./lib/install.mjs"
import { root, scriptCommand, selectRuntimes, takeOption } from "./lib/runtimes.mjs"

const args = process.argv.slice(2)
const chosen = selectRuntimes(takeOption(args, "--runtime"))
const names = readdirSync(join(root, "bench")).filter((file) => file.endsWith(".ts")).map((file) => file.slice(0, -3))
const only = args[0]?.startsWith("-") ? undefined : args.shift()
const selected = names.filter((name) => only === undefined || name === only).sort()
if (selected.length === 0) {
  console.error(`no such benchmark: ${only} (there are ${names.sort().join(", ")})`)
  process.exit(2)
}

install()
// On Node in the form that the package ships.
if (chosen.includes("node")) await compileForNode()
const programOf = (runtime, name) =>
  runtime === "node" ? join(root, ".node/bench", `${name}.js`) : join(root, "bench", `${name}.ts`)
for (const name of selected) {
  for (const runtime of chosen) {
    console.log(`\n── ${name} on ${runtime} ──`)
    const code = await exec(...scriptCommand(runtime, programOf(runtime, name), args), { cwd: root })
    if (code !== 0) process.exitCode = 1
  }
}
