import process from "node:process"
import { explore } from "./explore.ts"
import { programFor } from "./Model.ts"
import { models } from "./models/index.ts"
import { describe, shortest } from "./trace.ts"

for (const model of models) {
  if (process.argv[2] && !new RegExp(process.argv[2]).test(model.name)) continue
  const program = await programFor(model)
  const began = performance.now()
  const report = explore(model, program, {
    maxStates: Number(process.env.MAX ?? 1_000_000),
    ...(process.env.PRE ? { preemptions: Number(process.env.PRE) } : {}),
  })
  console.log(
    model.name.padEnd(44),
    report.states,
    report.schedules,
    report.deepest,
    report.cut ? "CUT" : "",
    Math.round(performance.now() - began),
    report.failure?.message ?? "",
  )
  if (report.failure && process.argv[3]) console.log(describe(model, program, shortest(model, program, report.failure)))
}
