/**
 * Random schedules beyond what can be explored: each thread has a priority, the highest that can go on does, and at a
 * few random steps the running one drops to the bottom (PCT, Burckhardt et al., 2010). Deaths and time-outs come at
 * random steps as well.
 *
 * A schedule that does not end is driven on fairly, everyone in turn; if it does not end then either, the threads run
 * for ever without getting anywhere, which no exploration of states would show.
 */
import type { Program } from "./compile.ts"
import { type Access, Races } from "./races.ts"
import { DIE, type Failure, Run, TIME_OUT } from "./explore.ts"
import type { Model } from "./Model.ts"

/** Steps after which a schedule is driven on fairly, and after which it counts as endless. */
const UNFAIR_STEPS = 3000
const MAX_STEPS = 20_000
/** About how many steps a schedule has. */
const STEPS = 250
/** Drops of priority in one schedule. */
const DROPS = 4

export interface RandomReport {
  readonly schedules: number
  readonly longest: number
  readonly failure: (Failure & { readonly seed: number }) | undefined
  /** Pairs of accesses to one word that no synchronisation orders. */
  readonly races: ReadonlyMap<string, readonly [Access, Access]>
}

const generator = (seed: number) => {
  let state = Math.imul(seed, 0x9e3779b1) | 1
  return (n: number): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % n
  }
}

/** Runs schedules of a model, one per seed. Every access is a place to switch, so a seed is the same schedule always. */
export function runRandom(model: Model, program: Program, first: number, count: number): RandomReport {
  const races = new Map<string, readonly [Access, Access]>()
  let longest = 0
  for (let seed = first; seed < first + count; seed++) {
    const run = new Run(model, program, {}, "all")
    const { world } = run
    const watch = new Races(run, races)
    world.onAccess = watch.access
    const choices: Array<number> = []
    const next = generator(seed)
    const priorities = run.actors.map((_, i) => next(1000) + DROPS + i / 100)
    const drops = Array.from({ length: DROPS }, () => next(STEPS))
    const death = run.maxDeaths > 0 ? next(STEPS) : -1
    try {
      for (let n = 0;; n++) {
        const { all, ready } = run.choices()
        const others = all.slice(ready).filter((choice) =>
          choice < TIME_OUT ? n === death || ready === 0 : next(50) === 0
        )
        if (ready === 0 && others.length === 0) break
        let choice: number
        if (others.length > 0 && (ready === 0 || n === death)) choice = others[next(others.length)]
        else if (n < UNFAIR_STEPS) {
          choice = all.slice(0, ready).reduce((a, b) => (priorities[b] > priorities[a] ? b : a))
          // A turn of the host's event loop gives way to others, as it does in life.
          if (drops.includes(n) || run.yielded) priorities[choice] = run.yielded ? -n : drops.indexOf(n) - n
        } else choice = all[n % ready]
        if (n > MAX_STEPS) throw new Error("the threads run for ever without getting anywhere")
        choices.push(choice)
        if (choice >= DIE) watch.died()
        run.take(choice)
        if (n + 1 > longest) longest = n + 1
      }
      const message = run.judge()
      if (message !== undefined) throw new Error(message)
    } catch (error) {
      const failure = { message: (error as Error).message, choices, sharing: "all" as const, seed }
      return { schedules: seed - first + 1, longest, failure, races }
    }
  }
  return { schedules: count, longest, failure: undefined, races }
}
