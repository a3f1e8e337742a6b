/**
 * Error classes that keep their identity when they cross threads.
 *
 * @since 0.1.0
 */
import * as registry from "./internal/codec/errorClasses.ts"

/**
 * Lets errors of a class come back as instances of it. Without this, an error arrives with its name, message, stack,
 * cause and own properties (`_tag` included), as an instance of the built-in class that it extends.
 *
 * The name, `Class.name` unless given, is what crosses threads: register the class in the module that declares it, so
 * that every thread which can see the class has registered it. The constructor is not run when an error
 * arrives: its own properties are put back on an object with the class's prototype. `#private` fields are lost.
 *
 * Returns the class, so it can be used where the class is declared. Throws a `TypeError` if another class has the
 * name, or if there is no name.
 *
 * @example
 * import { registerErrorClass } from "runon"
 *
 * class NotPrime extends Error {
 *   readonly divisor: number
 *   constructor(divisor: number) {
 *     super(`divisible by ${divisor}`)
 *     this.divisor = divisor
 *   }
 * }
 * registerErrorClass(NotPrime)
 *
 * @since 0.1.0
 * @category errors
 */
export const registerErrorClass = <C extends abstract new (...args: never) => Error>(
  cls: C,
  name: string = cls.name,
): C => {
  registry.register(cls, name)
  return cls
}
