import { execFile } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { currentRuntime } from "./support/run.ts"

const root = fileURLToPath(new URL("../", import.meta.url))
const modules = join(root, "node_modules")
let dir = ""
let app = ""

const run = async (cwd: string, command: string, ...args: ReadonlyArray<string>) => {
  const { stdout } = await promisify(execFile)(command, args, { cwd, timeout: 120_000 })
  return stdout.trim()
}

const files = {
  "package.json": `{ "type": "module", "private": true }`,
  "exports.mjs": `
    import * as runon from "runon"
    import * as promise from "runon/promise"
    console.log(import.meta.resolve("runon"), typeof runon.runOn, typeof runon.Task.make)
    console.log(import.meta.resolve("runon/promise"), typeof promise.openPool, typeof promise.runOn)
    console.log(typeof (await import("runon/stream")).stream, typeof (await import("runon/schema")).schemaTask)
  `,
  "tasks.mjs": `
    import { Task } from "runon"
    export const double = Task.make(import.meta, "double", (n) => n * 2)
  `,
  "main.mjs": `
    import * as Effect from "effect/Effect"
    import { runOn } from "runon"
    import { double } from "./tasks.mjs"
    console.log(JSON.stringify(await Effect.runPromise(runOn(2, [double(1), double(21)]))))
  `,
  "promise.mjs": `
    import { openPool } from "runon/promise"
    import { double } from "./tasks.mjs"
    const pool = await openPool({ procs: 1 })
    console.log(await pool.run(double(21)))
    await pool.close()
  `,
  "twice.mjs": `
    import * as runon from "./twice/dist/index.js"
    import { openPool } from "runon/promise"
    export const half = runon.Task.make(import.meta, "half", (n) => n / 2)
    if (runon.isMain(import.meta)) {
      const pool = await openPool({ procs: 1 })
      console.log(await pool.run(half(42)).catch((error) => error._tag + ": " + error.message))
      await pool.close()
    }
  `,
  "commonjs/package.json": "{}",
  "commonjs/tasks.ts": `
    import { Task } from "runon"
    export const double = Task.make(import.meta, "double", (n: number): number => n * 2)
  `,
  "commonjs/main.ts": `
    import { runOn } from "runon/promise"
    import { double } from "./tasks.ts"
    runOn(1, [double(21)]).catch((error) => console.log(error._tag + ": " + error.message))
  `,
  "typed.ts": `
    import * as Effect from "effect/Effect"
    import { runOn, Task } from "runon"
    import { openPool } from "runon/promise"
    const length = Task.make(import.meta, "length", (text: string) => text.length)
    const lengths: ReadonlyArray<number> = await Effect.runPromise(runOn(1, [length("four")]))
    // @ts-expect-error the types have arrived: this is no string
    const text: string = lengths[0]
    void text
    await using pool = await openPool({ procs: 1 })
    const four: number = await pool.run(length("four"))
    // @ts-expect-error and these too
    for await (const text of pool.map(["four"], (text) => length(text))) text satisfies string
    void four
  `,
}

/** What the README asks of TypeScript, and nothing else: its own declarations are looked at as well. */
const compilerOptions = {
  module: "NodeNext",
  target: "ES2022",
  types: [] as ReadonlyArray<string>,
  strict: true,
  skipLibCheck: false,
}

const writeConfig = (where: string, more: object): void => {
  const config = { compilerOptions: { ...compilerOptions, ...more }, include: ["*.ts"] }
  writeFileSync(join(app, where, "tsconfig.json"), JSON.stringify(config))
}

/** The README's programs: those that others import begin with their name, the rest are numbered. */
const programs = Object.fromEntries(
  [...readFileSync(join(root, "README.md"), "utf8").matchAll(/^```ts\n([^]*?)^```$/gm)]
    .map(([, code], i) => [/^\/\/ (\w+)\.ts\n/.exec(code)?.[1] ?? `program${i}`, code]),
)

