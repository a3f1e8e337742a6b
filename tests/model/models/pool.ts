/** Models of a whole pool: the host and two or three machines with their schedule loops. */
import { ASYNC_LONG, NEEDS_HELP, NEEDS_PEER } from "../actors/machines.ts"
import { ASYNC, ENDLESS } from "../actors/suspended.ts"
import { CANCELLED, DELIVERED, IN_FLIGHT } from "../actors/ghosts.ts"
import { atRest, first, locksFree } from "../check.ts"
import type { Model, Setup } from "../Model.ts"
import { DEAD, FINISHED } from "../Thread.ts"
import { calls, machine, queued, replacement, watcher } from "./setup.ts"

interface Options extends Partial<Omit<Model, "actors">> {
  readonly name: string
  readonly shows: string
  readonly procs: number
  /** What the host does. */
  readonly host?: string
  readonly tasks: ReadonlyArray<number>
}

/** Every call was delivered or cancelled. */
const allTold = (calls: number) => ({ ghosts, s }: Setup): string | undefined => {
  const told = s.mem[ghosts + DELIVERED] + s.mem[ghosts + CANCELLED]
  return told === calls ? undefined : `the host was told of ${told} calls of ${calls}`
}

/** A host that submits tasks, and machines that run them. */
export const pool = ({ check, host = "submitEach", tasks, ...options }: Options): Model => {
  const machines = Array.from({ length: options.procs }, (_, m) => m)
  const mortal = (options.deaths ?? 0) > 0
  return {
    ...options,
    actors: (setup) => [
      ...machines.map((m) => machine(setup, m)),
      { name: "host", run: `host.${host}`, args: [setup.s, tasks] },
      ...(mortal ? [replacement(setup)] : []),
    ],
    check: check ?? atRest([...machines, undefined, undefined], allTold(tasks.length)),
  }
}

const closed = (setup: Setup): string | undefined =>
  first(() => locksFree(setup), () => {
    const { ghosts, s, world } = setup
    const open = world.threads.findIndex((thread) => thread.state !== FINISHED)
    if (open >= 0) return `the pool was closed, and thread ${open} goes on`
    return s.mem[ghosts + IN_FLIGHT] === 0 ? undefined : "the pool was closed with calls in flight"
  })

