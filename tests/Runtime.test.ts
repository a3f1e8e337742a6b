import { describe, expect, it } from "vitest"
import { currentRuntime } from "./support/run.ts"

describe("Runtime", () => {
  it("is the one that the suite was started for, in the process of the test file too", (ctx) => {
    const expected = process.env.RUNON_RUNTIME
    if (expected === undefined) return ctx.skip("RUNON_RUNTIME is set by `npm test` only")
    expect(currentRuntime).toBe(expected)
  })
})
