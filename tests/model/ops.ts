/** Accesses to shared memory: how they are named, and how they look in a program. */
import type { Node } from "./modules.ts"

/** Accesses to shared memory, as World.ts performs them. */
export const Op = {
  read: 0,
  write: 1,
  load: 2,
  store: 3,
  add: 4,
  sub: 5,
  and: 6,
  or: 7,
  exchange: 8,
  compareExchange: 9,
  wait: 10,
  notify: 11,
} as const

/** Names and types of the accesses, in the order of {@link Op}. */
export const opNames = Object.keys(Op) as ReadonlyArray<keyof typeof Op>

/** The address of an access like `s.mem[at]`, if `node` is one. */
export const memoryAddress = (node: Node): Node | undefined =>
  node.type === "MemberExpression" && node.computed ? addressIn(node.object, node.property) : undefined

/**
 * Where the element `index` of what stands for shared memory is: of `s.mem`, or of one of the views that
 * progressSlots.ts has of the slots. Views are known by name, and here hold the word at which they begin. A number of
 * eight bytes has two words of which the first is used.
 */
const addressIn = (memory: Node, index: Node): Node | undefined => {
  if (memory.type === "MemberExpression" && !memory.computed && memory.object.type === "Identifier") {
    return memory.object.name === "s" && memory.property.name === "mem" ? index : undefined
  }
  if (memory.type !== "Identifier" || (memory.name !== "words" && memory.name !== "doubles")) return undefined
  const at = { type: "MemberExpression", computed: false, object: memory, property: { type: "Identifier", name: "at" } }
  const two = { type: "Literal", value: 2 }
  const offset = memory.name === "words" ? index : { type: "BinaryExpression", operator: "*", left: two, right: index }
  return { type: "BinaryExpression", operator: "+", left: at, right: offset }
}

/** `Atomics.op(s.mem, ...)`: the operation, if `node` is one. */
export const atomicOp = (node: Node): number | undefined => {
  if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return undefined
  if (node.callee.object.type !== "Identifier" || node.callee.object.name !== "Atomics") return undefined
  if (addressIn(node.arguments[0], node.arguments[1]) === undefined) return undefined
  const op = Op[node.callee.property.name as keyof typeof Op]
  if (op === undefined) throw new Error(`Atomics.${node.callee.property.name} is not modelled`)
  return op
}

/** The address and the operands of an {@link atomicOp}. */
export const atomicOperands = (node: Node): Array<Node> => [
  addressIn(node.arguments[0], node.arguments[1]),
  ...node.arguments.slice(2),
]