export const poolModels: ReadonlyArray<Model> = [
  pool({
    name: "submit, spin and park",
    shows: "no runnable G is left while all machines sleep, from their very start",
    procs: 2,
    tasks: [0, 0],
    preemptions: 2,
  }),
  pool({
    name: "wake up",
    shows: "sleeping machines are woken for each call",
    procs: 2,
    tasks: [0, 0],
    asleep: true,
    preemptions: 3,
    fast: true,
  }),
  pool({
    name: "wake up, 3 machines",
    shows: "the last spinner, needspinning and the undo of a wake-up",
    procs: 3,
    tasks: [0, 0],
    asleep: true,
    preemptions: 2,
  }),
  pool({
    name: "spinning",
    shows: "a spinner that polls without being woken",
    procs: 2,
    spins: 2,
    tasks: [0, 0],
    asleep: true,
    preemptions: 2,
  }),
  pool({
    name: "one shared queue",
    shows: "the pool without local queues",
    procs: 2,
    global: true,
    tasks: [0, 1],
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "one shared queue, two calls that must meet",
    shows: "no machine sleeps beside a call while another is held up",
    procs: 2,
    global: true,
    tasks: [NEEDS_PEER, 0],
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "bounded",
    shows: "at most one root in progress per machine, and every root wakes who may take it",
    procs: 2,
    bounded: true,
    tasks: [0, 1, 0],
    host: "submitAll",
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "spawn and join",
    shows: "children are run by their parent or by a thief, and joined once",
    procs: 2,
    tasks: [2],
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "a parent that needs help",
    shows: "no machine sleeps while a G waits in the queue of a busy one",
    procs: 2,
    tasks: [NEEDS_HELP, 0],
    asleep: true,
    preemptions: 3,
    fast: true,
  }),
  pool({
    name: "help that is about to sleep",
    shows: "a spinner that finds nothing looks at every queue once more before it sleeps",
    procs: 2,
    tasks: [0, NEEDS_HELP],
    asleep: true,
    preemptions: 3,
    fast: true,
  }),
  pool({
    name: "needspinning",
    shows: "a machine that goes to sleep without having looked everywhere is told of work that came meanwhile",
    procs: 2,
    tasks: [NEEDS_HELP],
    preemptions: 3,
    fast: true,
  }),
  pool({
    name: "help from a machine that wakes by itself",
    shows: "a waker that comes too late for one machine looks for another",
    procs: 2,
    tasks: [NEEDS_HELP],
    asleep: true,
    timeouts: 1,
    preemptions: 3,
    fast: true,
  }),
  pool({
    name: "bounded, with a suspended root",
    shows: "a root wakes more than the machine that may not take it",
    procs: 2,
    bounded: true,
    tasks: [ASYNC_LONG, 0],
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  {
    name: "death of a waker",
    shows: "a spinning bit that a dead waker left misleads nobody",
    procs: 2,
    deaths: 1,
    preemptions: 2,
    fast: true,
    actors: (setup) => {
      const { N, s } = setup
      const [hint] = calls(setup, 1)
      s.mem[N.layout.gw(s, 1) + N.layout.G_TASK] = NEEDS_HELP
      queued(setup, [hint])
      N.idle.announceIdle(s, 1)
      return [
        { name: "M0", run: "parts.waker", args: [s], machine: 0 },
        // Only the waker dies: this is about what it leaves behind.
        { name: "M1", run: "parts.sleeper", args: [s, setup.machine(1)] },
        watcher(setup),
        replacement(setup),
      ]
    },
    // While it lives P0 has no machine, and nobody helps.
    check: (setup) =>
      setup.world.threads[0].state === DEAD ? atRest([0, 1, undefined, undefined], allTold(1))(setup) : undefined,
  },
  pool({
    name: "bounded, from the start",
    shows: "a machine that may take a root looks for one after it announced itself",
    procs: 2,
    bounded: true,
    tasks: [0, 0],
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "two parents that need help",
    shows: "one machine in three helps both of the others",
    procs: 3,
    tasks: [NEEDS_HELP, NEEDS_HELP],
    asleep: true,
    preemptions: 2,
  }),
  pool({
    name: "nested joins",
    shows: "joins help, and none waits for what is below it on its stack",
    procs: 2,
    tasks: [11, 0],
    asleep: true,
    preemptions: 2,
  }),
  pool({
    name: "a join that cannot help",
    shows: "a G that needs the event loop goes back to the queue and on to another machine",
    procs: 2,
    host: "submitAll",
    tasks: [1, ASYNC],
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "cancel",
    shows: "a cancelled call never starts, or is asked to stop, and is told of once",
    procs: 2,
    host: "submitAndCancel",
    tasks: [ENDLESS, ENDLESS],
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "close",
    shows: "closing ends queued calls and machines, asleep or not",
    procs: 2,
    host: "submitAndClose",
    tasks: [0, 0],
    preemptions: 1,
    check: closed,
    fast: true,
  }),
  pool({
    name: "close a sleeping pool",
    shows: "closing wakes who sleeps or is about to",
    procs: 2,
    host: "submitAndClose",
    tasks: [ENDLESS],
    asleep: true,
    preemptions: 3,
    check: closed,
  }),
  pool({
    name: "full table",
    shows: "a host without records goes on when some are free again",
    procs: 2,
    capacity: 2,
    tasks: [1, 0, 1],
    host: "submitAll",
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "death of a machine",
    shows: "its Gs fail, no other is lost, its P goes on",
    procs: 2,
    tasks: [0, 0],
    asleep: true,
    deaths: 1,
    preemptions: 1,
  }),
  pool({
    name: "death of a parent or a thief",
    shows: "children of the dead are thrown away, their parents are told of dead children",
    procs: 2,
    tasks: [1],
    asleep: true,
    deaths: 1,
    preemptions: 1,
  }),
  pool({
    name: "death in a bounded pool",
    shows: "roots are queued as roots again",
    procs: 2,
    bounded: true,
    tasks: [0, 0],
    host: "submitAll",
    asleep: true,
    deaths: 1,
    preemptions: 1,
  }),
  pool({
    name: "death in a bounded pool with a suspended root",
    shows: "a root that the dead had in hand goes to who may take a root",
    procs: 2,
    bounded: true,
    tasks: [ASYNC_LONG, 0],
    host: "submitAll",
    asleep: true,
    deaths: 1,
    preemptions: 1,
    // If the suspended one dies the other may never see two.
    check: (setup) => locksFree(setup),
  }),
]
