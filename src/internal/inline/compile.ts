/** Functions from their source, on the machine that is to run them. */

/** esbuild keeps function names by calls of a helper that it puts in the module. */
const keepName = (fn: unknown): unknown => fn

/**
 * Makes a function from an expression that {@link functionSource} produced, in strict mode, as in the module that it
 * comes from. Stack traces give lines of the function's own source, under the task's name.
 *
 * Throws an `Error` if this runtime may not compile code from strings.
 */
export const compileSource = (source: string, name = "task"): (...args: Array<never>) => unknown => {
  const script = `"use strict"; (__name) => (${source}\n)\n//# sourceURL=runon:inline/${name.replace(/[^\w$.-]/g, "_")}`
  let make: (keep: typeof keepName) => (...args: Array<never>) => unknown
  try {
    // Called by another name, it sees globals only; and unlike Function it puts no lines before the source.
    make = (0, eval)(script)
  } catch (cause) {
    if (!(cause instanceof EvalError)) throw cause
    throw new Error(
      "Task.inline compiles source that was sent as text, and this runtime is told to refuse that " +
        "(--disallow-code-generation-from-strings, or a Content-Security-Policy): use Task.make in a module",
      { cause },
    )
  }
  return make(keepName)
}
