/**
 * Ways to break mailboxes, and what machines and the host do around them. Of that the actors are changed, which follow
 * Nested.ts, Suspensions.ts, loop.ts and Burials.ts.
 */
import { type Mutation, mutation } from "./mutation.ts"

const mail = [
  mutation("post sets the flag before the slot", "mail.ts", [
    "  let flag = LOOK_AT_ALL\n",
    "  let flag = LOOK_AT_ALL\n  Atomics.or(s.mem, at + M_MAIL, SOME)\n",
  ], ["  Atomics.or(s.mem, at + M_MAIL, flag)\n", "  if (flag !== SOME) Atomics.or(s.mem, at + M_MAIL, flag)\n"]),
  mutation("post sets the flag with a store", "mail.ts", [
    "Atomics.or(s.mem, at + M_MAIL, flag)",
    "Atomics.store(s.mem, at + M_MAIL, flag)",
  ]),
  mutation("post does not unpark", "mail.ts", ["  unpark(s, m)\n", ""]),
  mutation("post unparks before it sets the flag", "mail.ts", [
    "  Atomics.or(s.mem, at + M_MAIL, flag)\n  unpark(s, m)\n",
    "  unpark(s, m)\n  Atomics.or(s.mem, at + M_MAIL, flag)\n",
  ]),
  mutation("post writes over a hint", "mail.ts", [
    "if (Atomics.compareExchange(s.mem, slot, 0, hint) === 0) {",
    "if (Atomics.exchange(s.mem, slot, hint) !== hint) {",
  ]),
  mutation("post puts a hint into its slot with a load and a store", "mail.ts", [
    "if (Atomics.compareExchange(s.mem, slot, 0, hint) === 0) {",
    "if (Atomics.load(s.mem, slot) === 0 && Atomics.store(s.mem, slot, hint) !== 0) {",
  ]),
  mutation("post does not set the flag", "mail.ts", ["  Atomics.or(s.mem, at + M_MAIL, flag)\n", ""]),
  mutation("post sets the flag with a load and a store", "mail.ts", [
    "Atomics.or(s.mem, at + M_MAIL, flag)",
    "Atomics.store(s.mem, at + M_MAIL, Atomics.load(s.mem, at + M_MAIL) | flag)",
  ]),
  mutation("post sets the flag only if there is none", "mail.ts", [
    "Atomics.or(s.mem, at + M_MAIL, flag)",
    "Atomics.compareExchange(s.mem, at + M_MAIL, 0, flag)",
  ]),
  mutation("post does not tell that it found no slot", "mail.ts", [
    "  Atomics.or(s.mem, at + M_MAIL, flag)\n",
    "  if (flag === SOME) Atomics.or(s.mem, at + M_MAIL, flag)\n",
  ]),
  mutation("post takes a full box for any other", "mail.ts", ["let flag = LOOK_AT_ALL", "let flag = SOME"]),
  mutation("takeMail clears the flag after it looked", "mail.ts", [
    "const flag = Atomics.exchange(s.mem, at + M_MAIL, 0)",
    "const flag = Atomics.load(s.mem, at + M_MAIL)",
  ], [
    "  return (flag & LOOK_AT_ALL)",
    "  Atomics.store(s.mem, at + M_MAIL, 0)\n  return (flag & LOOK_AT_ALL)",
  ]),
  mutation("takeMail takes the flag with a load and a store", "mail.ts", [
    "const flag = Atomics.exchange(s.mem, at + M_MAIL, 0)\n",
    "const flag = Atomics.load(s.mem, at + M_MAIL)\n  Atomics.store(s.mem, at + M_MAIL, 0)\n",
  ]),
  mutation("takeMail looks at the slots without the flag's being cleared before", "mail.ts", [
    "  const flag = Atomics.exchange(s.mem, at + M_MAIL, 0)\n",
    "",
  ], [
    "  return (flag & LOOK_AT_ALL)",
    "  const flag = Atomics.exchange(s.mem, at + M_MAIL, 0)\n  return (flag & LOOK_AT_ALL)",
  ]),
  mutation("takeMail leaves the flag", "mail.ts", [
    "const flag = Atomics.exchange(s.mem, at + M_MAIL, 0)",
    "const flag = Atomics.load(s.mem, at + M_MAIL)",
  ]),
  mutation("takeMail leaves hints in their slots", "mail.ts", [
    "hints[n++] = Atomics.exchange(s.mem, slot, 0)",
    "hints[n++] = Atomics.load(s.mem, slot)",
  ]),
  mutation("takeMail takes hints of a box that was full for all there is", "mail.ts", [
    "  for (let i = 0; i < MAIL_SLOTS; i++) {\n    const slot = at + M_BOX + i",
    "  if ((flag & LOOK_AT_ALL) !== 0) return 0\n  for (let i = 0; i < MAIL_SLOTS; i++) {\n    const slot = at + M_BOX + i",
  ]),
  mutation("takeMail leaves out the last slot", "mail.ts", ["i < MAIL_SLOTS;", "i < MAIL_SLOTS - 1;"]),
  mutation("takeMail does not tell that the box was full", "mail.ts", ["(flag & LOOK_AT_ALL) !== 0 ? -1 : n", "n"]),
]

