/** Models of calls that suspended Gs make, and of the mail that tells of their ends. */
import { COLLECTED, STARTED } from "../actors/ghosts.ts"
import { NOBODY } from "../actors/callers.ts"
import { CALLER, FOREVER, LATE_FOREVER, NEEDS_BUFFER } from "../actors/suspended.ts"
import { first, locksFree, nobodyStuck, nothingLeft, recordsAddUp } from "../check.ts"
import type { Model, Setup } from "../Model.ts"
import { BLOCKED, FINISHED } from "../Thread.ts"
import { withHost } from "./parts.ts"
import { pool } from "./pool.ts"
import { part } from "./setup.ts"

/** Makes runnable Gs that machine 0 waits for, and returns their hints. They stand in no queue. */
const callsOf0 = ({ N, s }: Setup, n: number): Array<number> => {
  const { layout, slots, status } = N
  return Array.from({ length: n }, () => {
    const g = slots.allocate(s, slots.listOf(0), slots.homeOf(0), 0)
    const G = layout.gw(s, g)
    s.mem[G + layout.G_FLAGS] = layout.FLAG_MAIL
    s.mem[G + layout.G_PARENT] = NOBODY
    s.mem[G + layout.G_WAITER] = 1
    return status.makeRunnable(s, g)
  })
}

/** Machine 0, if it lives, has taken the outcomes of all its calls; no record is left in use. */
const allCollected = (calls: number) => (setup: Setup): string | undefined =>
  first(
    () => {
      const [caller] = setup.world.threads
      if (caller.state === BLOCKED) return "the caller sleeps for ever"
      const n = setup.s.mem[setup.ghosts + COLLECTED]
      return caller.state === FINISHED && n !== calls ? `${n} outcomes of ${calls} calls were taken` : undefined
    },
    () => locksFree(setup),
    () => nothingLeft(setup),
    () => nobodyStuck(setup),
    () => recordsAddUp(setup),
  )

/** Fills a box with hints of former lives, as finishers leave them that died before they set the flag. */
const fillBox = ({ N, s }: Setup, m: number): void => {
  const box = N.layout.mw(s, m) + N.layout.M_BOX
  for (let i = 0; i < N.layout.MAIL_SLOTS; i++) s.mem[box + i] = N.status.hintOf(3 + i, 1000)
}

/** With full boxes. The host cancels when so many Gs have been started. */
const inFullBoxes = (started: number, model: Model): Model => ({
  ...model,
  actors: (setup) => {
    for (let m = 0; m < model.procs; m++) fillBox(setup, m)
    setup.s.mem[setup.ghosts + STARTED] = 2 - started
    return model.actors(setup)
  },
})

const mail: ReadonlyArray<Model> = [
  ...withHost({
    name: "mail",
    shows: "a machine sleeps only when no call has ended whose outcome it has not taken",
    procs: 3,
    preemptions: 3,
    fast: true,
    machines: (setup) => {
      const [one, two, three] = callsOf0(setup, 3)
      return [
        part(setup, 0, "callers.caller", [one, two, three], 0),
        part(setup, 1, "callers.finisher", [one, three], 0),
        part(setup, 2, "callers.finisher", [two], 0),
      ]
    },
    check: allCollected(3),
  }),
  ...withHost({
    name: "mail in a full box",
    shows: "who finds no slot makes the machine look at all its calls",
    procs: 3,
    preemptions: 3,
    fast: true,
    machines: (setup) => {
      fillBox(setup, 0)
      const [one, two] = callsOf0(setup, 2)
      return [
        part(setup, 0, "callers.caller", [one, two], 0),
        part(setup, 1, "callers.finisher", [one], 0),
        part(setup, 2, "callers.finisher", [two], 0),
      ]
    },
    check: allCollected(2),
  }),
  ...withHost({
    name: "mail to a record's second life",
    shows: "a hint that comes when its record is used again does no harm",
    procs: 3,
    preemptions: 4,
    fast: true,
    machines: (setup) => {
      fillBox(setup, 0)
      const [one, two] = callsOf0(setup, 2)
      return [
        part(setup, 0, "callers.caller", [one, two], 1),
        // The record that is given back last is used again first.
        part(setup, 1, "callers.finisher", [two], 0),
        part(setup, 2, "callers.finisher", [one], 1),
      ]
    },
    check: allCollected(3),
  }),
]

/** Calls of: a plain task, an endless one, one that suspends for ever, once, or for a buffer, a caller. */
const [PLAIN, ENDLESS_ONES, SUSPENDED_ONES, ASYNC_ONES, LATE_ONES, CALLERS, STUCK_CALLERS] = [
  CALLER,
  CALLER + 100,
  CALLER + 200,
  CALLER + 300,
  CALLER + 400,
  CALLER + 500,
  CALLER + 600,
]

