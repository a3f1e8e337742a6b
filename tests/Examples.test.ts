import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { sumLine } from "../examples/checksum.ts"
import { currentRuntime, type RunOptions, runScript } from "./support/run.ts"

const root = fileURLToPath(new URL("../", import.meta.url))
const example = (name: string): string => join(root, "examples", `${name}.ts`)

let temporary = ""
beforeAll(() => {
  temporary = mkdtempSync(join(tmpdir(), "runon-examples-"))
})
afterAll(() => rmSync(temporary, { recursive: true, force: true }))

describe("checksum", () => {
  const checksum = (cwd: string, args: ReadonlyArray<string>, options: RunOptions = {}) =>
    runScript(example("checksum"), args, { cwd, denoFlags: [`--allow-read=${root},${cwd}`], ...options })

  /** What `sha256sum -c` has to say about sums: nothing, and 0, if it accepts them. */
  const check = (cwd: string, sums: string): Promise<{ readonly code: number | null; readonly output: string }> =>
    new Promise((resolve, reject) => {
      const child = spawn("sha256sum", ["--quiet", "--strict", "-c", "-"], { cwd, stdio: ["pipe", "pipe", "pipe"] })
      let output = ""
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => output += data)
      child.on("error", reject)
      child.on("close", (code) => resolve({ code, output }))
      child.stdin.end(sums)
    })

  const hasSha256sum = spawnSync("sha256sum", ["--version"]).status === 0
  // Skipped where the judge is not installed.
  const itChecks = (also = true) => it.runIf(hasSha256sum && also)
  const onUnix = process.platform !== "win32"
  const asRoot = process.getuid?.() === 0

  const countFiles = (directory: string): number =>
    readdirSync(directory, { withFileTypes: true }).reduce(
      (sum, entry) => sum + (entry.isDirectory() ? countFiles(join(directory, entry.name)) : Number(entry.isFile())),
      0,
    )

  const newDirectory = (name: string): string => {
    const path = join(temporary, name)
    mkdirSync(path)
    return path
  }

  itChecks()("agrees with sha256sum about thousands of files, and leaves no worker", async () => {
    const { code, stderr, stdout } = await checksum(root, ["--workers", "2", "node_modules/effect"])
    expect(stderr).toMatch(/^P0 .*\nP1 .*\nall /m)
    // Under narrow permissions Deno shows the workers, and not the threads.
    if (process.platform === "linux") expect(stderr).toMatch(/^(threads|workers): \d+ before.* 0 left/m)
    const lines = stdout.trimEnd().split("\n")
    const expected = countFiles(join(root, "node_modules/effect"))
    expect(expected).toBeGreaterThan(1000)
    expect(new Set(lines).size).toBe(expected)
    expect(await check(root, stdout)).toEqual({ code: 0, output: "" })
    expect(code).toBe(0)
  })

  itChecks(onUnix)("writes names as sha256sum does, whatever is in them", async () => {
    const directory = newDirectory("names")
    const names = [
      "with space",
      " both ends ",
      "new\nline",
      "back\\slash",
      "both\\n\n",
      "\\",
      "-",
      "--workers",
      "*star",
      "tab\t",
      "quote'\"",
      "ünï – 漢字 🦕",
      "__proto__",
      ".hidden",
    ]
    for (const name of names) writeFileSync(join(directory, name), name)
    writeFileSync(join(directory, "empty"), "")
    mkdirSync(join(directory, "-dir \n", "deeper"), { recursive: true })
    writeFileSync(join(directory, "-dir \n", "deeper", "file"), "x".repeat(300_000))
    // Not followed, so that neither a loop nor a dangling one is met.
    symlinkSync(".", join(directory, "loop"))
    symlinkSync("nowhere", join(directory, "dangling"))
    symlinkSync("empty", join(directory, "link"))
    // Whoever opened it would wait for a writer.
    spawnSync("mkfifo", [join(directory, "pipe")])

    for (const [cwd, argument] of [[temporary, "names//"], [directory, "."]]) {
      const { code, stderr, stdout } = await checksum(cwd, [argument])
      expect(stderr).toMatch(new RegExp(`^${names.length + 2} files, `, "m"))
      expect(stdout.trimEnd().split("\n").length).toBe(names.length + 2)
      expect(await check(cwd, stdout)).toEqual({ code: 0, output: "" })
      expect(code).toBe(0)
    }
    const { stdout } = await checksum(directory, ["./-dir \n"])
    expect(await check(directory, stdout)).toEqual({ code: 0, output: "" })
    expect(stdout).toMatch(/^\\[0-9a-f]{64} {2}\.\/-dir \\n\/deeper\/file\n$/)
  })

  it("marks a line with an escaped name", () => {
    expect(sumLine("0a", "plain")).toBe("0a  plain\n")
    expect(sumLine("0a", "a\\b\nc\rd")).toBe("\\0a  a\\\\b\\nc\\rd\n")
  })

  it("has nothing to say about an empty directory", async () => {
    const { code, stderr, stdout } = await checksum(newDirectory("empty"), ["."])
    expect({ code, stderr, stdout }).toEqual({ code: 0, stderr: "no files\n", stdout: "" })
  })

  itChecks(onUnix && !asRoot)("reports what it may not read, and sums up the rest", async () => {
    const directory = newDirectory("forbidden")
    for (const name of ["a", "b", "c"]) writeFileSync(join(directory, name), name)
    mkdirSync(join(directory, "d"), { mode: 0o000 })
    spawnSync("chmod", ["000", join(directory, "b")])
    const { code, stderr, stdout } = await checksum(directory, ["."])
    spawnSync("chmod", ["700", join(directory, "d")])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^checksum: .\/b: /m)
    expect(stderr).toMatch(/^checksum: .\/d: /m)
    expect(stdout.split("\n").length).toBe(3)
    expect(await check(directory, stdout)).toEqual({ code: 0, output: "" })
  })

  itChecks(process.platform === "linux")("reports a name that is not UTF-8, and sums up the rest", async () => {
    const directory = newDirectory("bytes")
    writeFileSync(join(directory, "fine"), "fine")
    spawnSync("sh", ["-c", `: > "$(printf 'bad\\377')"`], { cwd: directory })
    const { code, stderr, stdout } = await checksum(directory, ["."])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^checksum: .\/bad.*UTF-8$/m)
    expect(await check(directory, stdout)).toEqual({ code: 0, output: "" })
    expect(stdout.split("\n").length).toBe(2)
  })

  it("explains itself when the command line makes no sense", async () => {
    const wrong: ReadonlyArray<ReadonlyArray<string>> = [
      [],
      ["--workers", "0", "."],
      ["--workers"],
      ["--nonsense", "."],
    ]
    for (const args of wrong) {
      const { code, stderr, stdout } = await checksum(temporary, args)
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" })
      expect(stderr).toMatch(/^checksum: .+\n\nusage: /)
    }
  })

  it("says which directory is not there, or is none", async () => {
    const file = join(temporary, "file")
    writeFileSync(file, "")
    for (const [path, reason] of [["nowhere", "no such directory"], ["file", "is not a directory"]]) {
      const { code, stderr, stdout } = await checksum(temporary, [path])
      expect({ code, stderr, stdout }).toEqual({ code: 1, stderr: `checksum: ${path}: ${reason}\n`, stdout: "" })
    }
  })

  it.runIf(currentRuntime === "deno")("needs permission for the directory, and does not ask for it", async () => {
    const { code, stderr } = await checksum(temporary, ["."], { denoFlags: [`--allow-read=${root}`] })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^checksum: \.: Requires read access/)
  })
})
