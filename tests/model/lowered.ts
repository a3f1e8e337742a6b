/**
 * Parts of a lowered function: scopes, blocks of straight code, which variables are alive where, and the JavaScript
 * that comes out.
 */
import type { Node } from "./modules.ts"

/** JavaScript for a variable: a slot of the frame, or a name. */
export interface Local {
  readonly js: string
}

export type Target = Local

/** Names of one block of the source. */
export class Scope {
  readonly outer: Scope | undefined
  readonly #names = new Map<string, Local>()

  constructor(outer: Scope | undefined) {
    this.outer = outer
  }

  declare(name: string, js: string): Local {
    const local = { js }
    this.#names.set(name, local)
    return local
  }

  find(name: string): Local | undefined {
    return this.#names.get(name) ?? this.outer?.find(name)
  }
}

/** A function with a block for its body, which also declares what its parameters are taken apart into. */
export const withPlainParameters = (fn: Node): { readonly params: ReadonlyArray<Node>; readonly body: Node } => {
  const taken: Array<Node> = []
  const params = fn.params.map((param: Node, i: number) => {
    if (param.type !== "ObjectPattern") return param
    const whole = { type: "Identifier", name: `of ${i}` }
    for (const { key, value } of param.properties) {
      const init = { type: "MemberExpression", computed: false, object: whole, property: key }
      taken.push({ type: "VariableDeclaration", declarations: [{ id: value, init }] })
    }
    return whole
  })
  const { body } = fn
  const rest = body.type === "BlockStatement" ? body.body : [{ type: "ReturnStatement", argument: body }]
  return { params, body: { type: "BlockStatement", body: [...taken, ...rest] } }
}

/** How a block ends. */
type End =
  | { readonly kind: "goto"; readonly to: number }
  | { readonly kind: "branch"; readonly test: string; readonly yes: number; readonly no: number }
  | { readonly kind: "access"; readonly op: number; readonly args: ReadonlyArray<string>; readonly next: number }
  | { readonly kind: "call"; readonly fn: number; readonly args: ReadonlyArray<string>; readonly next: number }
  | { readonly kind: "return"; readonly value: string }

/** Straight code. What comes after its end was set is dead and dropped. */
export class Block {
  readonly id: number
  readonly code: Array<{ readonly js: string; readonly sets: number }> = []
  end: End | undefined

  constructor(id: number) {
    this.id = id
  }

  set(slot: number, value: string): void {
    if (this.end === undefined) this.code.push({ js: value, sets: slot })
  }

  run(js: string): void {
    if (this.end === undefined) this.code.push({ js, sets: -1 })
  }
}

const slotsIn = (js: string): Array<number> => [...js.matchAll(/\bf\[(\d+)\]/g)].map((match) => Number(match[1]))

const endText = (end: End): string => {
  switch (end.kind) {
    case "goto":
      return ""
    case "branch":
      return end.test
    case "return":
      return end.value
    default:
      return end.args.join(", ")
  }
}

const successors = (end: End): ReadonlyArray<number> => {
  switch (end.kind) {
    case "goto":
      return [end.to]
    case "branch":
      return [end.yes, end.no]
    case "return":
      return []
    default:
      return [end.next]
  }
}

/** For each block, the slots that may be read before they are set, from its beginning on. */
export function liveness(blocks: ReadonlyArray<Block>): ReadonlyArray<ReadonlyArray<number>> {
  const live = blocks.map(() => new Set<number>())
  for (let changed = true; changed;) {
    changed = false
    for (const block of [...blocks].reverse()) {
      const end = block.end!
      const now = new Set(successors(end).flatMap((id) => [...live[id]]))
      for (const slot of slotsIn(endText(end))) now.add(slot)
      for (const { js, sets } of [...block.code].reverse()) {
        now.delete(sets)
        for (const slot of slotsIn(js)) now.add(slot)
      }
      if (now.size !== live[block.id].size) {
        live[block.id] = now
        changed = true
      }
    }
  }
  return live.map((slots) => [...slots].sort((a, b) => a - b))
}

/** The body of a function `(T, f)` that runs a frame `f` of thread `T` up to its next cut. */
export function generate(blocks: ReadonlyArray<Block>): string {
  const cases = blocks.map(({ code, end, id }) => {
    const lines = code.map(({ js, sets }) => (sets >= 0 ? `f[${sets}] = ${js};` : `${js};`))
    return `case ${id}: ${lines.join(" ")} ${endCode(end!)}`
  })
  return `for (;;) switch (f[1]) {\n${cases.join("\n")}\n}`
}

const endCode = (end: End): string => {
  switch (end.kind) {
    case "goto":
      return `f[1] = ${end.to}; continue;`
    case "branch":
      return `f[1] = ${end.test} ? ${end.yes} : ${end.no}; continue;`
    case "return":
      return `T.leave(${end.value}); return;`
    case "call":
      return `f[1] = ${end.next}; T.enter(${end.fn}, [${end.args.join(", ")}]); return;`
    case "access": {
      const args = [0, 1, 2].map((i) => end.args[i] ?? "0")
      return `f[1] = ${end.next}; if (T.access(${end.op}, ${args.join(", ")})) return; continue;`
    }
  }
}

/** Prints an expression without steps, with its variables replaced. */
export function print(node: Node, scope: Scope, outer: (name: string) => string): string {
  const go = (n: Node): string => print(n, scope, outer)
  const list = (nodes: ReadonlyArray<Node>): string => nodes.map(go).join(", ")
  switch (node.type) {
    case "Literal":
      return node.raw ?? JSON.stringify(node.value)
    case "Identifier":
      return scope.find(node.name)?.js ?? outer(node.name)
    case "TemplateLiteral":
      return "`" +
        node.quasis.map((q: Node, i: number) =>
          q.value.raw + (i < node.expressions.length ? "${" + go(node.expressions[i]) + "}" : "")
        ).join("") + "`"
    case "UnaryExpression":
      return `(${node.operator} ${go(node.argument)})`
    case "BinaryExpression":
    case "LogicalExpression":
    case "AssignmentExpression":
      return `(${go(node.left)} ${node.operator} ${go(node.right)})`
    case "UpdateExpression":
      return node.prefix ? `(${node.operator}${go(node.argument)})` : `(${go(node.argument)}${node.operator})`
    case "ConditionalExpression":
      return `(${go(node.test)} ? ${go(node.consequent)} : ${go(node.alternate)})`
    case "MemberExpression":
      return node.computed ? `${go(node.object)}[${go(node.property)}]` : `${go(node.object)}.${node.property.name}`
    case "CallExpression":
      return `${go(node.callee)}(${list(node.arguments)})`
    case "NewExpression":
      return `new ${go(node.callee)}(${list(node.arguments)})`
    case "ArrayExpression":
      return `[${
        node.elements.map((e: Node) => e.type === "SpreadElement" ? `...${go(e.argument)}` : go(e)).join(", ")
      }]`
    case "ObjectExpression":
      return `({ ${node.properties.map((p: Node) => `${p.key.name}: ${go(p.value)}`).join(", ")} })`
    case "ArrowFunctionExpression": {
      const inner = new Scope(scope)
      for (const param of node.params) inner.declare(param.name, param.name)
      return `((${node.params.map((p: Node) => p.name).join(", ")}) => ${print(node.body, inner, outer)})`
    }
    default:
      throw new Error(`a ${node.type} is not understood`)
  }
}