/** Calls one after the other instead of at once. */
const LATER = 10

/** All calls of Gs, and that they were taken: no record is left, as `atRest` sees to. */
export const callModels: ReadonlyArray<Model> = [
  ...mail,
  pool({
    name: "calls of a suspended G",
    shows: "a G that waits for its calls holds no processor, and goes on when they have ended",
    procs: 2,
    tasks: [PLAIN + 2],
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "calls one after the other",
    shows: "a machine looks at its mail before it sleeps, also when it has just gone on with a caller",
    procs: 2,
    tasks: [PLAIN + 1 + LATER, 0],
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "more calls than slots",
    shows: "three machines and a box that is too small",
    procs: 3,
    tasks: [PLAIN + 4],
    asleep: true,
    preemptions: 1,
  }),
  pool({
    name: "calls of calls",
    shows: "callers that wait for callers, on one machine or on two",
    procs: 2,
    tasks: [CALLERS + 1, 0],
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "calls that suspend",
    shows: "a call that waits for the event loop ends from there",
    procs: 2,
    tasks: [ASYNC_ONES + 2],
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "calls that are queued again",
    shows: "a call that waits for a buffer before it starts is then run by anybody",
    procs: 2,
    tasks: [LATE_ONES + 1, 0],
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "bounded, with a root that is queued again",
    shows: "a root that waits for a buffer goes back to the roots",
    procs: 2,
    bounded: true,
    tasks: [NEEDS_BUFFER, 0],
    host: "submitAll",
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "cancelled calls, queued or running",
    shows: "calls of a cancelled caller that have not started never do, the others are asked to stop",
    procs: 2,
    host: "submitAndCancel",
    tasks: [ENDLESS_ONES + 2],
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "cancelled calls that run",
    shows: "the host cancels a caller whose call has started",
    procs: 2,
    host: "cancelStarted",
    tasks: [ENDLESS_ONES + 1],
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "cancelled calls that sleep",
    shows: "the machine of a suspended call is woken to end it, even as it goes to sleep",
    procs: 2,
    host: "cancelStarted",
    tasks: [SUSPENDED_ONES + 1],
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "cancelled calls that have ended",
    shows: "the end of a call and the cancellation of its caller",
    procs: 2,
    host: "cancelStarted",
    tasks: [PLAIN + 1],
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "cancelled calls of calls",
    shows: "a cancellation goes down from caller to caller",
    procs: 2,
    host: "cancelStarted",
    tasks: [STUCK_CALLERS + 1],
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  inFullBoxes(
    5,
    pool({
      name: "cancelled calls of calls, in full boxes",
      shows: "a machine that looked at all its calls does not stay awake for what it has taken by that",
      procs: 2,
      host: "cancelStarted",
      tasks: [STUCK_CALLERS + 2],
      asleep: true,
      preemptions: 2,
    }),
  ),
  pool({
    name: "a cancelled suspended call of the host",
    shows: "a G that is cancelled as it suspends is ended",
    procs: 2,
    host: "submitAndCancel",
    tasks: [FOREVER, FOREVER],
    asleep: true,
    preemptions: 2,
    fast: true,
  }),
  pool({
    name: "cancelled as it is queued again",
    shows: "a G that suspends again was perhaps cancelled at an epoch that its machine has seen",
    procs: 1,
    host: "submitAndCancel",
    tasks: [FOREVER, LATE_FOREVER],
    asleep: true,
    preemptions: 3,
    fast: true,
  }),
  pool({
    name: "death of a caller or of what it called",
    shows: "calls of the dead are thrown away once, callers are told of dead calls",
    procs: 2,
    tasks: [PLAIN + 2],
    asleep: true,
    deaths: 1,
    preemptions: 1,
    fast: true,
  }),
  pool({
    name: "death among callers",
    shows: "calls one after the other, of which one may die",
    procs: 2,
    tasks: [PLAIN + 1 + LATER],
    asleep: true,
    deaths: 1,
    preemptions: 1,
  }),
  pool({
    name: "death of who was to pass a cancellation on",
    shows: "the host asks calls of the dead to stop",
    procs: 2,
    host: "cancelStarted",
    tasks: [SUSPENDED_ONES + 1],
    asleep: true,
    deaths: 1,
    preemptions: 0,
  }),
  pool({
    name: "death with cancelled calls",
    shows: "a call that was cancelled ends once, whoever dies",
    procs: 2,
    host: "cancelStarted",
    tasks: [SUSPENDED_ONES + 1],
    asleep: true,
    deaths: 1,
    preemptions: 1,
  }),
]
