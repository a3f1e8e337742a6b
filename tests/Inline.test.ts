import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { basename, join } from "node:path"
import { tmpdir } from "node:os"
import process from "node:process"
import { fileURLToPath, pathToFileURL } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { runOn, Task } from "../mod.ts"
import { compileSource } from "../src/internal/inline/compile.ts"
import { functionSource } from "../src/internal/inline/source.ts"
import { capturing, failing, fib, nested, Text, tools } from "./fixtures/inline/functions.ts"
import { currentRuntime, runScript } from "./support/run.ts"

type Fn = (...args: Array<never>) => unknown

/** The same function after the journey. */
const trip = <F extends Fn>(fn: F): F => compileSource(functionSource(fn)) as F

/** A function that the compilers of this suite have not touched, in strict mode and with `outer` around it. */
const made = (expression: string): Fn => (0, eval)(`"use strict"; { const outer = 1; (${expression}) }`)

const fixture = (name: string) => new URL(`./fixtures/inline/${name}`, import.meta.url)

describe("Inline: functions that travel", () => {
  it.each<[string, string, ReadonlyArray<unknown>, unknown]>([
    ["a named function", "function add(a, b) { return a + b }", [1, 2], 3],
    ["an anonymous function", "function (a) { return a }", [1], 1],
    ["an arrow", "(a, b = a * 2, ...rest) => a + b + rest.length", [1], 3],
    ["an arrow of one bare parameter", "a => a", [1], 1],
    ["an arrow that returns an object", "a => ({ a })", [1], { a: 1 }],
    ["a function that calls itself", "function f(n) { return n === 0 ? 0 : 1 + f(n - 1) }", [5], 5],
    ["a method", "{ foo(x) { return x } }.foo", [1], 1],
    ["a method with a string for a name", `{ "a b"(x) { return x } }["a b"]`, [1], 1],
    ["a method with a number for a name", "{ 42(x) { return x } }[42]", [1], 1],
    ["a method with a name computed of a variable", "{ [`m${outer}`](x) { return x } }.m1", [1], 1],
    ["a method with a symbol for a name", "{ [Symbol.iterator](x) { return x } }[Symbol.iterator]", [1], 1],
    ["a method named like a keyword", "{ class(x) { return x } }.class", [1], 1],
    ["a method named async", "{ async(x) { return x } }.async", [1], 1],
    ["a method named get", "{ get(x) { return x } }.get", [1], 1],
    ["a method named static", "{ static(x) { return x } }.static", [1], 1],
    ["a method named function", "{ function(x) { return x } }.function", [1], 1],
    ["a method named constructor", "{ constructor(x) { return x } }.constructor", [1], 1],
    ["a method named __proto__", "Object.values({ __proto__(x) { return x } })[0]", [1], 1],
    ["a method of a class", "class { m(x) { return x } }.prototype.m", [1], 1],
    ["a static method", "class { static m(x) { return x } }.m", [1], 1],
    ["a private method", "class { static #m(x) { return x } static get() { return this.#m } }.get()", [1], 1],
    [
      "a method that shares its name with a global it uses",
      "{ parseInt(x) { return parseInt(x) } }.parseInt",
      ["7"],
      7,
    ],
    ["a function of Function", `new Function("a", "b", "return a + b // sum")`, [1, 2], 3],
    ["a function that ends in a comment", "(a) => a /* a */ // a\n", [1], 1],
  ])("%s", (_, expression, args, result) => {
    expect(trip(made(expression))(...args as Array<never>)).toEqual(result)
  })

  it("async functions, arrows and methods", async () => {
    expect(await trip(made("async function f(x) { return await x }") as (x: number) => unknown)(1)).toBe(1)
    expect(await trip(made("async x => await x") as (x: number) => unknown)(1)).toBe(1)
    expect(await trip(made("{ async m(x) { return await x } }.m") as (x: number) => unknown)(1)).toBe(1)
  })

  it("generators, async ones too, and as methods", async () => {
    type Sync = (n: number) => Generator<number>
    type Async = (n: number) => AsyncGenerator<number>
    expect([...trip(made("function* g(n) { yield n; yield n + 1 }") as Sync)(1)]).toEqual([1, 2])
    expect([...trip(made("{ *g(n) { yield n; yield n + 1 } }.g") as Sync)(1)]).toEqual([1, 2])
    const values: Array<number> = []
    for await (const n of trip(made("async function* g(n) { yield n }") as Async)(1)) values.push(n)
    for await (const n of trip(made("class { static async *g(n) { yield n } }.g") as Async)(2)) values.push(n)
    expect(values).toEqual([1, 2])
  })

  it("functions that this suite's compiler has made", async () => {
    expect(trip(fib)(10)).toBe(55)
    expect(trip(nested)([1, 2, 3])).toBe(12)
    expect(trip(Text.reverse)("abc")).toBe("cba")
    expect(await trip(tools.scale)({}, 1, 2)).toEqual([10, 20])
  })

  it("methods keep their names", () => {
    expect(trip(tools.scale).name).toBe("scale")
    expect(trip(made("{ [`m${outer}`]() {} }.m1")).name).toBe("m1")
  })

  it("functions that use every kind of scope", () => {
    const text = `(list, { a, b: [c = a, ...d] }) => {
      var out = []
      label: for (const [i, x] of list.entries()) { if (i > 1) break label; out.push(x) }
      for (var i = 0, n = 1; i < n; i++) { let i2 = i; out.push(i2) }
      for (let k in { key: 1 }) out.push(k)
      try { throw a } catch (problem) { out.push(problem) } finally { out.push("f") }
      switch (c) { case 1: let inCase = 1; out.push(inCase) }
      function hoisted() { return later }
      var later = "later"
      class Named { static { const inBlock = Named; this.made = inBlock.name } static #p = 1; static p = Named.#p; out = out }
      const Other = class Inner { static me = () => Inner }
      const object = { out, shorthand() { return this.out }, get g() { return super.toString }, [a]: 1 }
      const old = function self() { return typeof self + arguments.length + new.target }
      out.push(hoisted(), Named.made, Named.p, new Named().out === out, Other.me() === Other, object.shorthand() === out)
      out.push(old(1, 2), d.length, ((x, y = x) => y)(9), /out(er)?/u.test("outer"), \`\${a}\${\`\${c}\`}\`, a?.b?.outer)
      return out
    }`
    const args = [["x", "y", "z"], { a: 1, b: [undefined, 2, 3] }] as const
    const fn = made(text) as (...args: ReadonlyArray<unknown>) => unknown
    expect((trip(fn as Fn) as typeof fn)(...args)).toEqual(fn(...args))
  })

  it("functions that use globals", () => {
    const fn = () => [typeof structuredClone, Math.max(1, 2), isNaN(NaN), undefined, typeof globalThis.performance.now]
    expect(trip(fn)()).toEqual(["function", 2, true, undefined, "function"])
    for (
      const name of [
        "console",
        "fetch",
        "setTimeout",
        "crypto",
        "process",
        "Atomics",
        "SharedArrayBuffer",
        "URL",
        "eval",
      ]
    ) expect(() => functionSource(made(`() => ${name}`))).not.toThrow()
  })

  it("functions that ask for the globals of other runtimes", () => {
    expect(trip(made("() => typeof Deno !== 'undefined' ? Deno.version.deno && 'deno' : 'other'"))())
      .toBe(currentRuntime === "deno" ? "deno" : "other")
    expect(trip(made("() => typeof document === 'undefined' ? 'none' : document"))()).toBe("none")
  })

  it("functions that import built-in modules, and what they are told", () => {
    // Only accepted here: Vitest runs this thread's code where evaluated code has no import().
    functionSource(made("async (url) => [await import('node:os'), await import('os'), await import(url)]"))
    functionSource(made("() => import('data:text/javascript,1')"))
  })

  it("functions in which esbuild keeps names", () => {
    const fn = made(`function f(n) {
      const double = /* @__PURE__ */ __name((n) => n * 2, "double")
      class A { static { __name(this, "A") } }
      return double(n) + A.name
    }`) as (n: number) => unknown
    expect(trip(fn)(2)).toBe("4A")
  })

  it("functions that are instrumented for coverage", async () => {
    const { classify } = await import(fixture("instrumented.mjs").href) as { readonly classify: (n: unknown) => string }
    expect(classify([1, 50, 1000])).toBe("small medium large")
    expect(String(classify)).toContain("cov_")
    expect(trip(classify)([1, 50, 1000])).toBe("small medium large")
  })

  it("in strict mode, as in the module they come from", () => {
    expect(trip(made("function () { return (function () { return this })() }"))()).toBe(undefined)
  })
})

