/** What a function does that its source alone may not be able to do elsewhere. */
import type * as Acorn from "acorn"
import { isBuiltin } from "./globals.ts"
import { INSTEAD } from "./instead.ts"

type FunctionNode = Acorn.FunctionExpression | Acorn.ArrowFunctionExpression

/** What a walk through a function finds. */
export interface Features {
  /** Why it cannot be shipped; undefined if nothing speaks against it. */
  readonly obstacle: string | undefined
  /** Names that it asks for with `typeof`, which is safe if there is nothing of that name. */
  readonly asked: ReadonlySet<string>
  /** Identifiers that are nothing but coverage counters: `cov_….().s[0]++`. */
  readonly counters: ReadonlySet<Acorn.Node>
}

const isNode = (value: unknown): value is Acorn.AnyNode =>
  typeof value === "object" && value !== null && typeof (value as Acorn.Node).type === "string"

const childrenOf = (node: Acorn.AnyNode): ReadonlyArray<Acorn.AnyNode> => Object.values(node).flat().filter(isNode)

/** Istanbul's names are a hash in base 36, SWC's in base 10. */
const counterName = /^cov_[0-9a-z]{6,}$/
const counterKinds: ReadonlySet<string> = new Set(["s", "f", "b", "bT"])

/** Whether an `import()` of this means the same on a machine; what is computed is the author's business. */
const importable = (source: Acorn.Expression): boolean => {
  const specifier = source.type === "Literal"
    ? source.value
    : source.type === "TemplateLiteral" && source.expressions.length === 0
    ? source.quasis[0].value.cooked
    : undefined
  return typeof specifier !== "string" || isBuiltin(specifier) || /^[a-z][a-z0-9+.-]+:/i.test(specifier)
}

/** Walks through a function. */
export const featuresOf = (root: FunctionNode): Features => {
  let obstacle: string | undefined
  const asked = new Set<string>()
  const counters = new Set<Acorn.Node>()
  const refuse = (reason: string) => obstacle ??= reason

  /** `own` says whether `this` is still that of the function itself. */
  const visit = (node: Acorn.AnyNode, own: boolean): void => {
    switch (node.type) {
      case "ThisExpression":
        if (own) refuse('it uses "this", and a task is called with none: pass the object as an argument')
        return
      case "Super":
        if (own) {
          refuse(`it uses "super", which belongs to the object it is a method of: wrap it in a function, ${INSTEAD}`)
        }
        return
      case "MetaProperty":
        if (node.meta.name === "import") {
          refuse(
            `it uses "import.meta", which belongs to its module: pass what it needs of that as an argument, ${INSTEAD}`,
          )
        }
        return
      case "ImportExpression":
        if (!importable(node.source)) {
          refuse(
            "it imports a module by a specifier that only its own module can resolve: pass import.meta.resolve(…) of " +
              `it as an argument, ${INSTEAD}`,
          )
        }
        break
      case "CallExpression":
        if (!node.optional && node.callee.type === "Identifier" && node.callee.name === "eval") {
          refuse(
            "it calls eval, which may use any variable of its surroundings: call globalThis.eval, which sees globals only",
          )
        }
        break
      case "UnaryExpression":
        if (node.operator === "typeof" && node.argument.type === "Identifier") asked.add(node.argument.name)
        break
      case "MemberExpression":
        if (
          node.object.type === "CallExpression" && node.object.arguments.length === 0 &&
          node.object.callee.type === "Identifier" && counterName.test(node.object.callee.name) &&
          node.property.type === "Identifier" && !node.computed && counterKinds.has(node.property.name)
        ) counters.add(node.object.callee)
        break
      case "FunctionExpression":
      case "FunctionDeclaration":
        for (const child of childrenOf(node)) visit(child, node === root)
        return
      case "ClassDeclaration":
      case "ClassExpression":
        if (node.superClass) visit(node.superClass, own)
        for (const member of node.body.body) {
          if (member.type === "StaticBlock") {
            visit(member, false)
            continue
          }
          // A computed name is evaluated outside the class.
          visit(member.key as Acorn.AnyNode, own)
          if (member.value) visit(member.value as Acorn.AnyNode, false)
        }
        return
    }
    for (const child of childrenOf(node)) visit(child, own)
  }

  visit(root, true)
  return { obstacle, asked, counters }
}
