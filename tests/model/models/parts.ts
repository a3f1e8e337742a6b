/** Models of the other parts: locks, records, status words, completions, the arena. */
import { EXPECTED, IN_FLIGHT, MODEL, UNFREED } from "../actors/ghosts.ts"
import { arenaAddsUp, first, locksFree, nobodyStuck, recordsAddUp } from "../check.ts"
import type { Actor, Model, Setup } from "../Model.ts"
import { accountedFor, calls, part, queued, strict, watcher } from "./setup.ts"

type Check = (setup: Setup) => string | undefined

interface Options extends Partial<Omit<Model, "actors">> {
  readonly name: string
  readonly shows: string
  readonly procs: number
  readonly machines: (setup: Setup) => ReadonlyArray<Actor>
  readonly host?: (setup: Setup) => Actor
  readonly check: Check
}

/** Machines beside a host, once as they are and once with a death. */
export const withHost = ({ host = watcher, machines, ...options }: Options): ReadonlyArray<Model> => {
  const alive: Model = {
    ...options,
    actors: (setup) => {
      strict(setup)
      return [...machines(setup), host(setup)]
    },
  }
  const { fast: _, ...rest } = options
  return [alive, {
    ...rest,
    name: `${options.name}, with a death`,
    deaths: 1,
    preemptions: Math.min(options.preemptions ?? 2, 2),
    actors: (setup) => [...machines(setup), host(setup)],
  }]
}

const all = (...checks: ReadonlyArray<Check>): Check => (setup) => first(...checks.map((check) => () => check(setup)))

/** The arena holds nothing but what the host could not free yet. */
const arenaEmpty: Check = (setup) => {
  const { ghosts, s } = setup
  let words = 0
  for (let g = 1; g <= s.capacity; g++) {
    const block = s.mem[ghosts + UNFREED + g]
    if (block !== 0) words += 1 << (s.mem[block] & 0x1f)
  }
  return arenaAddsUp(words)(setup)
}

const lockAt = ({ N, s }: Setup): number => s.gq + N.layout.Q_LOCK

