/** The source of functions, as expressions that mean the same elsewhere. */
import type * as Acorn from "acorn"
import { compileSource } from "./compile.ts"
import { featuresOf } from "./features.ts"
import { hintFor, isGlobal, isOptionalGlobal } from "./globals.ts"
import { INSTEAD } from "./instead.ts"
import { freeIdentifiers, parse } from "./parser.ts"

type FunctionNode = Acorn.FunctionExpression | Acorn.ArrowFunctionExpression

/**
 * An expression for a function: evaluated anywhere in strict mode, with a `__name` that returns its first argument, it
 * gives a function that does the same.
 *
 * Throws a `TypeError` for a function that cannot be had elsewhere. Variables of its surroundings are found by name: one
 * that is named like a global is taken for the global.
 */
export const functionSource = (fn: (...args: Array<never>) => unknown): string => {
  if (typeof fn !== "function") throw new TypeError("Task.inline: the argument is not a function")
  const name = typeof fn.name === "string" ? fn.name : ""
  const refuse = (reason: string, cause?: unknown): never => {
    throw new TypeError(`Task.inline(${name || "anonymous"}): ${reason}`, cause === undefined ? undefined : { cause })
  }

  const expression = toExpression(Function.prototype.toString.call(fn), name, refuse)
  const parsed = parse(`(${expression}\n)`)
  const root = parsed.program === undefined ? undefined : functionIn(parsed.program)
  // Cannot be: it was put together of what had been parsed.
  if (parsed.program === undefined || root === undefined) return refuse("its source cannot be understood")

  const { asked, counters, obstacle } = featuresOf(root)
  if (obstacle !== undefined) return refuse(obstacle)

  const captured = new Set<string>()
  const counted = new Set<string>()
  for (const identifier of freeIdentifiers(parsed.program)) {
    const free = identifier.name
    if (counters.has(identifier)) counted.add(free)
    else if (!isGlobal(free) && free !== "__name" && !(asked.has(free) && isOptionalGlobal(free))) captured.add(free)
  }
  if (captured.size > 0) return refuse(capturedMessage([...captured], name, root))

  const source = uncounted(expression, [...counted])
  try {
    // Says at once what a machine would only say when it runs the task: that this runtime compiles no strings.
    compileSource(source)
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error), error)
  }
  return source
}

const capturedMessage = (captured: ReadonlyArray<string>, name: string, root: FunctionNode): string => {
  const list = captured.map((free) => `"${free}"`).join(", ")
  const one = captured.length === 1
  const hints = captured.map((free) =>
    free === name && (root.type === "ArrowFunctionExpression" || !root.id)
      ? `To call itself it must have a name of its own: function ${name}(…) { … }.`
      : hintFor(free)
  )
  return [
    `it uses ${list}, which it does not define and machines do not have: ` +
    `only its source is sent to them. Pass ${one ? "it as an argument" : "them as arguments"}, ${INSTEAD}.`,
    ...new Set(hints.filter((hint) => hint !== undefined)),
  ].join(" ")
}

/** The text of a function as an expression: that of a method is none. */
const toExpression = (text: string, name: string, refuse: (reason: string) => never): string => {
  if (/\{\s*\[native code\]\s*\}\s*$/.test(text)) {
    return refuse(`it is built in, bound or a proxy and has no source: wrap it in a function, ${INSTEAD}`)
  }
  const asExpression = parse(`(${text}\n)`)
  if (asExpression.program !== undefined) {
    if (functionIn(asExpression.program) !== undefined) return text
    return refuse(`it is a class, which cannot be called: wrap it in a function, ${INSTEAD}`)
  }
  // Any method may stand in a class, static ones too: their text does not say so.
  const opening = "(class {"
  const asMethod = parse(`${opening}${text}\n})`)
  if (asMethod.program === undefined) {
    // The attempt that got further is the one that was meant.
    const problem = asExpression.at - 1 >= asMethod.at - opening.length ? asExpression.problem : asMethod.problem
    return refuse(`its source is not valid by itself, in strict mode: ${problem}`)
  }
  const method = methodIn(asMethod.program)
  if (method === undefined) return refuse("its source cannot be understood")
  if (method.kind === "get" || method.kind === "set") {
    return refuse(`it is a getter or a setter, which cannot be called: wrap it in a function, ${INSTEAD}`)
  }
  // The key may be private, or computed of variables; what counts of it is the name that it gave.
  const key = JSON.stringify(name)
  const prefix = `${method.value.async ? "async " : ""}${method.value.generator ? "*" : ""}`
  return `({ ${prefix}${key}${text.slice(method.value.start - opening.length)} })[${key}]`
}

/** The only expression of a program. */
const expressionIn = (program: Acorn.Program): Acorn.Expression | undefined => {
  const statement = program.body[0]
  return program.body.length === 1 && statement.type === "ExpressionStatement" ? statement.expression : undefined
}

/** The function that a program is, or the method that {@link toExpression} takes out of an object. */
const functionIn = (program: Acorn.Program): FunctionNode | undefined => {
  const expression = expressionIn(program)
  switch (expression?.type) {
    case "FunctionExpression":
    case "ArrowFunctionExpression":
      return expression
    case "MemberExpression": {
      const member = expression.object.type === "ObjectExpression" ? expression.object.properties[0] : undefined
      return member?.type === "Property" && member.value.type === "FunctionExpression" ? member.value : undefined
    }
  }
  return undefined
}

const methodIn = (program: Acorn.Program): Acorn.MethodDefinition | undefined => {
  const expression = expressionIn(program)
  const members = expression?.type === "ClassExpression" ? expression.body.body : []
  return members.length === 1 && members[0].type === "MethodDefinition" ? members[0] : undefined
}

/**
 * Gives a function that is instrumented for coverage counters of its own: those of its module cannot be reached from a
 * machine.
 */
const uncounted = (expression: string, counters: ReadonlyArray<string>): string => {
  if (counters.length === 0) return expression
  const counter = "(b => () => ({ s: [], f: [], b, bT: b }))(new Proxy([], { get: () => [] }))"
  return `((${counters.join(", ")}) => ${expression})(${counters.map(() => counter).join(", ")})`
}
