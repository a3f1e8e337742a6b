// Compiles sources, tests, examples and benchmarks to JavaScript in .node/. On Node 20 a worker that loads TypeScript through tsx
// takes several times longer to start than one that loads JavaScript, and JavaScript is what the package ships.
import { execFileSync } from "node:child_process"
import { cpSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"
import { bundleForTests } from "./bundle.mjs"
import { root } from "./runtimes.mjs"

const out = join(root, ".node")

// File names in strings, which the compiler leaves alone: `new URL("./tasks.ts", import.meta.url)`.
const fileNames = /(?<=[\w}-])\.ts(?=(\?[^"'`\s]*)?["'`\s])/g

export const compileForNode = async () => {
  rmSync(out, { recursive: true, force: true })
  const tsc = join(root, "node_modules/typescript/bin/tsc")
  execFileSync(process.execPath, [tsc, "-p", join(root, "tsconfig.node.json")], { stdio: "inherit", cwd: root })
  const files = (dir) =>
    readdirSync(join(root, dir), { withFileTypes: true, recursive: true }).map((entry) =>
      join(entry.parentPath ?? entry.path, entry.name).slice(root.length)
    )
  for (const file of files(".node")) {
    if (!file.endsWith(".js")) continue
    const path = join(root, file)
    const code = readFileSync(path, "utf8")
    writeFileSync(path, code.replace(fileNames, ".js"))
  }
  await bundleForTests(join(out, "src"))
  // For tests that look there for what they run.
  symlinkSync(join(root, "node_modules"), join(out, "node_modules"), "junction")
  for (const file of [...files("tests/fixtures"), ...files("bench")]) {
    if (/\.mjs$/.test(file)) cpSync(join(root, file), join(out, file))
  }
}