export const partModels: ReadonlyArray<Model> = [
  ...withHost({
    name: "lock",
    shows: "one holder at a time, and nobody sleeps on a free lock",
    procs: 3,
    fast: true,
    machines: (setup) => [0, 1, 2].map((m) => part(setup, m, "parts.section", lockAt(setup), 1)),
    host: (setup) => ({ name: "host", run: "parts.hostSection", args: [setup.s, lockAt(setup)] }),
    check: all(locksFree, nobodyStuck),
  }),
  ...withHost({
    name: "records",
    shows: "a record is given out once; after a death none is lost",
    procs: 2,
    capacity: 8,
    preemptions: 3,
    fast: true,
    machines: (setup) => [0, 1].map((m) => part(setup, m, "parts.recordUser", 1)),
    check: all(locksFree, recordsAddUp, nobodyStuck),
  }),
  ...withHost({
    name: "start, start and cancel",
    shows: "a G runs at most once, and never after it was cancelled in the queue",
    procs: 2,
    fast: true,
    machines: (setup) => {
      const [hint] = calls(setup, 1)
      queued(setup, [hint])
      return [part(setup, 0, "parts.starter", hint), part(setup, 1, "parts.starter", hint)]
    },
    host: (setup) => {
      setup.s.mem[setup.ghosts + MODEL + 2] = setup.N.layout.HOST_FREE
      return { name: "host", run: "parts.canceller", args: [setup.s, 1] }
    },
    // With nobody to run it, a G that is swept up and queued again stays there.
    check: all(locksFree, nobodyStuckOrQueued, recordsAddUp, accountedFor),
  }),
  ...withHost({
    name: "suspend, resume and cancel",
    shows: "a suspended G stays with its machine, and fails with it",
    procs: 2,
    machines: (setup) => {
      const [hint] = calls(setup, 1)
      queued(setup, [hint])
      return [part(setup, 0, "parts.suspender", hint), part(setup, 1, "parts.starter", hint)]
    },
    host: (setup) => {
      setup.s.mem[setup.ghosts + MODEL + 2] = setup.N.layout.HOST_FREE
      return { name: "host", run: "parts.canceller", args: [setup.s, 1] }
    },
    check: all(locksFree, nobodyStuckOrQueued, recordsAddUp, accountedFor),
  }),
  ...withHost({
    name: "unclaim",
    shows: "a G that was put back is run, once",
    procs: 2,
    fast: true,
    machines: (setup) => {
      const [hint] = calls(setup, 1)
      return [part(setup, 0, "parts.returnerAndTaker", hint), part(setup, 1, "parts.returnerAndTaker", hint)]
    },
    check: all(locksFree, nobodyStuckOrQueued, recordsAddUp, accountedFor),
  }),
  ...[
    { name: "completions", shows: "the host sleeps only when there is no mail, and gets each completion once" },
    {
      name: "completions on the stack",
      shows: "what finds its machine's ring full is told as well",
      constants: { "layout.DONE_SLOTS": 0 },
    },
  ].flatMap((options) =>
    withHost({
      ...options,
      procs: 3,
      preemptions: 4,
      fast: true,
      machines: (setup) => {
        const hints = calls(setup, 3)
        queued(setup, hints)
        return hints.map((hint, m) => part(setup, m, "parts.starter", hint))
      },
      check: all(locksFree, nobodyStuckOrQueued, recordsAddUp, accountedFor),
    })
  ),
  ...withHost({
    name: "completions in a ring that goes round",
    shows: "a slot is written again only when the host has read it",
    procs: 1,
    fast: true,
    machines: (setup) => {
      const hints = calls(setup, 4)
      queued(setup, hints)
      return [part(setup, 0, "callers.finisher", hints, 0)]
    },
    check: all(locksFree, nobodyStuckOrQueued, recordsAddUp, accountedFor),
  }),
  ...withHost({
    name: "join and completion",
    shows: "a joiner sleeps only while its child runs elsewhere, and is woken by its end",
    procs: 3,
    fast: true,
    machines: (setup) => {
      const { N, s } = setup
      const g = N.slots.allocate(s, N.slots.listOf(0), N.slots.homeOf(0), 0)
      s.mem[N.layout.gw(s, g) + N.layout.G_WAITER] = 1
      const hint = N.status.makeRunnable(s, g)
      queued(setup, [hint])
      return [
        part(setup, 0, "parts.waiter", hint),
        part(setup, 1, "parts.starter", hint),
        part(setup, 2, "parts.starter", hint),
      ]
    },
    check: all(locksFree, recordsAddUp, waiterDone),
  }),
  ...withHost({
    name: "a child that is put back",
    shows: "who sleeps until a G ends is woken when that may be run by itself",
    procs: 2,
    fast: true,
    machines: (setup) => {
      const { N, s } = setup
      const g = N.slots.allocate(s, N.slots.listOf(0), N.slots.homeOf(0), 0)
      s.mem[N.layout.gw(s, g) + N.layout.G_WAITER] = 1
      const hint = N.status.makeRunnable(s, g)
      return [part(setup, 0, "parts.waiter", hint), part(setup, 1, "parts.returner", hint)]
    },
    check: all(locksFree, recordsAddUp, waiterDone),
  }),
  ...withHost({
    name: "a record's second life",
    shows: "a stale hint starts nothing that was not made",
    procs: 2,
    fast: true,
    machines: (setup) => [part(setup, 0, "parts.twoLives"), part(setup, 1, "parts.hintUser", 2)],
    check: all(locksFree, recordsAddUp, accountedFor),
  }),
  ...withHost({
    name: "arena",
    shows: "blocks are given out once and merge again; after a death none is lost",
    procs: 2,
    arena: 4096,
    preemptions: 2,
    fast: true,
    machines: (setup) => {
      const { N, s } = setup
      const hints = calls(setup, 2)
      for (const g of [1, 2]) {
        s.mem[N.layout.gw(s, g) + N.layout.G_BLOCK] = N.arena.allocateBlock(s, 200, N.layout.HOST, 0)
      }
      queued(setup, hints)
      return hints.map((hint, m) => part(setup, m, "parts.payloadUser", hint, m === 0 ? 900 : 1800))
    },
    check: all(
      locksFree,
      nobodyStuckOrQueued,
      recordsAddUp,
      (setup) => setup.s.mem[setup.ghosts + IN_FLIGHT] === 0 ? arenaEmpty(setup) : undefined,
    ),
  }),
  ...withHost({
    name: "a child's arguments",
    shows: "a block that a thief takes from a dead machine's child is freed once",
    procs: 2,
    arena: 4096,
    preemptions: 3,
    fast: true,
    machines: (setup) => [
      part(setup, 0, "parts.payloadParent", 900),
      part(setup, 1, "parts.payloadThief", 0),
    ],
    check: all(locksFree, recordsAddUp, nobodyStuck, (setup) => anyUsed(setup) ? undefined : arenaEmpty(setup)),
  }),
]

/** Nobody waits for what will not come: what the host waits for stands in a queue, of which no one takes. */
function nobodyStuckOrQueued(setup: Setup): string | undefined {
  const { N, ghosts, s } = setup
  for (let g = 1; g < s.mem[N.layout.SLOTS_FRESH]; g++) {
    const state = N.status.stateOf(N.status.statusOf(s, g))
    if (state === N.status.FREE || state === N.status.RUNNABLE) continue
    return `everything rests, and G${g} is neither free nor runnable`
  }
  const runnable = s.mem[ghosts + IN_FLIGHT]
  let waiting = 0
  for (let g = 1; g <= s.capacity; g++) waiting += s.mem[ghosts + EXPECTED + g]
  return runnable === waiting ? undefined : `the host counts ${runnable} calls and waits for ${waiting}`
}

/** If the waiter lives, it has its child's end. */
function waiterDone({ world }: Setup): string | undefined {
  const [waiter] = world.threads
  return waiter.state === 1 ? "the waiter sleeps for ever" : undefined
}

function anyUsed({ N, s }: Setup): boolean {
  return N.slots.inUse(s) > 0
}
