import { types } from "node:util"

const iteratorPrototype: object = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()))
const asyncIteratorPrototype: object = Object.getPrototypeOf(
  Object.getPrototypeOf(Object.getPrototypeOf((async function* () {})())),
)

const article = (name: string): string => (/^[AEIOU]/.test(name) ? `an ${name}` : `a ${name}`)

// Reads no getter: a class may declare anything under this name.
const constructorOf = (prototype: object): unknown => Object.getOwnPropertyDescriptor(prototype, "constructor")?.value

const callId = Symbol.for("runon/Call")
const effectId = Symbol.for("effect/Effect")

/** Whether an Effect is Option or Either, which are data and pass for Effects. */
const isData = (effect: object): boolean =>
  "_tag" in effect && ["None", "Some", "Left", "Right"].includes(String(effect._tag))

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
  if (callId in value) return "a call is run by yield*, by await Task.run(call), or by Task.spawn(call).join()"
  if (effectId in value && !isData(value)) {
    return "an Effect stays with the thread that made it: make the task with Task.effect to have its Effect run"
  }
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
