/**
 * Explores a model: all its schedules, or all with at most so many preemptions; or random ones.
 *
 * A choice is one number: which thread goes on (0 to 15), which machine dies (16 and up), whose wait times out (32 and
 * up). A list of choices is a schedule, and can be run again.
 */
import type { Program } from "./compile.ts"
import { Op } from "./ops.ts"
import { type Actor, begin, type Model, type Setup } from "./Model.ts"
import { BLOCKED, DEAD, FINISHED, READY, type Thread } from "./Thread.ts"
import { Violation, type World } from "./World.ts"

export const DIE = 16
export const TIME_OUT = 32

/** What an exploration found. */
export interface Report {
  readonly states: number
  /** Schedules run to their end, or to a state that was known. */
  readonly schedules: number
  readonly deepest: number
  readonly failure: Failure | undefined
  /** Whether the limit of states cut it short. */
  readonly cut: boolean
  /** By word: who reads and who writes it. A schedule can be run again under the same division of words only. */
  readonly sharing: Sharing
}

/** Which threads read and write each word, as bits. */
export interface Sharing {
  readonly readers: Uint8Array
  readonly writers: Uint8Array
}

export interface Failure {
  readonly message: string
  readonly choices: ReadonlyArray<number>
  /** "all": a choice before each access, whatever its word. */
  readonly sharing: Sharing | "all"
}

/** Bounds of an exploration. */
export interface Limits {
  /** Overrides the model's own. */
  readonly preemptions?: number
  readonly deaths?: number
  readonly maxStates?: number
}

/** Which states were seen, and with how many preemptions at least. Open addressing over two 32-bit halves. */
class Seen {
  #keys = new Int32Array(1 << 17)
  #costs = new Uint8Array(1 << 16)
  #used = 0

  get size(): number {
    return this.#used
  }

  /** False if the state was seen at the same or a lower cost. */
  add(h1: number, h2: number, cost: number): boolean {
    if (this.#used * 2 > this.#costs.length) this.#grow()
    const at = this.#find(h1, h2)
    const known = this.#costs[at]
    if (known !== 0 && known <= cost + 1) return false
    if (known === 0) this.#used++
    this.#keys[2 * at] = h1
    this.#keys[2 * at + 1] = h2
    this.#costs[at] = cost + 1
    return true
  }

  #find(h1: number, h2: number): number {
    const mask = this.#costs.length - 1
    let at = (h1 ^ (h2 >>> 7)) & mask
    while (this.#costs[at] !== 0 && (this.#keys[2 * at] !== h1 || this.#keys[2 * at + 1] !== h2)) at = (at + 1) & mask
    return at
  }

  #grow(): void {
    const keys = this.#keys
    const costs = this.#costs
    this.#keys = new Int32Array(keys.length * 2)
    this.#costs = new Uint8Array(costs.length * 2)
    for (let i = 0; i < costs.length; i++) {
      if (costs[i] === 0) continue
      const at = this.#find(keys[2 * i], keys[2 * i + 1])
      this.#keys[2 * at] = keys[2 * i]
      this.#keys[2 * at + 1] = keys[2 * i + 1]
      this.#costs[at] = costs[i]
    }
  }
}

interface Level {
  readonly threads: ReadonlyArray<Thread>
  readonly waiting: ReadonlyArray<number>
  readonly h1: number
  readonly h2: number
  readonly mark: number
  readonly choices: ReadonlyArray<number>
  next: number
  readonly current: number
  readonly preemptions: number
  readonly deaths: number
  readonly timeouts: number
}

/** A model being run: its world, and what may happen next in it. */
export class Run {
  readonly model: Model
  readonly setup: Setup
  readonly actors: ReadonlyArray<Actor>
  readonly world: World
  readonly maxDeaths: number
  deaths = 0
  timeouts = 0
  current = -1
  /** The last step was a turn of an event loop. */
  get yielded(): boolean {
    return this.current < 0
  }

  constructor(model: Model, program: Program, limits: Limits = {}, sharing?: Sharing | "all") {
    this.model = model
    const { actors, setup } = begin(model, program, sharing)
    this.setup = setup
    this.actors = actors
    this.world = setup.world
    this.maxDeaths = Math.min(model.deaths ?? 0, limits.deaths ?? Infinity)
  }

  /** Threads that can go on, the current one first; then the other things that may happen. */
  choices(): { readonly ready: number; readonly all: Array<number> } {
    const { threads } = this.world
    const all: Array<number> = []
    if (this.current >= 0 && threads[this.current].state === READY) all.push(this.current)
    for (let i = 0; i < threads.length; i++) {
      if (i !== this.current && threads[i].state === READY) all.push(i)
    }
    const ready = all.length
    for (let i = 0; i < threads.length; i++) {
      const { b, state } = threads[i]
      if (state === BLOCKED && b > 0 && this.timeouts < (this.model.timeouts ?? 0)) all.push(TIME_OUT + i)
      const mortal = this.actors[i].machine !== undefined && state !== FINISHED && state !== DEAD
      if (mortal && this.deaths < this.maxDeaths) all.push(DIE + i)
    }
    return { ready, all }
  }

