/** Any class of errors, abstract or not, whatever its constructor takes. */
export type ErrorClass = abstract new (...args: never) => Error

const byName = new Map<string, ErrorClass>()
const nameByPrototype = new Map<object, string>()

export const register = (cls: ErrorClass, name: string): void => {
  if (name === "") throw new TypeError("an error class without a name cannot be registered: pass a name")
  const known = byName.get(name)
  if (known === cls) return
  if (known !== undefined) {
    throw new TypeError(
      `another error class is already registered as "${name}": give one of them a name of its own, ` +
        `registerErrorClass(${name}, "…")`,
    )
  }
  byName.set(name, cls)
  nameByPrototype.set(cls.prototype, name)
}

/** The class that another thread registered under this name, if this one did too. */
export const registeredClass = (name: string): ErrorClass | undefined => byName.get(name)

/** The name of the nearest registered class in the chain that starts at `prototype`. */
export const registeredName = (prototype: object | null): string | undefined => {
  for (let p = prototype; p !== null; p = Object.getPrototypeOf(p)) {
    const name = nameByPrototype.get(p)
    if (name !== undefined) return name
  }
  return undefined
}
