// npm start [-- DIR …]: the main demonstration, on Deno, with as few permissions as it can have.
import { resolve } from "node:path"
import process from "node:process"
import { exec } from "./lib/exec.mjs"
import { install } from "./lib/install.mjs"
import { binaries, root } from "./lib/runtimes.mjs"

install()

// npm runs scripts in the package's directory: paths are meant relative to where the user is.
const cwd = process.env.INIT_CWD ?? process.cwd()
const given = process.argv.slice(2)
const args = given.length > 0 ? given : [resolve(root, "node_modules")]

// A worker is loaded by reading its module, so the project must be readable besides what is to be read.
const readable = [root, ...args.filter((arg) => !arg.startsWith("-")).map((arg) => resolve(cwd, arg))]

process.exitCode = await exec(binaries.deno.path, [
  "run",
  "--no-prompt",
  `--config=${resolve(root, "deno.json")}`,
  // A comma separates the paths and cannot be escaped, so one inside a path costs the narrowness.
  readable.some((path) => path.includes(",")) ? "--allow-read" : `--allow-read=${readable.join(",")}`,
  resolve(root, "examples/checksum.ts"),
  ...args,
], { cwd })