const machines = [
  mutation("a hint is taken for the end of its G", "suspended.ts", [
    "if (t.awaited[g] !== hint || stateOf(statusOf(s, g)) !== DONE) return",
    "if (t.awaited[g] !== hint) return",
  ]),
  mutation("a hint of a former life is taken for the end of its G", "suspended.ts", [
    "if (t.awaited[g] !== hint || stateOf(statusOf(s, g)) !== DONE) return",
    "if (t.awaited[g] === 0 || (t.awaited[g] === hint && stateOf(statusOf(s, g)) !== DONE)) return",
  ]),
  mutation("a machine tells of an end before it", "suspended.ts", [
    "  const ended = finish(s, g, t.m)\n",
    "  if (byMail) postTo(s, t, waiter - 1, hint)\n  const ended = finish(s, g, t.m)\n",
  ], ["  else if (byMail) postTo(s, t, waiter - 1, hint)\n", "  else if (byMail) return true\n"]),
  mutation("a machine forgets that it was told to look when it has looked at its mail", "machines.ts", [
    "    collect(s, t)\n    endCancelled",
    "    collect(s, t)\n    Atomics.store(s.mem, mw(s, t.m) + M_PARK, 0)\n    endCancelled",
  ]),
  mutation("a machine sleeps beside the end of a call on itself", "machines.ts", [
    "const busy = hasArrived(s, t)",
    "const busy = false",
  ]),
  mutation("a machine takes no note of ends on itself when it waits for none", "suspended.ts", [
    "  if (hasArrived(s, t)) {\n",
    "  if (!awaitsAny(s, t)) return\n  if (hasArrived(s, t)) {\n",
  ]),
  mutation("a task that looks whether it is wanted passes no cancellation on", "machines.ts", [
    "      if (endCancelled(s, t)) continueCallers(s, t)\n",
    "",
  ]),
  mutation("who cancels calls wakes nobody", "suspended.ts", [
    "    if (machine < s.machines) unpark(s, machine)\n",
    "",
  ]),
  mutation("who cancels calls announces it before", "suspended.ts", [
    "  let asked = false\n",
    "  let asked = false\n  announceCancel(s)\n",
  ], ["  if (!asked) return\n  announceCancel(s)\n", "  if (!asked) return\n"]),
  mutation("who cancels calls takes those that were started for queued", "suspended.ts", [
    "if (!cancelQueued(s, g, generationOf(statusOf(s, g)))) continue\n    promise(",
    "if (!cancelQueued(s, g, generationOf(statusOf(s, g))) && s.procs < 0) continue\n    promise(",
  ]),
  mutation("a G that suspends does not look whether it was cancelled", "suspended.ts", [
    "  if (isCancelled(s, g)) t.seenEpoch = -1\n",
    "",
  ]),
]

const host = [
  mutation("the host does not tell again of the ends of calls that a dead machine had run", "host.ts", [
    "        else postAgain(s, g, m)\n",
    "",
  ]),
  mutation("the host does not tell of calls that it failed", "host.ts", [
    "  } else {\n    postAgain(s, g, m)\n  }",
    "  }",
  ]),
  mutation("the host tells of calls before it fails them", "host.ts", [
    "  const ended = finish(s, g, m)\n",
    "  postAgain(s, g, m)\n  const ended = finish(s, g, m)\n",
  ], ["  } else {\n    postAgain(s, g, m)\n  }", "  }"]),
  mutation("the host forgets orphans that run", "host.ts", [
    "else left = true",
    "else s.mem[s.ghosts + ORPHANS + g] = 0",
  ]),
  mutation("the host throws orphans away that run", "host.ts", [
    "if (state === DONE || (state === RUNNABLE && cancelQueued",
    "if (state !== RUNNABLE || (state === RUNNABLE && cancelQueued",
  ]),
  mutation("the host does not ask orphans to stop", "host.ts", [
    "    return true\n  }\n  requestCancel(s, g)\n  return false",
    "    return true\n  }\n  return false",
  ]),
]

export const mailMutations: ReadonlyArray<Mutation> = [...mail, ...machines, ...host]
