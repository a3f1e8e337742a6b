// npm run stress [-- --runtime node|deno|bun|all] [Gs] [kills] [seed]: kills machines while Gs run, and audits each G.
import { join } from "node:path"
import process from "node:process"
import { compileForNode } from "./lib/compile.mjs"
import { exec } from "./lib/exec.mjs"
import { install } from "./lib/install.mjs"
import { root, scriptCommand, selectRuntimes, takeOption } from "./lib/runtimes.mjs"

const args = process.argv.slice(2)
const chosen = selectRuntimes(takeOption(args, "--runtime"))

install()
for (const runtime of chosen) {
  console.log(`── ${runtime} ──`)
  if (runtime === "node") await compileForNode()
  const [command, commandArgs] = runtime === "node"
    ? [process.execPath, [join(root, ".node/tests/stress/kill.js"), ...args]]
    : scriptCommand(runtime, join(root, "tests/stress/kill.ts"), args)
  const code = await exec(command, commandArgs, { cwd: root })
  if (code !== 0) process.exitCode = 1
}
