// npm run check:model [-- --mutations | --model NAME ...]: explores the scheduler; see tests/model/README.md.
import { join } from "node:path"
import process from "node:process"
import { exec } from "./lib/exec.mjs"
import { install } from "./lib/install.mjs"
import { root } from "./lib/runtimes.mjs"

install()
const main = join(root, "tests", "model", "main.ts")
process.exitCode = await exec(process.execPath, ["--import", "tsx", main, ...process.argv.slice(2)], { cwd: root })
