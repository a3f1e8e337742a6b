/** The source of functions, as expressions that mean the same elsewhere. */

/** An expression for a function. */
export const functionSource = (fn: (...args: Array<never>) => unknown): string => Function.prototype.toString.call(fn)