describe.skipIf(currentRuntime !== "node")("Package (packed once, on Node, for all three runtimes)", () => {
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "runon-package-"))
    app = join(dir, "app")
    // Packed from a copy, because packing builds, and another run may be using this checkout's dist.
    const copy = join(dir, "copy")
    mkdirSync(copy)
    for (const name of readdirSync(root)) {
      if (![".git", "node_modules", "dist", "coverage"].includes(name)) {
        cpSync(join(root, name), join(copy, name), { recursive: true })
      }
    }
    symlinkSync(modules, join(copy, "node_modules"), "dir")
    await run(copy, "npm", "pack", "--pack-destination", dir)

    mkdirSync(app)
    for (const name of ["readme", "commonjs"]) mkdirSync(join(app, name))
    for (const [name, text] of Object.entries(files)) writeFileSync(join(app, name), text)
    for (const [name, code] of Object.entries(programs)) writeFileSync(join(app, "readme", `${name}.ts`), code)
    writeConfig("readme", { rewriteRelativeImportExtensions: true })
    const tarball = readdirSync(dir).find((name) => name.endsWith(".tgz"))!
    // Its peer is linked; its few dependencies come from npm's cache where they are there.
    await run(app, "npm", "install", "--prefer-offline", "--legacy-peer-deps", "--no-package-lock", join(dir, tarball))
    for (const name of ["effect", "@types/node"]) {
      symlinkSync(join(modules, name), join(app, "node_modules", name), "dir")
    }
  }, 240_000)

  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  it("holds compiled code, declarations and their sources, and nothing else", () => {
    const installed = join(app, "node_modules/runon")
    expect(readdirSync(installed).filter((name) => name !== "README.md").sort())
      .toEqual(["LICENSE", "dist", "package.json", "src"])
    expect(readdirSync(join(installed, "dist"))).toEqual(expect.arrayContaining(["index.js", "index.d.ts"]))
  })

  it("resolves to compiled code on plain Node", async () => {
    expect(await run(app, process.execPath, "exports.mjs"))
      .toMatch(
        /^file:.*\/runon\/dist\/index\.js function function\nfile:.*\/runon\/dist\/promise\.js function function\nfunction function$/,
      )
  })

  it.each([
    ["the DOM's types", { lib: ["ES2022", "DOM"] }],
    ["Node's types", { lib: ["ES2022"], types: ["node"] }],
    ["the default libraries", {}],
  ])("brings types that a strict TypeScript project with %s accepts", async (_, options) => {
    writeConfig(".", { ...options, noEmit: true })
    await run(app, process.execPath, join(modules, "typescript/bin/tsc"), "--project", app)
  })

  it("is what the README tells: its programs compile and run as printed", async () => {
    const readme = join(app, "readme")
    await run(readme, process.execPath, join(modules, "typescript/bin/tsc"), "--project", readme)
    const outputs: Record<string, string> = {}
    // On Deno, where workers start in a fraction of the time; that the package runs everywhere is shown below.
    const deno = [join(modules, ".bin/deno"), "run", "--no-prompt", "--allow-read", "--allow-net=127.0.0.1"] as const
    for (const name of Object.keys(programs)) outputs[name] = await run(readme, ...deno, `${name}.js`)
    expect(outputs).toMatchObject({ primes: "", main: expect.stringMatching(/^148933\n/) })
    // The table of the scheduler's counters, with nothing left out.
    const all = Object.values(outputs).join("\n")
    expect(all).toMatch(/ machine .* queue .* stealsWon /)
    expect(all).not.toContain("[Object")
    expect(Object.entries(outputs).filter(([name, output]) => name !== "primes" && output === "")).toEqual([])
  }, 180_000)

  it("says so if a program holds two copies of it", async () => {
    cpSync(join(app, "node_modules/runon"), join(app, "twice"), { recursive: true })
    expect(await run(app, process.execPath, "twice.mjs")).toMatch(
      /^TaskNotFound: task "half" .* another copy of this package.* instead of file:.*modules\/runon\/.* and file:.*twice\//,
    )
  })

  it("says what to do if tsx makes CommonJS of a program", async () => {
    expect(await run(join(app, "commonjs"), join(modules, ".bin/tsx"), "main.ts"))
      .toMatch(/^TaskNotFound: task "double" .*commonjs\/tasks\.ts: .* as CommonJS too: set "type": "module"/)
  })

  it.each([
    ["Node", process.execPath, []],
    ["Deno", join(modules, ".bin/deno"), ["run", "--no-prompt", "--allow-read"]],
    ["Bun", join(modules, ".bin/bun"), []],
  ])("runs tasks of a plain .mjs module on %s", async (_, command, flags) => {
    expect(await run(app, command, ...flags, "main.mjs")).toBe("[2,42]")
    expect(await run(app, command, ...flags, "promise.mjs")).toBe("42")
  })
})