  /** Does one thing. */
  take(choice: number): void {
    if (choice >= TIME_OUT) {
      this.timeouts++
      this.world.timeOut(choice - TIME_OUT)
    } else if (choice >= DIE) {
      this.deaths++
      this.current = -1
      this.world.kill(choice - DIE, this.actors[choice - DIE].machine!)
    } else {
      // A wait that does not block is a turn of the event loop or a look at the clock: others may come first.
      this.current = this.world.threads[choice].op === Op.wait ? -1 : choice
      this.world.step(choice)
    }
  }

  /** Judges a state in which no thread can go on. */
  judge(): string | undefined {
    return this.model.check?.(this.setup)
  }
}

/** Finds which words are shared, by running some schedules at random; exploring corrects what they miss. */
const warmUp = (model: Model, program: Program, limits: Limits): Sharing => {
  let sharing: Sharing | undefined
  for (let seed = 1; seed <= 40; seed++) {
    const run = new Run(model, program, limits, sharing)
    sharing = run.world
    let random = seed * 0x9e3779b1
    try {
      for (let n = 0; n < 2000; n++) {
        const { all, ready } = run.choices()
        if (all.length === 0) break
        random = Math.imul(random ^ (random >>> 15), 0x2c1b3c6d) + 0x9e3779b9 | 0
        const pick = (random >>> 8) % 8 === 0 || ready === 0 ? (random >>> 12) % all.length : (random >>> 12) % ready
        run.take(all[pick])
      }
    } catch (error) {
      // What it found is found again by the exploration.
      if (!(error instanceof Error)) throw error
    }
  }
  return sharing!
}

/** Explores all schedules within the bounds, depth first. */
export function explore(model: Model, program: Program, limits: Limits = {}): Report {
  let sharing = warmUp(model, program, limits)
  for (;;) {
    const run = new Run(model, program, limits, sharing)
    const report = search(run, limits)
    if (report !== undefined) return report
    sharing = run.world
  }
}

/** States that are looked at before an exploration begins anew because a word turned out to be shared. */
const LEARN_STATES = 2000

/** Undefined if another word turned out to be shared meanwhile. */
const search = (run: Run, limits: Limits): Report | undefined => {
  const { world } = run
  const bound = limits.preemptions ?? run.model.preemptions ?? Infinity
  const bounded = bound !== Infinity
  const maxStates = limits.maxStates ?? Infinity
  const seen = new Seen()
  const hash = new Int32Array(2)
  const levels: Array<Level> = []
  const path: Array<number> = []
  let schedules = 0
  let deepest = 0
  let preemptions = 0
  let failure: Failure | undefined
  // There may be more to learn before it is worth it to begin anew.
  let restartAt = Infinity

  /** Whether there is anything new from here on. */
  const open = (): boolean => {
    world.hash(hash)
    // With a bound, what may come depends on who ran last as well.
    if (bounded) hash[0] ^= Math.imul(run.current + 2, 0x5bd1e995)
    hash[1] ^= Math.imul(run.deaths * 7 + run.timeouts + 1, 0x1b873593)
    if (!seen.add(hash[0], hash[1], bounded ? preemptions : 0)) return false
    const { all, ready } = run.choices()
    if (ready === 0) {
      const message = run.judge()
      if (message !== undefined) throw new Violation(message)
    }
    const mustStay = preemptions >= bound && ready > 0 && all[0] === run.current
    const choices = mustStay ? all.filter((choice, i) => i === 0 || choice >= DIE) : all
    if (choices.length === 0) return false
    levels.push({
      threads: world.threads,
      waiting: world.waiting,
      h1: world.h1,
      h2: world.h2,
      mark: world.mark,
      choices,
      next: 0,
      current: run.current,
      preemptions,
      deaths: run.deaths,
      timeouts: run.timeouts,
    })
    return true
  }

  try {
    open()
    while (levels.length > 0) {
      const level = levels[levels.length - 1]
      path.length = levels.length - 1
      if (level.next === level.choices.length) {
        levels.pop()
        continue
      }
      if (level.next > 0) {
        world.undo(level.mark)
        world.threads = level.threads
        world.waiting = level.waiting
        world.h1 = level.h1
        world.h2 = level.h2
        run.deaths = level.deaths
        run.timeouts = level.timeouts
      }
      run.current = level.current
      preemptions = level.preemptions
      const choice = level.choices[level.next++]
      path.push(choice)
      const forced = level.current < 0 || level.threads[level.current].state !== READY
      if (choice < DIE && choice !== level.current && !forced) preemptions++
      run.take(choice)
      if (path.length > deepest) deepest = path.length
      if (world.sharingChanged && restartAt === Infinity) restartAt = 2 * seen.size + LEARN_STATES
      if (seen.size > restartAt) return undefined
      if (!open()) schedules++
      if (seen.size > maxStates) return { states: seen.size, schedules, deepest, failure, cut: true, sharing: world }
    }
  } catch (error) {
    // Broken promises, and whatever else goes wrong in a scheduler that is broken.
    if (!(error instanceof Error)) throw error
    failure = { message: error.message, choices: [...path], sharing: world }
  }
  if (restartAt !== Infinity && failure === undefined) return undefined
  return { states: seen.size, schedules, deepest, failure, cut: false, sharing: world }
}
