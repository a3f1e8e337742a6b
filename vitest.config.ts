import { defineConfig } from "vitest/config"

const onNode = !("Deno" in globalThis) && !("Bun" in globalThis)

// `npm test` runs the suite on Node from JavaScript (scripts/lib/compile.mjs), but for three files: the model checker
// reads the TypeScript sources, the package is made of them, and one suite with workers goes the way of tsx.
const compiled = process.env.RUNON_COMPILED === "1"
const asTypeScript = ["tests/Model.test.ts", "tests/Package.test.ts", "tests/Inline.test.ts"]

export default defineConfig({
  test: {
    include: compiled ? [".node/tests/**/*.test.js", ...asTypeScript] : ["tests/**/*.test.ts"],
    exclude: ["node_modules", ".node/tests/{Package,Inline}.test.js"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A process for each file, on all three runtimes (they fork their own binary): tests count the threads of
    // their process, and one that ends its process or leaves a stuck worker must not take others along.
    pool: "forks",
    poolOptions: {
      forks: {
        isolate: true,
        minForks: 1,
        // Every file starts threads of its own.
        maxForks: 2,
        // Vitest compiles what tests import, but not what workers load: that is up to the runtime, and to tsx on Node.
        execArgv: onNode && !compiled ? ["--import", "tsx"] : [],
      },
    },
  },
})
