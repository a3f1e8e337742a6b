/** Errors as data: what structured clone would lose of them is described, and put back on the other side. */
import { registeredClass, registeredName } from "./errorClasses.ts"
import { describe } from "./unsendable.ts"
import type { ErrorShell } from "./wire.ts"

const builtIns: ReadonlyArray<ErrorConstructor> = [
  Error,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
]

const makeByBase = new Map<string, (shell: ErrorShell) => Error>([
  ...builtIns.map((cls): [string, () => Error] => [cls.name, () => new cls()]),
  ["AggregateError", () => new AggregateError([])],
  // Its name and message live in slots that only the constructor fills.
  ["DOMException", (shell) => new DOMException(shell.message, shell.name)],
])

const baseByPrototype = new Map<object, string>([
  ...builtIns.map((cls): [object, string] => [cls.prototype, cls.name]),
  [AggregateError.prototype, "AggregateError"],
  [DOMException.prototype, "DOMException"],
])

const baseOf = (error: object): string => {
  for (let p = Object.getPrototypeOf(error); p !== null; p = Object.getPrototypeOf(p)) {
    const base = baseByPrototype.get(p)
    if (base !== undefined) return base
  }
  return "Error"
}

const readText = (error: object, key: "name" | "message"): string => {
  try {
    const value: unknown = (error as Record<string, unknown>)[key]
    return typeof value === "string" ? value : describe(value)
  } catch (cause) {
    return `[reading "${key}" threw ${describe(cause)}]`
  }
}

// JavaScriptCore formats the stack when the properties are first listed, and only then: with `Error.prepareStackTrace`
// that runs code of the user, which may throw. A proxy throws twice.
const ownNames = (error: object): ReadonlyArray<string> => {
  try {
    return Object.getOwnPropertyNames(error)
  } catch {
    return Object.getOwnPropertyNames(error)
  }
}

/** An error without its properties, which may lead back to it: they are copied once its shell is known. */
export const shellOf = (error: object): ErrorShell => ({
  kind: "error",
  base: baseOf(error),
  registered: registeredName(Object.getPrototypeOf(error)),
  name: readText(error, "name"),
  message: readText(error, "message"),
  own: {},
  hidden: {},
})

/** Calls `copy` for every property to send: all that are enumerable, and those that errors own without showing them. */
export const copyProperties = (
  error: object,
  shell: ErrorShell,
  copy: (into: Record<string, unknown>, key: string) => void,
): void => {
  for (const key of ownNames(error)) {
    if (Object.prototype.propertyIsEnumerable.call(error, key)) copy(shell.own, key)
    else if (key === "cause" || key === "errors") copy(shell.hidden, key)
  }
  // Not always an own property: a DOMException inherits it on some runtimes.
  if (!Object.hasOwn(shell.own, "stack")) copy(shell.hidden, "stack")
}

const define = (error: object, key: string, value: unknown, enumerable: boolean): void => {
  Object.defineProperty(error, key, { value, enumerable, writable: true, configurable: true })
}

// Getters of a registered class (a message made from its fields) run here for the first time, and may throw.
const reads = (error: Error, key: "name" | "message", expected: string): boolean => {
  try {
    return error[key] === expected
  } catch {
    return false
  }
}

// The stack of this place would be taken, formatted and thrown away: up to 100 µs with source maps. `Reflect.set`
// because the constructor may be frozen.
const withoutStack = (make: () => Error): Error => {
  const limit = Error.stackTraceLimit
  Reflect.set(Error, "stackTraceLimit", 0)
  try {
    return make()
  } finally {
    Reflect.set(Error, "stackTraceLimit", limit)
  }
}

/** The object that an error becomes, still without properties, so that those can lead back to it. */
export const makeError = (shell: ErrorShell): Error => {
  const make = makeByBase.get(shell.base)
  return withoutStack(() => make === undefined ? new Error() : make(shell))
}

/** Puts the properties on, once all that they lead to has been made. */
export const fillError = (error: Error, shell: ErrorShell): void => {
  for (const key of Object.keys(shell.hidden)) define(error, key, shell.hidden[key], false)
  for (const key of Object.keys(shell.own)) define(error, key, shell.own[key], true)
  // Last: to define `stack` makes V8 format the old one, for which it asks the class, whose getters need the fields.
  const cls = shell.registered === undefined ? undefined : registeredClass(shell.registered)
  if (cls !== undefined) Object.setPrototypeOf(error, cls.prototype)
  for (const key of ["name", "message"] as const) {
    if (!Object.hasOwn(shell.own, key) && !reads(error, key, shell[key])) define(error, key, shell[key], false)
  }
}
