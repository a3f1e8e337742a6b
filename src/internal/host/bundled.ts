/** What to say of a machine whose first module does not exist: this package was put into a bundle, without its files. */

/** The error for that. `module` is where the thread looked for it. */
export const bundled = (module: URL, cause: unknown): Error =>
  new Error(
    `${module.href} does not exist: machines load this package's own files, so keep "runon" external to bundles`,
    { cause },
  )

/** The error of a thread that may not have found its first module, where reading files needs no permission. */
export const explained = (module: URL, error: unknown): unknown =>
  module.protocol !== "file:" || process.getBuiltinModule("node:fs").existsSync(module) ? error : bundled(module, error)
