import { Buffer } from "node:buffer"
import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"
import * as zlib from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { sumLine } from "../examples/checksum.ts"
import { visit } from "../examples/crawler_tasks.ts"
import { paintRows } from "../examples/mandelbrot_tasks.ts"
import { runOn } from "../src/promise.ts"
import { currentRuntime, type RunOptions, runScript, startScript } from "./support/run.ts"

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

describe("mandelbrot", () => {
  interface Chunk {
    readonly type: string
    readonly data: Buffer
  }

  /** The chunks of a PNG file. */
  const chunksOf = (file: Buffer): ReadonlyArray<Chunk> => {
    expect([...file.subarray(0, 8)]).toEqual([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
    const chunks: Array<Chunk> = []
    for (let at = 8; at < file.length;) {
      const length = file.readUInt32BE(at)
      const [type, data, end] = [file.toString("latin1", at + 4, at + 8), at + 8, at + 8 + length]
      // Node has it from 20.15 on.
      if ("crc32" in zlib) expect(file.readUInt32BE(end)).toBe(zlib.crc32(file.subarray(at + 4, end)))
      chunks.push({ type, data: file.subarray(data, end) })
      at = end + 4
    }
    return chunks
  }

  it("writes a picture that decodes, and is the one that a single thread paints", async () => {
    // Odd sizes, so that the last task has fewer rows than the others.
    const [width, height] = [301, 203]
    const path = join(temporary, "picture.png")
    const { code, stderr, stdout } = await runScript(example("mandelbrot"), [path, `${width}`, `${height}`], {
      denoFlags: [`--allow-read=${root}`, `--allow-write=${temporary}`],
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toMatch(/^the same as painted by one thread$/m)

    const chunks = chunksOf(readFileSync(path))
    expect(chunks.map(({ type }) => type)).toEqual(["IHDR", "IDAT", "IEND"])
    const [header, image] = chunks
    expect([header.data.readUInt32BE(0), header.data.readUInt32BE(4)]).toEqual([width, height])
    // Eight bits, RGB, and the only method there is of each kind.
    expect([...header.data.subarray(8)]).toEqual([8, 2, 0, 0, 0])
    const expected = new Uint8Array(height * (1 + 3 * width))
    paintRows(expected, width, height, 0, height)
    expect(Buffer.compare(zlib.inflateSync(image.data), expected)).toBe(0)
    // Neither empty nor plain.
    expect(new Set(expected).size).toBe(256)
  })

  it("explains itself when the size makes no sense", async () => {
    const { code, stderr, stdout } = await runScript(example("mandelbrot"), [join(temporary, "none.png"), "0"])
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr).toMatch(/^usage: /)
  })
})

describe("nqueens", () => {
  const nqueens = (n: string) => runScript(example("nqueens"), [n], { denoFlags: [`--allow-read=${root}`] })

  it.each([["1", 1], ["12", 14_200]])("counts the ways for %s queens", async (n, ways) => {
    const { code, stderr, stdout } = await nqueens(n)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toContain(`${n} queens: ${ways} ways, as published\n`)
    expect(stdout).toMatch(/^P0 /m)
    // Each G is spawned by another but the first, and runs once, wherever it runs.
    const [, run, , spawned] = stdout.match(/^all .*$/m)![0].replaceAll(",", "").split(/ +/).map(Number)
    expect(run).toBe(spawned + 1)
  })

  it("explains itself when there is no such board", async () => {
    const { code, stderr } = await nqueens("x")
    expect(code).toBe(2)
    expect(stderr).toMatch(/^usage: /)
  })
})

describe("single_file", () => {
  it("runs tasks of the script that it is", async () => {
    const result = await runScript(example("single_file"), [], { denoFlags: [`--allow-read=${root}`] })
    expect(result).toEqual({ code: 0, stdout: "9592 primes below 100000, DONE!\n", stderr: "" })
  })
})

describe("merge_sort", () => {
  it.each(["1", "100000"])("sorts %s numbers as the runtime does", async (count) => {
    const { code, stderr, stdout } = await runScript(example("merge_sort"), [count], {
      denoFlags: [`--allow-read=${root}`],
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toMatch(/ numbers: sorted$/m)
    // Each G is spawned by another but the first. One that comes before the memory it refers to is taken once more.
    const [, run, , spawned] = stdout.match(/^all .*$/m)![0].replaceAll(",", "").split(/ +/).map(Number)
    expect(run).toBeGreaterThan(spawned)
    if (count !== "1") expect(spawned).toBeGreaterThan(1)
  })

  it("explains itself when the count makes no sense", async () => {
    const { code, stderr } = await runScript(example("merge_sort"), ["0"])
    expect(code).toBe(2)
    expect(stderr).toMatch(/^usage: /)
  })
})

describe("layers", () => {
  it("opens and closes everything in order", async () => {
    const { code, stderr, stdout } = await runScript(example("layers"), [], { denoFlags: [`--allow-read=${root}`] })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout.trimEnd().split("\n")).toEqual([
      "store opens",
      "pool opens, with 2 workers",
      "longest up to 1000: 871, computed",
      "longest up to 300000: 230631, computed",
      "longest up to 1000: 871, remembered",
      "pool has closed: every worker has ended",
      "store closes, with 2 entries",
    ])
  })
})

describe("pipeline", () => {
  const pipeline = (args: ReadonlyArray<string>) =>
    runScript(example("pipeline"), args, { denoFlags: [`--allow-read=${root},${temporary}`] })

  it("counts what is in a log, and leaves out what is no request", async () => {
    const path = join(temporary, "access.log")
    const requests = Array.from({ length: 12_345 }, (_, i) => {
      const [page, status] = [["/a", "/b?q=1", "/c"][i % 3], i % 5 === 0 ? 404 : 200]
      return `10.0.0.1 - - [05/Jan/2026:12:00:00 +0000] "GET ${page} HTTP/1.1" ${status} ${i % 5 === 0 ? "-" : 10}`
    })
    writeFileSync(path, ["# a comment", ...requests, "not a request", ""].join("\n"))
    const { code, stderr, stdout } = await pipeline([path])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout.split("\n").slice(1, 4).map((row) => row.split(/ +/))).toEqual([
      ["/a", "4,115", "823", "32,920"],
      ["/b", "4,115", "823", "32,920"],
      ["/c", "4,115", "823", "32,920"],
    ])
    expect(stdout).toContain("12,345 requests on ")
  })

  it("reads no further ahead than it says", async () => {
    const { code, stderr, stdout } = await pipeline([])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const [, requests, workers, most, batches] = stdout
      .match(/^(200,000) requests on (\d+) workers .* at most (\d+) of (\d+) batches in memory$/m)!.map(Number)
    expect(requests).toBeNaN() // it has a comma, and was matched
    expect(batches).toBe(40)
    // Two stages of two batches for each worker, and what is handed over between them.
    expect(most).toBeLessThanOrEqual(4 * workers + 4)
  })

  it("says that a log is not there", async () => {
    const { code, stderr, stdout } = await pipeline([join(temporary, "nowhere.log")])
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toMatch(/^pipeline: .*nowhere\.log/)
  })
})

describe("crawler", () => {
  it("finds every page, with many fetches in progress on few threads", async () => {
    const { code, stderr, stdout } = await runScript(example("crawler"), ["48"], {
      denoFlags: [`--allow-read=${root}`, "--allow-net=127.0.0.1"],
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toMatch(/^400 pages, /)
    expect(stdout).toContain("broken links: /page/400\n")
    const most = Number(stdout.match(/^fetches in progress: (\d+) at most, on 2 workers$/m)![1])
    // How many there are at once is a matter of time, but not that there is a limit.
    expect(most).toBeGreaterThan(24)
    expect(most).toBeLessThanOrEqual(48)
    const counts = stdout.match(/^(?:threads|workers): (\d+) before, (\d+) with 24 fetches in progress$/m)
    // The runtime may start a few of its own meanwhile, but not one for each fetch.
    if (counts !== null) expect(Number(counts[2]) - Number(counts[1])).toBeLessThan(12)
    if (process.platform === "linux") expect(counts).not.toBeNull()
  })

  it("says what it could not fetch", async () => {
    const url = "http://127.0.0.1:1/page/7"
    await expect(runOn(1, [visit(url)])).rejects.toMatchObject({
      _tag: "Unreachable",
      url,
      message: `Transport error (GET ${url})`,
    })
  })
})

describe("server", () => {
  const start = () =>
    startScript(example("server"), ["0"], { denoFlags: [`--allow-read=${root}`, "--allow-net=127.0.0.1"] })

  it("answers while it computes, and ends when it is asked to", async () => {
    const server = start()
    const url = (await server.firstLine).split(" ")[0]
    const small = await fetch(`${url}/primes?to=100000`)
    expect(await small.json()).toMatchObject({ to: 100_000, primes: 9592 })
    expect((await fetch(`${url}/primes?to=x`)).status).toBe(400)
    expect((await fetch(`${url}/`)).status).toBe(404)

    // Enough of them for all workers; each would take minutes.
    const leave = new AbortController()
    let computed = 0
    const large = Array.from(
      { length: 8 },
      () => fetch(`${url}/primes?to=100000000`, { signal: leave.signal }).then(() => computed++, (error) => error.name),
    )
    for (let i = 0; i < 20; i++) expect(await (await fetch(`${url}/health`)).text()).toBe("fine\n")
    expect(computed).toBe(0)
    // Clients that go away free the workers.
    leave.abort()
    expect(await Promise.all(large)).toEqual(Array.from({ length: 8 }, () => "AbortError"))
    expect(await (await fetch(`${url}/primes?to=1000`)).json()).toMatchObject({ primes: 168 })

    server.kill("SIGTERM")
    const { code, stderr } = await server.result
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  })
})
