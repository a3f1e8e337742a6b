// npm run build: src/ to dist/, as JavaScript in a few files, and as declarations.
import { rmSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"
import { bundlePackage } from "./lib/bundle.mjs"
import { exec } from "./lib/exec.mjs"
import { install } from "./lib/install.mjs"
import { root } from "./lib/runtimes.mjs"

install()
// What was deleted from src/ must not stay in the package.
rmSync(join(root, "dist"), { recursive: true, force: true })
const tsc = join(root, "node_modules/typescript/bin/tsc")
process.exitCode = await exec(process.execPath, [tsc, "--project", "tsconfig.build.json"], { cwd: root })
if (process.exitCode === 0) await bundlePackage(join(root, "dist"))
