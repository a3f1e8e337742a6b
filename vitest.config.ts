import { defineConfig } from "vitest/config"

const onNode = !("Deno" in globalThis) && !("Bun" in globalThis)

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
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
        execArgv: onNode ? ["--import", "tsx"] : [],
      },
    },
  },
})
