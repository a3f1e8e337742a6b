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

/** `s.mem[at]`: the address, if `node` is that. */
export const memoryAddress = (node: Node): Node | undefined =>
  node.type === "MemberExpression" && node.computed && isMemory(node.object) ? node.property : undefined

const isMemory = (node: Node): boolean =>
  node.type === "MemberExpression" && !node.computed && node.object.type === "Identifier" && node.object.name === "s" &&
  node.property.name === "mem"

/** `Atomics.op(s.mem, ...)`: the operation, if `node` is that. */
export const atomicOp = (node: Node): number | undefined => {
  if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return undefined
  if (node.callee.object.type !== "Identifier" || node.callee.object.name !== "Atomics") return undefined
  if (!isMemory(node.arguments[0])) return undefined
  const op = Op[node.callee.property.name as keyof typeof Op]
  if (op === undefined) throw new Error(`Atomics.${node.callee.property.name} is not modelled`)
  return op
}
