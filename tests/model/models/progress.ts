/** Models of the slots in which Gs tell how far they are. */
import { LIVES, REPORTS, TOLD } from "../actors/ghosts.ts"
import { CALLER } from "../actors/suspended.ts"
import { atRest, first, locksFree, nothingLeft, recordsAddUp } from "../check.ts"
import type { Actor, Model, Setup } from "../Model.ts"
import { withHost } from "./parts.ts"
import { pool } from "./pool.ts"
import { part } from "./setup.ts"

/** A host that listens to batches of calls, one after the other; see reporters.ts. */
const listener = (batches: ReadonlyArray<ReadonlyArray<number>>, looks: number) => (setup: Setup): Actor => ({
  name: "host",
  run: "reporters.listener",
  args: [setup.s, batches, looks],
})

/** A call to which nobody listens leaves the slot alone. */
const nothingUnheard = ({ ghosts, s }: Setup): string | undefined => {
  for (let g = 1; g <= s.capacity; g++) {
    const made = s.mem[ghosts + REPORTS + g]
    // Whoever listens has been told by now, unless the machine died in the midst of a report.
    if (s.mem[ghosts + TOLD + g] > 0 || made === 0 || made % 2 === 1) continue
    const done = s.mem[s.progress.words.at + 8 * g + 2]
    if (Math.floor(done / 80) === s.mem[ghosts + LIVES + g]) return `G${g} has reported, and nobody listens`
  }
  return undefined
}

/** All calls of the host have ended, and were told of as they should. */
const heard = (setup: Setup): string | undefined =>
  first(
    () => locksFree(setup),
    () => nothingLeft(setup),
    () => recordsAddUp(setup),
    () => nothingUnheard(setup),
  )

const reporters = (setup: Setup): ReadonlyArray<Actor> =>
  Array.from({ length: setup.s.procs }, (_, m) => part(setup, m, "reporters.reporter"))

export const progressModels: ReadonlyArray<Model> = [
  withHost({
    name: "progress",
    shows: "what is read belongs together, comes in order and once, and the last report comes before the end",
    procs: 1,
    fast: true,
    machines: reporters,
    host: listener([[3]], 3),
    check: heard,
  })[0],
  ...withHost({
    name: "progress of a record's next life",
    shows: "a slot that is used again tells nothing of its former life, and nothing if nobody listens",
    procs: 2,
    preemptions: 3,
    fast: true,
    machines: reporters,
    host: listener([[2], [2], [-1]], 1),
    check: heard,
  }),
  ...withHost({
    name: "progress of two",
    shows: "each G has a slot of its own",
    procs: 2,
    preemptions: 2,
    fast: true,
    machines: reporters,
    host: listener([[1, 2], [1]], 1),
    check: heard,
  }),
  pool({
    name: "progress of calls",
    shows: "a machine listens to the calls of a suspended G",
    procs: 2,
    tasks: [CALLER + 700 + 1],
    asleep: true,
    preemptions: 2,
    fast: true,
    check: (setup) => first(() => atRest([0, 1, undefined])(setup), () => nothingUnheard(setup)),
  }),
  pool({
    name: "progress of calls, with a death",
    shows: "what a dead machine has not ended or not heard does no harm to what comes after it",
    procs: 2,
    tasks: [CALLER + 700 + 2],
    asleep: true,
    deaths: 1,
    preemptions: 1,
  }),
]
