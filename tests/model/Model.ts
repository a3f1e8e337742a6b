/**
 * What a model is: threads that use the scheduler, in memory made for them, and what must hold at the end.
 */
import { compile, type Program } from "./compile.ts"
import { constant } from "./values.ts"
import type { Changes } from "./modules.ts"
import { READY } from "./Thread.ts"
import { World } from "./World.ts"

/** A thread of a model: a function of the actors with its arguments; a machine can die. */
export interface Actor {
  readonly name: string
  /** `module.function` */
  readonly run: string
  readonly args: ReadonlyArray<unknown>
  /** The machine that it is, if it is one. */
  readonly machine?: number
}

/** A closed world to explore. */
export interface Model {
  readonly name: string
  /** What it is to show, for the report. */
  readonly shows: string
  readonly procs: number
  readonly capacity?: number
  readonly arena?: number
  readonly global?: boolean
  readonly bounded?: boolean
  readonly spins?: number
  readonly startIndex?: number
  readonly constants?: Readonly<Record<string, number>>
  /** How many machines may die in one schedule. */
  readonly deaths?: number
  /** How many waits with a time limit may end by themselves in one schedule. */
  readonly timeouts?: number
  /** Most preemptions in one schedule; none: every schedule. */
  readonly preemptions?: number
  /** Machines with a schedule loop sleep at the start. Otherwise all threads begin together. */
  readonly asleep?: boolean
  /** Also run by the fast test suite. */
  readonly fast?: boolean
  /** Writes what is there before the threads start, and names these. */
  readonly actors: (setup: Setup) => ReadonlyArray<Actor>
  /** What must hold when no thread can go on. A message if it does not. */
  readonly check?: (setup: Setup) => string | undefined
}

/** Ghost words: 32 per machine for what is in its heap, the rest for the models. */
export const GHOSTS = { death: 0, replace: 1, used: 2, model: 16, ran: 64, delivered: 128, failed: 192, machines: 256 }
const MACHINE_GHOSTS = 64
const GHOST_WORDS = GHOSTS.machines + 8 * MACHINE_GHOSTS
const SPILL = 8
/** Where a machine's other lists begin, by G: fewer than eight Gs in models that use them. */
const [AWAITED, ARRIVED, SUSPENDED, CALLERS] = [16, 24, 32, 40]

/** What a model's functions work with. */
export interface Setup {
  readonly world: World
  readonly program: Program
  /** The memory as the scheduler sees it. */
  // deno-lint-ignore no-explicit-any
  readonly s: any
  /** Native functions of all scheduler modules, and their constants. */
  // deno-lint-ignore no-explicit-any
  readonly N: any
  /** First ghost word. */
  readonly ghosts: number
  /** A machine's own state. */
  readonly machine: (m: number) => unknown
}

/** A machine's own list of numbers, in ghost words. */
class List {
  readonly world: World
  readonly base: number
  constructor(world: World, base: number) {
    this.world = world
    this.base = base
    constant(this)
  }
}
for (let i = 0; i < 16; i++) {
  Object.defineProperty(List.prototype, i, {
    get(this: List): number {
      return this.world.mem[this.base + i]
    },
    set(this: List, value: number) {
      this.world.poke(this.base + i, value)
    },
  })
}

/**
 * `Machine` of find.ts with its state in ghost words, so that it is taken back like all other memory. Two fields that
 * would make every state a new one are kept small: `tick` counts modulo the interval that it is used for, and the
 * random number stays the seed.
 */
class SimMachine {
  readonly m: number
  readonly p: number
  readonly random: number
  readonly spill: List
  readonly awaited: List
  readonly arrived: List
  readonly suspended: List
  readonly callers: List
  readonly #world: World
  readonly #base: number
  readonly #every: number

  constructor(world: World, base: number, m: number, every: number) {
    this.#world = world
    this.#base = base
    this.#every = every
    this.m = m
    this.p = m
    this.spill = new List(world, base + SPILL)
    this.awaited = new List(world, base + AWAITED)
    this.arrived = new List(world, base + ARRIVED)
    this.suspended = new List(world, base + SUSPENDED)
    this.callers = new List(world, base + CALLERS)
    const fixed = m + 1
    this.random = fixed
    Object.defineProperty(this, "random", { get: () => fixed, set: () => {} })
    constant(this)
  }
  get spinning(): boolean {
    return this.#world.mem[this.#base] !== 0
  }
  set spinning(value: boolean) {
    this.#world.poke(this.#base, value ? 1 : 0)
  }
  get tick(): number {
    return this.#world.mem[this.#base + 1]
  }
  set tick(value: number) {
    this.#world.poke(this.#base + 1, value % this.#every)
  }
  get streak(): number {
    return this.#world.mem[this.#base + 2]
  }
  set streak(value: number) {
    this.#world.poke(this.#base + 2, value)
  }
  get roots(): number {
    return this.#world.mem[this.#base + 3]
  }
  set roots(value: number) {
    this.#world.poke(this.#base + 3, value)
  }
  get helping(): number {
    return this.#world.mem[this.#base + 4]
  }
  set helping(value: number) {
    this.#world.poke(this.#base + 4, value)
  }
  get seenEpoch(): number {
    return this.#world.mem[this.#base + 5]
  }
  set seenEpoch(value: number) {
    this.#world.poke(this.#base + 5, value)
  }
  get vain(): number {
    return this.#world.mem[this.#base + 6]
  }
  set vain(value: number) {
    this.#world.poke(this.#base + 6, value)
  }
}

