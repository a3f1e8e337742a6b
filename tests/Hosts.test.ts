import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { currentRuntime, runScript } from "./support/run.ts"

const fixture = (name: string): URL => new URL(`./fixtures/lifetime/${name}`, import.meta.url)

describe.concurrent("A program", () => {
  it("ends by itself at its end, with an idle pool open", async () => {
    expect(await runScript(fixture("idle.ts"), ["an idle pool"])).toEqual({
      code: 0,
      stdout: "sum 3\nend\n",
      stderr: "",
    })
  })

  it("does not end before the calls in flight", async () => {
    const { code, stderr, stdout } = await runScript(fixture("idle.ts"), ["calls in flight"])
    expect(stdout.split("\n").sort()).toEqual(["", "end", "late 0", "late 1", "late 2", "sum 3"])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  })

  it("ends once a cancelled call has ended", async () => {
    expect(await runScript(fixture("idle.ts"), ["a cancelled call"])).toEqual({
      code: 0,
      stdout: "sum 3\nend\n",
      stderr: "",
    })
  })

  it("ends with its own error, whatever the pool does", async () => {
    const { code, stderr } = await runScript(fixture("idle.ts"), ["an unhandled error"])
    expect(code).toBe(1)
    expect(stderr).toContain("the host throws")
  })

  it("ends with the failure of a task that it does not handle", async () => {
    const { code, stderr } = await runScript(fixture("idle.ts"), ["a failure"])
    expect(code).toBe(1)
    expect(stderr).toContain("the task throws")
    expect(stderr).toContain(`task "fails" failed`)
  })

  it("ends with its own exit code while a call runs", async () => {
    expect(await runScript(fixture("idle.ts"), ["process.exit"])).toMatchObject({ code: 7, stderr: "" })
  })

  it("ends after its pool has closed", async () => {
    expect(await runScript(fixture("idle.ts"), ["a closed pool"])).toMatchObject({ code: 0, stdout: "sum 3\nend\n" })
  })

  it("ends after a call to a pool that has closed", async () => {
    expect(await runScript(fixture("idle.ts"), ["a call too late"])).toEqual({
      code: 0,
      stdout: "sum 3\nPoolClosed\nend\n",
      stderr: "",
    })
  })

  it.runIf(currentRuntime === "node")("may give up machines that never finish loading", async () => {
    const stalling = new URL("./fixtures/lifetime/stallsWorkers.mjs", import.meta.url)
    const env = { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ""} --import ${stalling}` }
    expect(await runScript(fixture("givesUp.ts"), [], { env })).toEqual({ code: 0, stdout: "given up\n", stderr: "" })
  })

  it("may hold the tasks that it calls", async () => {
    expect(await runScript(fixture("guarded.ts"))).toEqual({ code: 0, stdout: "a host starts\n[2,4]\n", stderr: "" })
  })

  it("is told to guard itself if it does not, and starts nothing more", async () => {
    const { code, stderr, stdout } = await runScript(fixture("unguarded.ts"))
    expect(code).toBe(1)
    expect(stderr).toContain("if (isMain(import.meta))")
    expect(stderr).toContain("unguarded.ts")
    // Once by itself, and once by each machine that imported it.
    expect(stdout.split("a host starts").length - 1).toBeLessThanOrEqual(3)
  })
  it("is told to keep this package out of its bundle", async () => {
    const bun = join(dirname(createRequire(import.meta.url).resolve("bun/package.json")), "bin/bun.exe")
    const dir = mkdtempSync(join(tmpdir(), "runon-bundle-"))
    try {
      const bundle = join(dir, "main.mjs")
      execFileSync(bun, ["build", fileURLToPath(fixture("guarded.ts")), "--target=node", `--outfile=${bundle}`])
      const { code, stderr } = await runScript(bundle)
      expect(code).toBe(1)
      expect(stderr).toContain('keep "runon" external to bundles')
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  })
})
