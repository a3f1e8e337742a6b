/**
 * `npm run check:model`: explores all models, in two processes, and tells what it saw.
 *
 * --model NAME            only models whose names contain NAME; a failure comes with its trace
 * --model NAME --replay C runs one schedule again, given its choices
 * --model NAME --seed N   runs one random schedule again
 * --mutations [NAME]      breaks the scheduler in many ways, and tells which model noticed (Markdown)
 * --states N, --random N  states and random schedules per model
 */
import { fork } from "node:child_process"
import process from "node:process"
import { fileURLToPath } from "node:url"
import { explore } from "./explore.ts"
import { type Model, programFor } from "./Model.ts"
import { justified } from "./justified.ts"
import { models } from "./models/index.ts"
import { mutations } from "./mutations.ts"
import { runRandom } from "./random.ts"
import { describe, replay, shortest } from "./trace.ts"

const PROCESSES = 2
const MAX_STATES = 600_000
const RANDOM = 300
/** States per model with a mutation: first a few in all models, then more. */
const MUTANT_STATES = [20_000, 400_000]
const MUTANT_RANDOM = 40

const option = (name: string): string | undefined => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? undefined : process.argv[at + 1] ?? ""
}

const maxStates = Number(option("states") ?? MAX_STATES)
const random = Number(option("random") ?? RANDOM)

interface Line {
  readonly text: string
  readonly ok: boolean
  readonly states: number
  readonly schedules: number
  readonly races: ReadonlyArray<string>
}

const checkModel = async (model: Model): Promise<Line> => {
  const program = await programFor(model)
  const began = performance.now()
  const report = explore(model, program, { maxStates })
  const more = report.failure === undefined ? runRandom(model, program, 1, random) : undefined
  const failure = report.failure ?? more?.failure
  const bound = model.preemptions === undefined ? "all" : `≤ ${model.preemptions}`
  const states = `${report.states}${report.cut ? "+" : ""}`
  const ms = Math.round(performance.now() - began)
  const row = [model.name.padEnd(42), bound.padEnd(5), states.padStart(9), String(report.schedules).padStart(9)]
  const text = [
    ...row,
    String(report.deepest).padStart(6),
    String(more?.schedules ?? 0).padStart(7),
    `${ms} ms`.padStart(10),
  ]
  const { failure: randomFailure } = more ?? {}
  const trace = failure === undefined
    ? ""
    : randomFailure !== undefined
    ? `\n  seed ${randomFailure.seed}\n${describe(model, program, randomFailure)}`
    : `\n${describe(model, program, shortest(model, program, failure))}`
  return {
    text: text.join("  ") + trace,
    ok: failure === undefined,
    states: report.states,
    schedules: report.schedules + (more?.schedules ?? 0),
    races: [...more?.races.keys() ?? []],
  }
}

const checkMutation = async ({ likely, name, patches }: (typeof mutations)[number]): Promise<Line> => {
  let states = 0
  const caught = (model: Model, message: string): Line => (
    { text: `| ${name} | ${model.name} | ${message} |`, ok: true, states, schedules: 0, races: [] }
  )
  const likeliest = [
    ...models.filter((model) => likely.test(model.name)),
    ...models.filter(({ name }) => !likely.test(name)),
  ]
  for (const limit of MUTANT_STATES) {
    for (const model of likeliest) {
      const program = await programFor(model, { patches })
      const report = explore(model, program, { maxStates: limit })
      states += report.states
      if (report.failure !== undefined) return caught(model, report.failure.message)
      // These end if they can, and so find what runs for ever.
      const { failure } = runRandom(model, program, 1, MUTANT_RANDOM)
      if (failure !== undefined) return caught(model, `${failure.message} (seed ${failure.seed})`)
    }
  }
  return { text: `| ${name} | **nothing** | |`, ok: false, states, schedules: 0, races: [] }
}

/** Shares out jobs 0 to n-1 to processes of our own; results in order. */
const inParallel = async (indices: ReadonlyArray<number>, onLine: (line: Line) => void): Promise<void> => {
  let next = 0
  await Promise.all(
    Array.from({ length: Math.min(PROCESSES, indices.length) }, () =>
      new Promise<void>((resolve, reject) => {
        const child = fork(fileURLToPath(import.meta.url), process.argv.slice(2), {
          env: { ...process.env, MODEL_CHILD: "1" },
        })
        const more = () => next < indices.length ? child.send(indices[next++]) : child.send("end")
        child.on("message", (line: Line | "ready") => {
          if (line !== "ready") onLine(line)
          more()
        })
        child.on("exit", (code) =>
          code === 0 ? resolve() : reject(new Error(`a process of the checker ended with ${code}`)))
      })),
  )
}

const work = (run: (index: number) => Promise<Line>): void => {
  process.on("disconnect", () => process.exit(1))
  process.on("message", async (index: number | "end") => {
    if (index === "end") return process.exit(0)
    process.send!(await run(index))
  })
  process.send!("ready")
}

const wanted = option("model")
const mutating = process.argv.includes("--mutations")

const replayOne = async (): Promise<void> => {
  const model = models.find(({ name }) => name === wanted) ?? models.find(({ name }) => name.includes(wanted ?? ""))!
  const program = await programFor(model)
  const seed = option("seed")
  if (seed !== undefined) {
    const { failure } = runRandom(model, program, Number(seed), 1)
    console.log(failure === undefined ? `seed ${seed}: nothing found` : describe(model, program, failure))
    return
  }
  const failure = { message: "", choices: option("replay")!.split(",").map(Number), sharing: "all" as const }
  console.log(describe(model, program, failure))
  process.exitCode = replay(model, program, failure) === undefined ? 0 : 1
}

const main = async (): Promise<void> => {
  const began = performance.now()
  const named = option("mutations") ?? ""
  const jobs: ReadonlyArray<{ readonly name: string }> = mutating ? mutations : models
  const filter = mutating ? (named.startsWith("--") ? "" : named) : wanted ?? ""
  const indices = jobs.map((_, i) => i).filter((i) => jobs[i].name.includes(filter))
  console.log(
    mutating
      ? "| mutation | caught by | as |\n|---|---|---|"
      : `${"model".padEnd(42)}  bound     states  schedules  steps  random        time`,
  )
  let [failed, states, schedules] = [0, 0, 0]
  const races = new Set<string>()
  await inParallel(indices, (line) => {
    console.log(line.text)
    if (!line.ok) failed++
    states += line.states
    schedules += line.schedules
    for (const race of line.races) races.add(race)
  })
  const unexplained = [...races].filter((race) => !justified.has(race)).sort()
  console.log(`\n${races.size} pairs of racing accesses, ${unexplained.length} of them not justified in README.md`)
  for (const race of unexplained) console.log(`  ${race}`)
  failed += unexplained.length
  const seconds = Math.round((performance.now() - began) / 1000)
  const what = mutating
    ? `${indices.length - failed} of ${indices.length} mutations caught`
    : `${indices.length} models, ${failed} failed`
  console.log(`\n${what}; ${states} states, ${schedules} schedules, ${seconds} s`)
  if (failed > 0) process.exitCode = 1
}

if (process.env.MODEL_CHILD === "1") work((i) => (mutating ? checkMutation(mutations[i]) : checkModel(models[i])))
else if (option("replay") !== undefined || option("seed") !== undefined) await replayOne()
else await main()
