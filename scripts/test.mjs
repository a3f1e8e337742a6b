// npm test [-- --runtime node,deno,bun] [vitest arguments]: one suite, on every runtime, and one line of totals.
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { exec } from "./lib/exec.mjs"
import { compileForNode } from "./lib/compile.mjs"
import { install } from "./lib/install.mjs"
import { root, selectRuntimes, takeOption, vitestCommand } from "./lib/runtimes.mjs"

const args = process.argv.slice(2)
const chosen = selectRuntimes(takeOption(args, "--runtime") ?? process.env.RUNTIMES)
const timeout = 15 * 60_000

const readReport = (path) => {
  try {
    return JSON.parse(readFileSync(path, "utf8"))
  } catch {
    return undefined
  }
}

const count = (report) => {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const file of report?.testResults ?? []) {
    const statuses = file.assertionResults.map((test) => test.status)
    for (const status of statuses) counts[status in counts ? status : "skipped"]++
    // A file that could not be loaded has no failed test to show, and is one failure.
    if (file.status === "failed" && !statuses.includes("failed")) counts.failed++
  }
  return counts
}

const format = ({ passed, failed, skipped }) =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`

install()

const dir = mkdtempSync(join(tmpdir(), "runon-test-"))
const total = { passed: 0, failed: 0, skipped: 0 }
const lines = []
try {
  for (const runtime of chosen) {
    console.log(`\n── ${runtime} ──`)
    if (runtime === "node") await compileForNode()
    const output = join(dir, `${runtime}.json`)
    const [command, commandArgs] = vitestCommand(runtime, [
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${output}`,
      ...args,
    ])
    const code = await exec(command, commandArgs, {
      cwd: root,
      env: { RUNON_RUNTIME: runtime, ...(runtime === "node" ? { RUNON_COMPILED: "1" } : {}) },
      timeout,
    })
    const counts = count(readReport(output))
    let note = ""
    if (counts.failed === 0 && code !== 0) {
      // An error outside any test, or a crash of the runner.
      counts.failed = 1
      note = ` (vitest ended with exit code ${code})`
    } else if (counts.passed + counts.failed === 0 && args.length === 0) {
      counts.failed = 1
      note = " (no test ran)"
    }
    for (const key of Object.keys(total)) total[key] += counts[key]
    lines.push(`${runtime}: ${format(counts)}${note}`)
  }
} finally {
  rmSync(dir, { recursive: true, force: true })
}

// Filters may leave nothing to run on one runtime, but not on all of them.
if (total.passed + total.failed === 0) {
  lines.push("no test ran at all")
  process.exitCode = 1
}
if (total.failed > 0) process.exitCode = 1
console.log(`\n${lines.join("\n")}\n${format(total)}`)
