/** Models of the run queues. */
import { EXPECTED, IN_FLIGHT, RAN, TAKEN } from "../actors/ghosts.ts"
import { first, locksFree, recordsAddUp } from "../check.ts"
import type { Actor, Model, Setup } from "../Model.ts"
import { accountedFor, calls, part, queued, strict, watcher } from "./setup.ts"

interface Options extends Partial<Omit<Model, "actors" | "check">> {
  readonly name: string
  readonly shows: string
  readonly procs: number
  readonly machines: (setup: Setup) => ReadonlyArray<Actor>
}

/** Machines that use queues; with a host that sweeps up if they can die. */
const queues = ({ machines, ...options }: Options): ReadonlyArray<Model> => {
  const check = (setup: Setup) => first(() => locksFree(setup), () => accountedFor(setup), () => recordsAddUp(setup))
  const alive: Model = {
    ...options,
    actors: (setup) => {
      strict(setup)
      return machines(setup)
    },
    check,
  }
  const { fast: _, ...rest } = options
  const dying: Model = {
    ...rest,
    name: `${options.name}, with a death`,
    deaths: 1,
    preemptions: options.preemptions === undefined ? 2 : Math.min(options.preemptions, 2),
    actors: (setup) => [...machines(setup), watcher(setup)],
    check,
  }
  return [alive, dying]
}

/** A ring that has been used: all its slots hold the entry of a G that runs. */
const wornRing = ({ N, ghosts, s }: Setup, p: number, hint: number): void => {
  for (let i = 0; i < N.layout.RING; i++) {
    N.runq.put(s, p, hint, false, p, new Int32Array(4))
    N.runq.get(s, p)
  }
  const g = N.status.claim(s, hint, p)
  s.mem[ghosts + RAN + g] = 1
  s.mem[ghosts + TAKEN + g] = 1
}

const ring = (startIndex: number): Omit<Options, "name"> => ({
  shows: "put, get and steal lose no entry and give none out twice",
  procs: 3,
  startIndex,
  preemptions: 3,
  machines: (setup) => {
    const hints = calls(setup, 3)
    return [
      part(setup, 0, "parts.alternatingOwner", hints),
      part(setup, 1, "parts.thief", 0, false, 1),
      part(setup, 2, "parts.thief", 0, false, 1),
    ]
  },
})

export const queueModels: ReadonlyArray<Model> = [
  ...queues({ name: "ring", ...ring(0), fast: true }),
  queues({ name: "ring over 2^31", ...ring(0x7fffffff) })[0],
  queues({ name: "ring over 2^32", ...ring(-1) })[0],
  ...queues({
    name: "overflow",
    shows: "half a full ring moves to the global queue, while a thief steals and another machine takes a batch",
    procs: 3,
    capacity: 8,
    preemptions: 2,
    fast: true,
    machines: (setup) => {
      const hints = calls(setup, 6)
      return [
        part(setup, 0, "parts.owner", hints, false),
        part(setup, 1, "parts.thief", 0, false, 1),
        part(setup, 2, "parts.taker", 1),
      ]
    },
  }),
  ...queues({
    name: "chained steal",
    shows: "what was stolen can be stolen again",
    procs: 3,
    preemptions: 3,
    machines: (setup) => {
      const hints = calls(setup, 4)
      const { N, s } = setup
      for (const hint of hints) N.runq.put(s, 0, hint, false, 0, new Int32Array(4))
      return [
        part(setup, 0, "parts.owner", [], false),
        part(setup, 1, "parts.lazyThief", 0),
        part(setup, 2, "parts.thief", 1, false, 2),
      ]
    },
  }),
  ...queues({
    name: "next against a thief",
    shows: "an entry in next is run once, whoever takes it",
    procs: 2,
    fast: true,
    machines: (setup) => {
      const hints = calls(setup, 3)
      return [part(setup, 0, "parts.owner", hints, true), part(setup, 1, "parts.thief", 0, true, 2)]
    },
  }),
  {
    name: "never seen empty",
    shows: "a queue does not look empty while an entry moves from next to the ring",
    procs: 2,
    fast: true,
    actors: (setup) => {
      const [one, ...hints] = calls(setup, 4)
      setup.N.runq.put(setup.s, 0, one, true, 0, new Int32Array(4))
      return [
        part(setup, 0, "parts.mover", hints),
        { name: "observer", run: "parts.observer", args: [setup.s, 0] },
      ]
    },
  },
  ...queues({
    name: "global queue",
    shows: "appends and takes under the lock; a batch goes to the taker's ring",
    procs: 3,
    preemptions: 3,
    machines: (setup) => {
      const hints = calls(setup, 5)
      wornRing(setup, 1, hints.pop()!)
      queued(setup, hints.slice(0, 2))
      return [
        part(setup, 0, "parts.appender", hints.slice(2)),
        part(setup, 1, "parts.taker", 1),
        part(setup, 2, "parts.singleTaker", 2),
      ]
    },
  }),
  ...queues({
    name: "batch into a full ring",
    shows: "a batch from the global queue takes no more than there is room for",
    procs: 2,
    capacity: 8,
    fast: true,
    machines: (setup) => {
      const hints = calls(setup, 7)
      for (const hint of hints.slice(0, 4)) setup.N.runq.put(setup.s, 1, hint, false, 1, new Int32Array(4))
      queued(setup, hints.slice(4))
      return [part(setup, 0, "parts.thief", 1, false, 1), part(setup, 1, "parts.taker", 1)]
    },
  }),
  ...queues({
    name: "compaction",
    shows: "a queue full of stale entries makes room and keeps the live ones",
    procs: 2,
    capacity: 3,
    fast: true,
    machines: (setup) => {
      // Room for 8. The oldest entry is the only one of its G; the others were cancelled, and are there repeatedly.
      const { N, s } = setup
      const hints = calls(setup, 3)
      queued(setup, [hints[2], hints[0], hints[1], hints[0], hints[1], hints[0], hints[1]])
      for (const g of [1, 2]) {
        N.status.cancelQueued(s, g, 0)
        N.slots.release(s, N.layout.HOST_FREE, N.slots.HOST_HOME, g, N.layout.HOST)
        s.mem[setup.ghosts + EXPECTED + g] = 0
        s.mem[setup.ghosts + IN_FLIGHT]--
      }
      const more = calls(setup, 2)
      return [part(setup, 0, "parts.appender", more), part(setup, 1, "parts.singleTaker", 1)]
    },
  }),
]
