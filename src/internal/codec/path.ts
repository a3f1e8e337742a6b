/** A step into a Map or a Set, where no property name leads. */
export interface MethodStep {
  readonly method: "get" | "keys" | "values"
  readonly key: unknown
}

/** One step from a value to a value inside it. */
export type Step = string | number | MethodStep

const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u

const literal = (key: unknown): string => {
  switch (typeof key) {
    case "string":
      return JSON.stringify(key)
    case "bigint":
      return `${key}n`
    case "object":
    case "function":
      return key === null ? "null" : "…"
    default:
      return String(key)
  }
}

const render = (step: Step): string => {
  if (typeof step === "number") return `[${step}]`
  if (typeof step === "string") return identifier.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
  return step.method === "get" ? `.get(${literal(step.key)})` : `.${step.method}()[${step.key}]`
}

// Enough to find the place; the rest of a path through a long chain says nothing.
const MAX_STEPS = 32

/** Where the steps lead, as the user would write it: `args[0].handlers.onClick`, `result.get("key")`. */
export const renderPath = (root: "args" | "result", steps: ReadonlyArray<Step>): string => {
  // A result is sent as a list of one, and nobody but the codec knows of that list.
  const shown = steps.slice(root === "args" ? 0 : 1, MAX_STEPS).map(render).join("")
  return root + shown + (steps.length > MAX_STEPS ? "…" : "")
}
