/** Functions from their source, on the machine that is to run them. */

/** Makes a function from an expression that {@link functionSource} produced. */
export const compileSource = (source: string): (...args: Array<never>) => unknown =>
  // esbuild keeps function names by calls of a helper that it puts in the module: give the function one of its own.
  new Function("__name", `"use strict"; return (${source})`)((fn: unknown) => fn)