describe("Inline: functions that do not", () => {
  const message = (fn: Fn): string => {
    try {
      functionSource(fn)
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError)
      return (error as TypeError).message
    }
    throw new Error("it was not refused")
  }

  it.each<[string, string, RegExp]>([
    [
      "a variable",
      "function f() { return outer }",
      /^Task\.inline\(f\): it uses "outer", which .* Pass it as an argument/,
    ],
    ["two variables, one of them twice", "() => outer + other + outer", /"outer", "other", .* Pass them as arguments/],
    ["a variable that is only written", "() => { outer2 = 1 }", /"outer2"/],
    ["a variable that is updated", "() => outer++", /"outer"/],
    ["a variable in a default value", "(a = outer) => a", /"outer"/],
    ["a variable that is declared in another block", "() => { { let x = 1 } return x }", /"x"/],
    ["a variable that only a default value sees", "(a = () => hidden) => { var hidden = 1; return a() }", /"hidden"/],
    ["a variable in a nested function", "() => [1].map(function (x) { return x + outer })", /"outer"/],
    ["a variable in a shorthand property", "() => ({ outer })", /"outer"/],
    ["a variable in a computed key", "() => ({ [outer]: 1 })", /"outer"/],
    ["a variable in a template", "() => `${outer}`", /"outer"/],
    ["a variable as a template's tag", "() => outer`x`", /"outer"/],
    [
      "a variable in a class",
      "() => class extends outer { x = outer2; static { outer3 } }",
      /"outer", "outer2", "outer3"/,
    ],
    ["a variable in a pattern", "(x) => { ({ a: outer, b: [outer2.x] } = x) }", /"outer", "outer2"/],
    ["a variable in an import's options", "() => import('node:fs', { with: outer })", /"outer"/],
    ["a variable in a method", "{ m() { return outer } }.m", /Task\.inline\(m\): it uses "outer"/],
    ["a variable behind typeof", "() => typeof outer", /"outer"/],
    ["a global that is missing here", "() => Deno2.cwd()", /"Deno2"/],
    ["Object.prototype's names", "() => toString", /"toString"/],
    ["an arrow that calls itself", "{ f: (n) => f(n - 1) }.f", /must have a name of its own: function f\(/],
    ["arguments of an arrow", "() => arguments[0]", /"arguments".*rest parameter/],
    ["a compiler's helper", "() => __awaiter(1)", /"__awaiter".*newer target/],
    ["an import as Vitest leaves it", "() => __vi_import_0__.x", /"__vi_import_0__" is an import/],
    ["require", "() => require('fs')", /"require".*await import/],
    ["counters that count nothing", "() => cov_1i784saz94(1)", /"cov_1i784saz94"/],
    ["a variable named like a counter", "() => cov_abcdef + cov_abcdef().s[0]++", /"cov_abcdef"/],
    ["this", "function () { return this.x }", /uses "this"/],
    ["this in an arrow", "() => () => this", /uses "this"/],
    ["this in a method", "{ m() { return this } }.m", /uses "this"/],
    ["this in a computed name of a class", "function () { return class { [this.x]() {} } }", /uses "this"/],
    ["super", "{ m() { return super.toString() } }.m", /uses "super"/],
    ["super in an arrow", "{ m() { return () => super.x } }.m()", /uses "super"/],
    [
      "new.target in an arrow",
      "(function () { return () => new.target })()",
      /by itself, in strict mode: .*new\.target/,
    ],
    ["eval", "(text) => eval(text)", /calls eval/],
    ["an import by a relative specifier", "() => import('./x.ts')", /specifier that only its own module/],
    ["an import of a package", "() => import(`effect`)", /specifier that only its own module/],
    ["a class", "class A {}", /Task\.inline\(A\): it is a class/],
    ["a getter", "Object.getOwnPropertyDescriptor({ get x() { return 1 } }, 'x').get", /a getter or a setter/],
    ["a setter", "Object.getOwnPropertyDescriptor(class { static set x(v) {} }, 'x').set", /a getter or a setter/],
    ["a built-in function", "Math.max", /Task\.inline\(max\): it is built in/],
    ["a bound function", "(function f() {}).bind(null)", /Task\.inline\(bound f\): it is built in, bound/],
    ["a proxy", "new Proxy(() => 1, {})", /proxy/],
    ["a private name", "class { static #p = 1; static m(x) { return x.#p } }.m", /strict mode.*#p/],
  ])("%s", (_, expression, pattern) => {
    expect(message(made(expression))).toMatch(pattern)
  })

  it.each(["alert", "prompt", "document", "window", "localStorage", "location", "name", "postMessage", "close"])(
    "%s, even where it is a global",
    (name) => expect(message(made(`() => ${name}`))).toContain(`"${name}"`),
  )

  it("what only sloppy mode allows", () => {
    expect(message(new Function("with ({}) {}") as Fn)).toMatch(/in strict mode: .*with/)
    expect(message(new Function("return 010") as Fn)).toMatch(/in strict mode: /)
  })

  it("what is imported or declared in the module of the function", () => {
    expect(message(capturing)).toContain(`"factor"`)
    // Vitest calls imports by names of its own; bare, this would be "basename".
    expect(message((path: string) => basename(path))).toMatch(/__vi|basename/)
  })

  it("what is no function", () => {
    expect(() => functionSource(42 as never)).toThrow("the argument is not a function")
  })

  it("Task.inline refuses at once", () => {
    expect(() => Task.inline(capturing)).toThrow(TypeError)
  })
})

describe("Inline: on machines", () => {
  it("runs functions and methods", async () => {
    const next = Task.inline((n: number) => n + 1)
    expect(await Effect.runPromise(runOn(2, [next(1), next(2)]))).toEqual([2, 3])
    const calls = [Task.inline(fib)(10), Task.inline(nested)([1]), Task.inline(tools.scale)({ by: 2 }, 4)] as const
    expect(await Effect.runPromise(runOn(2, calls))).toEqual([55, 2, [8]])
  })

  it("fails with what the function throws", async () => {
    const failure = await Effect.runPromise(Effect.flip(runOn(1, [Task.inline(failing)("so it is")])))
    expect(failure).toMatchObject({ _tag: "TaskFailed" })
    expect(String(failure.message)).toContain("so it is")
  })

  it("gives stack traces by the function's own lines", () => {
    const fn = compileSource(functionSource(made("function f() {\n  throw new Error('x')\n}")), "my task")
    try {
      fn()
    } catch (error) {
      expect((error as Error).stack).toContain("runon:inline/my_task")
      expect((error as Error).stack).toMatch(/my_task[^\n]*:2:/)
    }
    expect.assertions(2)
  })
})

describe("Inline: in scripts", () => {
  let dir = ""
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), "runon-inline-"))
  })
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  const results = [610, 12, "68 65 6c 6c 6f", [3, 6], "cba", "b.txt"]
  const run = async (functions: URL, compiled: boolean) => {
    const { code, stderr, stdout } = await runScript(fixture("main.ts"), [functions.href])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(JSON.parse(stdout)).toEqual({
      results,
      failure: "TaskFailed",
      refusals: [
        expect.stringMatching(/^TypeError: Task\.inline.*it uses "/),
        expect.stringMatching(/^TypeError: Task\.inline.*it uses "/),
        expect.stringMatching(/^TypeError: Task\.inline.*it uses "import\.meta"/),
      ],
      helped: compiled && currentRuntime === "node",
    })
    return stdout
  }

  it("runs TypeScript that the runtime compiles, and names what is captured", async () => {
    const stdout = await run(fixture("functions.ts"), true)
    expect(stdout).toMatch(/Task\.inline\(capturing\): it uses \\"factor\\"/)
  })

  it("runs what bun build --minify makes of it", async () => {
    const bun = fileURLToPath(new URL("../node_modules/.bin/bun", import.meta.url))
    const outfile = join(dir, "functions.mjs")
    const input = fileURLToPath(fixture("functions.ts"))
    await promisify(execFile)(bun, ["build", "--minify", "--target=node", `--outfile=${outfile}`, input])
    await run(pathToFileURL(outfile), false)
  })

  it("loads the parser at the first use", async () => {
    const { stdout } = await runScript(fixture("loaded.ts"))
    expect(JSON.parse(stdout)).toEqual({ before: false, after: true })
  })

  // Bun has no such flag.
  it.skipIf(currentRuntime === "bun")("says that strings may not be compiled", async () => {
    const flag = "--disallow-code-generation-from-strings"
    const { stdout } = await runScript(fixture("strings.ts"), [], {
      denoFlags: ["-A", `--v8-flags=${flag}`],
      env: { NODE_OPTIONS: currentRuntime === "node" ? `${process.env.NODE_OPTIONS ?? ""} ${flag}` : "" },
    })
    expect(stdout).toMatch(/^TypeError: Task\.inline.*--disallow-code-generation-from-strings.*Task\.make/)
  })
})
