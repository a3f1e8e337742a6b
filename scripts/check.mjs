// npm run check: format, lint and types; all steps run even if one fails.
import { join } from "node:path"
import process from "node:process"
import { exec } from "./lib/exec.mjs"
import { install } from "./lib/install.mjs"
import { binaries, root } from "./lib/runtimes.mjs"

install()
const deno = binaries.deno.path
const steps = [
  ["format", deno, ["fmt", "--check"]],
  ["lint", deno, ["lint"]],
  ["types", process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "--noEmit"]],
  ["types on Deno", deno, ["check", "mod.ts"]],
  // What JSR would refuse: public types that must be inferred, files that are missing.
  ["JSR", deno, ["publish", "--dry-run", "--allow-dirty"]],
]
const failed = []
for (const [name, command, args] of steps) {
  console.log(`\n── ${name} ──`)
  if (await exec(command, args, { cwd: root }) !== 0) failed.push(name)
}
console.log(failed.length === 0 ? "\nall checks passed" : `\nfailed: ${failed.join(", ")}`)
process.exitCode = failed.length === 0 ? 0 : 1
