import { describe, expect, it } from "vitest"
import { runScript } from "./support/run.ts"

// The whole audit, a million Gs and a hundred kills, is `npm run stress`.
describe("A pool whose machines die all the time", () => {
  it("runs every G once or fails its call, loses none, and leaves no thread", async () => {
    const args = ["20000", "4", "7"]
    const { code, stderr, stdout } = await runScript(new URL("./stress/kill.ts", import.meta.url), args, {
      timeout: 150_000,
    })
    expect(stderr).toBe("")
    const audit = JSON.parse(stdout) as { readonly deaths: number; readonly threads: number | "unknown" }
    expect(audit).toMatchObject({ missing: 0, records: 0, inFlight: 0, problems: [] })
    expect(audit.deaths).toBeGreaterThanOrEqual(4)
    expect(audit.threads === "unknown" ? 0 : audit.threads).toBeLessThanOrEqual(0)
    expect(code).toBe(0)
  }, 160_000)
})
