/** Failing schedules: made short, and written out. */
import type { Program } from "./compile.ts"
import { DIE, explore, type Failure, type Limits, Run, TIME_OUT } from "./explore.ts"
import { opNames } from "./ops.ts"
import type { Model } from "./Model.ts"
import { valueName, wordName } from "./names.ts"

/** How many states a search for a shorter schedule may look at. */
const SEARCH_STATES = 1_000_000

/** What happens when a schedule is run again: the message of its failure, if it fails. */
export function replay(
  model: Model,
  program: Program,
  { choices, sharing }: Pick<Failure, "choices" | "sharing">,
  onRun: (run: Run) => void = () => {},
  onChoice: (choice: number) => void = () => {},
): string | undefined {
  const run = new Run(model, program, {}, sharing)
  onRun(run)
  try {
    for (const choice of choices) {
      onChoice(choice)
      run.take(choice)
    }
    return run.choices().ready === 0 ? run.judge() : undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** The failing schedule with the fewest deaths, then the fewest preemptions, that can be found in a bounded search. */
export function shortest(model: Model, program: Program, found: Failure): Failure {
  const deaths = found.choices.filter((choice) => choice >= DIE && choice < TIME_OUT).length
  for (let dead = 0; dead <= deaths; dead++) {
    for (let preemptions = 0; preemptions <= 4; preemptions++) {
      const limits: Limits = { preemptions, deaths: dead, maxStates: SEARCH_STATES }
      const { failure } = explore(model, program, limits)
      if (failure !== undefined) return failure
    }
  }
  return found
}

/** The same schedule with a choice before every access, so that it needs nothing else to be run again. */
export function spelledOut(model: Model, program: Program, failure: Failure): Failure {
  if (failure.sharing === "all") return failure
  const run = new Run(model, program, {}, failure.sharing)
  const { counts } = run.world
  const choices = run.actors.flatMap(({ run: name }, i) =>
    model.asleep && name === "machines.runMachine" ? [] : new Array<number>(counts[i]).fill(i)
  )
  try {
    for (const choice of failure.choices) {
      const before = counts[choice] ?? 0
      const access = choice < DIE && !isWait(run, choice)
      choices.push(choice)
      run.take(choice)
      // The first of them was the choice itself, unless that only ended a wait.
      for (let n = counts[choice] - before - (access ? 1 : 0); n > 0; n--) choices.push(choice)
    }
  } catch {
    // Here it fails: the rest of the step is not needed to tell.
    for (let n = 0; n < 64; n++) choices.push(failure.choices[failure.choices.length - 1])
  }
  return { message: failure.message, choices, sharing: "all" }
}

const isWait = (run: Run, thread: number): boolean => opNames[run.world.threads[thread].op] === "wait"

/** A failing schedule for people. */
export function describe(model: Model, program: Program, found: Failure): string {
  const failure = spelledOut(model, program, found)
  const lines: Array<string> = []
  let last = ""
  let run: Run | undefined
  const message = replay(model, program, failure, (r) => {
    run = r
    r.world.onAccess = (thread, op, at, before, after) => {
      const { actors, setup, world } = r
      const name = wordName(setup, at)
      if (at >= setup.ghosts && opNames[op] !== "wait" && opNames[op] !== "notify") return
      const [from, to] = [valueName(setup, name, before), valueName(setup, name, after)]
      const what = before === after ? from : `${from} → ${to}`
      const frames = world.running ?? []
      const place = frames.map((frame) => program.codes[frame[0] as number].name.replace(/^.*\./, "")).slice(-3).join(
        " › ",
      )
      const who = actors[thread].name
      const label = who === last ? "" : who
      last = who
      lines.push(`  ${label.padEnd(9)} ${opNames[op].padEnd(16)}${name.padEnd(18)} ${what.padEnd(34)} ${place}`)
    }
  }, (choice) => {
    if (choice >= TIME_OUT) lines.push(`  ${run!.actors[choice - TIME_OUT].name}: its wait times out`)
    else if (choice >= DIE) lines.push(`  ${run!.actors[choice - DIE].name} dies`)
  })
  return [
    `model ${model.name}: ${message ?? failure.message}`,
    ...lines,
    `  again: npm run check:model -- --model "${model.name}" --replay ${failure.choices.join(",")}`,
  ].join("\n")
}
