/** From modules to a program: native functions for setting up and judging, state machines for the simulated threads. */
import { resolve } from "node:path"
import { generate, liveness } from "./lowered.ts"
import { Lowering } from "./lower.ts"
import { atomicOp, memoryAddress } from "./ops.ts"
import { type Changes, here, loadModules, type Module, nativeCode, type Node, schedulerDir } from "./modules.ts"

/** One invocation: its function's index, where it goes on, its variables. */
export type Frame = Array<unknown>

/** What a state machine asks of the thread that it runs on. */
export interface Stepper {
  /** The result of the last access or call. */
  r: unknown
  /** True: the access is to happen later, the thread must stop here. False: done, the result is in `r`. */
  access(op: number, at: number, a: number, b: number): boolean
  enter(fn: number, args: ReadonlyArray<unknown>): void
  leave(value: unknown): void
}

/** A function as a state machine. */
export interface Code {
  readonly index: number
  /** `module.name` */
  readonly name: string
  readonly slots: number
  /** By position: the slots that matter from there on. */
  readonly live: ReadonlyArray<ReadonlyArray<number>>
  readonly step: (T: Stepper, f: Frame) => void
}

/** The scheduler, and the actors that use it, in both forms. */
export interface Program {
  readonly codes: ReadonlyArray<Code>
  readonly byName: ReadonlyMap<string, Code>
  /** Native functions and constants: module, then name. */
  // deno-lint-ignore no-explicit-any
  readonly native: Readonly<Record<string, Readonly<Record<string, any>>>>
}

const isFunction = (node: Node): boolean =>
  node?.type === "FunctionDeclaration" || node?.type === "ArrowFunctionExpression"

const walk = (node: Node, visit: (node: Node) => void): void => {
  if (node === null || typeof node !== "object") return
  if (Array.isArray(node)) return node.forEach((child) => walk(child, visit))
  if (typeof node.type !== "string") return
  visit(node)
  for (const child of Object.values(node)) walk(child, visit)
}

const touchesMemory = (node: Node): boolean => {
  let found = false
  walk(node.body, (n) => {
    if (memoryAddress(n) !== undefined || atomicOp(n) !== undefined) found = true
  })
  return found
}

/** What a name means in a module: `module.name`, or undefined for a global. */
const globalName = (module: Module, name: string): string | undefined => {
  if (module.top.has(name)) return `${module.name}.${name}`
  const target = module.imports.get(name)
  return target && `${target.module}.${target.name}`
}

/** All functions that have steps, directly or through what they call. */
const steppingFunctions = (modules: ReadonlyArray<Module>): Map<string, { module: Module; node: Node }> => {
  const functions = modules.flatMap((module) =>
    [...module.top].filter(([, node]) => isFunction(node)).map(([name, node]) => ({ module, name, node }))
  )
  const stepping = new Map<string, { module: Module; node: Node }>()
  for (let before = -1; before !== stepping.size;) {
    before = stepping.size
    for (const { module, name, node } of functions) {
      let steps = touchesMemory(node)
      walk(node.body, (n) => {
        if (n.type !== "CallExpression" || n.callee.type !== "Identifier") return
        const called = globalName(module, n.callee.name)
        if (called !== undefined && stepping.has(called)) steps = true
      })
      if (steps) stepping.set(`${module.name}.${name}`, { module, node })
    }
  }
  return stepping
}

/** Keeps what actors may call; the rest of the scheduler runs natively, if at all. */
const reachable = (
  stepping: ReadonlyMap<string, { module: Module; node: Node }>,
  roots: ReadonlyArray<string>,
): Map<string, { module: Module; node: Node }> => {
  const kept = new Map<string, { module: Module; node: Node }>()
  const visit = (name: string): void => {
    const found = stepping.get(name)
    if (found === undefined || kept.has(name)) return
    kept.set(name, found)
    walk(found.node.body, (n) => {
      if (n.type === "CallExpression" && n.callee.type === "Identifier") {
        visit(globalName(found.module, n.callee.name) ?? "")
      }
    })
  }
  roots.forEach(visit)
  return kept
}

const ACTORS = ["machines", "suspended", "host", "parts", "callers", "reporters", "buffers"]

/** Compiles the scheduler and the actors. */
export async function compile(changes: Changes = {}): Promise<Program> {
  const actors = ACTORS.map((name) => resolve(here, "actors", `${name}.ts`))
  const modules = await loadModules([resolve(schedulerDir, "index.ts"), ...actors], changes)
  const native = new Function(`const N = {};\n${modules.map(nativeCode).join("\n")}\nreturn N;`)()
  const all = steppingFunctions(modules)
  const stepping = reachable(all, [...all.keys()].filter((name) => ACTORS.includes(name.split(".")[0])))
  const indices = new Map([...stepping.keys()].map((name, i) => [name, i]))
  const parts = [...stepping].map(([name, { module, node }]) => {
    const lowering = new Lowering(node, {
      stepping: (called) => indices.get(globalName(module, called) ?? ""),
      outer: (called) => {
        const target = globalName(module, called)
        return target === undefined ? called : `N.${target}`
      },
    })
    const { blocks, slots } = lowering
    return { name, slots, live: liveness(blocks), js: `(T, f) => {\n${generate(blocks)}\n}` }
  })
  const steps = new Function("N", `return [\n${parts.map(({ js }) => js).join(",\n")}\n]`)(native)
  const codes = parts.map(({ live, name, slots }, index): Code => ({ index, name, slots, live, step: steps[index] }))
  return { codes, byName: new Map(codes.map((code) => [code.name, code])), native }
}
