/**
 * The parser and the scope analysis that `Task.inline` rests on: acorn and eslint-scope. They are loaded by the first
 * use, synchronously, because that takes tens of milliseconds, and most programs have no use for them; nor have
 * machines, each of which loads what its tasks' modules import.
 */
import type * as Acorn from "acorn"
import type * as EslintScope from "eslint-scope"

type Ast = Parameters<typeof EslintScope.analyze>[0]

interface Libraries {
  readonly acorn: typeof Acorn
  readonly scope: typeof EslintScope
}

/**
 * Never called. Deno fetches the npm packages that a module names in its imports, of whatever kind, before it runs the
 * program; from then on `require` finds them, even if the module itself comes over HTTP and has no directory.
 */
export const named = (): Promise<unknown> => Promise.all([import("acorn"), import("eslint-scope")])

let loaded: Libraries | undefined

const load = (): Libraries => {
  if (loaded !== undefined) return loaded
  // Not imported, because that alone would cost every program on Deno tens of milliseconds.
  const { createRequire } = process.getBuiltinModule("node:module")
  // A path that is absolute on every system serves a module that came over HTTP: see above.
  const require = createRequire(import.meta.url.startsWith("file:") ? import.meta.url : "file:///C:/runon.js")
  try {
    return loaded = { acorn: require("acorn"), scope: require("eslint-scope") }
  } catch (cause) {
    throw new Error(
      "Task.inline needs the packages acorn and eslint-scope, which runon depends on but which cannot be loaded " +
        "(a program that bundles runon must leave it external): use Task.make in a module instead",
      { cause },
    )
  }
}

/** What parsing came to: a tree, or what is wrong at which offset. */
export type Parsed =
  | { readonly program: Acorn.Program }
  | { readonly program: undefined; readonly problem: string; readonly at: number }

/** Parses as a module, so in strict mode. */
export const parse = (text: string): Parsed => {
  const { acorn } = load()
  try {
    const options = {
      ecmaVersion: "latest",
      sourceType: "module",
      // The scope analysis goes by them.
      ranges: true,
      // In an arrow of a method it is an error all the same, but one that is better explained than a syntax error.
      allowSuperOutsideMethod: true,
    } as const
    return { program: acorn.parse(text, options) }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return {
      program: undefined,
      problem: error.message.replace(/ \(\d+:\d+\)$/, ""),
      at: (error as SyntaxError & { readonly pos?: number }).pos ?? 0,
    }
  }
}

/** The identifiers that refer to nothing in the program. */
export const freeIdentifiers = (program: Acorn.Program): ReadonlyArray<Acorn.Identifier> => {
  const manager = load().scope.analyze(program as unknown as Ast, {
    ecmaVersion: 2025,
    sourceType: "module",
    // It does not know of import attributes by itself.
    childVisitorKeys: { ImportExpression: ["source", "options"] },
  })
  return manager.globalScope!.through.map((reference) => reference.identifier as unknown as Acorn.Identifier)
}
