import { types } from "node:util"

const iteratorPrototype: object = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()))
const asyncIteratorPrototype: object = Object.getPrototypeOf(
  Object.getPrototypeOf(Object.getPrototypeOf((async function* () {})())),
)

const article = (name: string): string => (/^[AEIOU]/.test(name) ? `an ${name}` : `a ${name}`)

// Reads no getter: a class may declare anything under this name.
const constructorOf = (prototype: object): unknown => Object.getOwnPropertyDescriptor(prototype, "constructor")?.value

/**
 * Why an object whose class is not one of those the encoder copies cannot be sent, or undefined if it is an instance
 * of somebody's own class: that is sent as its own enumerable properties, as structured clone does.
 *
 * The runtimes do not agree on what else can be cloned, and some send an empty object without a word (a `Blob` or a
 * `MessagePort` through `node:v8` on Deno). So every other class that the platform offers as a global is refused,
 * on all runtimes alike.
 */
export const refusal = (value: object): string | undefined => {
  if (types.isPromise(value)) return "a promise stays with the thread that made it: await it first"
  const tag = Object.prototype.toString.call(value)
  if (tag.startsWith("[object Intl.") || tag.startsWith("[object WebAssembly.")) {
    return `${article(tag.slice(8, -1))} cannot be copied`
  }
  for (let p: object | null = value; p !== null && p !== Object.prototype; p = Object.getPrototypeOf(p)) {
    if (p === iteratorPrototype || p === asyncIteratorPrototype) {
      return "an iterator or generator stays with the thread that made it: send its items"
    }
    const constructor = constructorOf(p)
    if (typeof constructor !== "function" || constructor.name === "") continue
    if (Object.getOwnPropertyDescriptor(globalThis, constructor.name) === undefined) continue
    if ((globalThis as Record<string, unknown>)[constructor.name] === constructor) {
      return `${article(constructor.name)} cannot be copied`
    }
  }
  return undefined
}
