// npm run fmt: writes what `npm run check` asks for.
import process from "node:process"
import { exec } from "./lib/exec.mjs"
import { install } from "./lib/install.mjs"
import { binaries, root } from "./lib/runtimes.mjs"

install()
process.exitCode = await exec(binaries.deno.path, ["fmt", ...process.argv.slice(2)], { cwd: root })