/** Constants of every model: small rings, short spins, little memory. */
const SMALL = {
  "layout.RING": 4,
  "layout.MAX_PROCS": 32,
  "layout.MAX_TASKS": 4,
  "layout.NAME_BYTES": 64,
  "layout.MAIL_SLOTS": 2,
  "layout.DONE_SLOTS": 2,
  "mail.TRIES": 2,
  "lock.TRIES": 1,
  "lock.HOST_TRIES": 2,
  "progressSlots.READ_TRIES": 2,
  "mentions.SLOTS": 2,
  "mentions.GENERATION_BITS": 1,
  "runq.NEXT_PATIENCE": 1,
  "find.STEAL_ROUNDS": 2,
  // Never, unless a model is about it.
  "find.GLOBAL_EVERY": 1 << 20,
}

const programs = new Map<string, Promise<Program>>()

/** Compiles what a model needs. */
export function programFor(model: Model, changes: Changes = {}): Promise<Program> {
  const constants = { ...SMALL, ...model.constants, ...changes.constants }
  const key = JSON.stringify([constants, changes.patches])
  let program = programs.get(key)
  if (program === undefined) programs.set(key, program = compile({ ...changes, constants }))
  return program
}

/** Builds the model's first state. */
export function begin(
  model: Model,
  program: Program,
  sharing?: { readonly readers: Uint8Array; readonly writers: Uint8Array } | "all",
): { readonly setup: Setup; readonly actors: ReadonlyArray<Actor> } {
  const N = program.native
  const { layout } = N
  const capacity = model.capacity ?? 6
  const mentionWords = 2 * Math.ceil(N.mentions.mentionsBytes(model.procs) / 8)
  const extra = GHOST_WORDS + mentionWords + N.progressSlots.progressBytes(capacity) / 4
  const raw = layout.create({
    procs: model.procs,
    machines: model.procs,
    capacity,
    arena: model.arena ?? 0,
    global: model.global ?? false,
    bounded: model.bounded ?? false,
    spins: model.spins ?? 0,
    startIndex: model.startIndex ?? 0,
  }, (bytes: number) => new ArrayBuffer(bytes + extra * 4))
  N.arena.formatArena(raw)
  const { mem } = raw
  const ghosts = mem.length - GHOST_WORDS
  const slots = constant({ at: mem.length - extra })
  const mentions = constant({ words: constant({ at: ghosts - mentionWords }) })
  const progress = constant({ words: slots, doubles: slots })
  const s = constant(Object.freeze({ ...raw, ghosts, progress, mentions }))
  const counters = Array.from({ length: model.procs }, (_, p) => layout.pw(p) + layout.P_COUNTERS)
  const world = new World(program, mem, {
    ghosts,
    ignored: (at) => counters.some((first) => at >= first && at < first + layout.COUNTERS.length),
    hostWake: layout.HOST_WAKE,
    death: ghosts + GHOSTS.death,
  })
  if (sharing === "all") world.allShared = true
  else if (sharing !== undefined) {
    world.readers.set(sharing.readers)
    world.writers.set(sharing.writers)
  }
  const every = N.find.GLOBAL_EVERY === SMALL["find.GLOBAL_EVERY"] ? 1 : N.find.GLOBAL_EVERY
  const machines = Array.from(
    { length: model.procs },
    (_, m) => new SimMachine(world, ghosts + GHOSTS.machines + m * MACHINE_GHOSTS, m, every),
  )
  const setup: Setup = { world, program, s, N, ghosts, machine: (m) => machines[m] }
  const actors = model.actors(setup)
  for (const { args, run } of actors) world.spawn(run, args)
  if (model.asleep) {
    actors.forEach(({ run }, i) => {
      while (run === "machines.runMachine" && world.threads[i].state === READY) world.step(i)
    })
  }
  world.sharingChanged = false
  return { setup, actors }
}
