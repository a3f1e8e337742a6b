/** Ways to break the slots of progress, and what those who listen do around them; the actors follow ProgressWatch.ts. */
import { type Mutation, mutation } from "./mutation.ts"

const slots = [
  mutation("a report does not say that it is being written", "progressSlots.ts", [
    "  Atomics.add(words, W + COUNT, 1)\n  doubles[D + DONE] = done\n",
    "  doubles[D + DONE] = done\n",
  ], ["= total\n  Atomics.add(words, W + COUNT, 1)", "= total\n  Atomics.add(words, W + COUNT, 2)"]),
  mutation("a report says that it is being written when it has begun", "progressSlots.ts", [
    "  Atomics.add(words, W + COUNT, 1)\n  doubles[D + DONE] = done\n",
    "  doubles[D + DONE] = done\n  Atomics.add(words, W + COUNT, 1)\n",
  ]),
  mutation("a report says that it is whole before it is", "progressSlots.ts", [
    "  doubles[D + TOTAL] = total\n  Atomics.add(words, W + COUNT, 1)\n",
    "  Atomics.add(words, W + COUNT, 1)\n  doubles[D + TOTAL] = total\n",
  ]),
  mutation("a report is not said to be whole", "progressSlots.ts", [
    "  doubles[D + TOTAL] = total\n  Atomics.add(words, W + COUNT, 1)\n",
    "  doubles[D + TOTAL] = total\n",
  ]),
  mutation("a report is written whether anybody listens or not", "progressSlots.ts", [
    "  if (words[W + LISTENED] === 0) return\n",
    "",
  ]),
  mutation("all Gs report in one slot", "progressSlots.ts", [
    "  const D = g * SLOT_DOUBLES\n  Atomics.add",
    "  const D = SLOT_DOUBLES\n  Atomics.add",
  ]),
  mutation("a reader does not mind that a report is being written", "progressSlots.ts", [
    "    if ((count & 1) !== 0) continue\n",
    "",
  ]),
  mutation("a reader does not look again whether a report was written meanwhile", "progressSlots.ts", [
    "    if (Atomics.add(words, W + COUNT, 0) === count) return count\n",
    "    return count\n",
  ]),
  mutation("a reader looks again before it has read all", "progressSlots.ts", [
    "    pair.total = doubles[D + TOTAL]\n    if (Atomics.add(words, W + COUNT, 0) === count) return count\n",
    "    const again = Atomics.add(words, W + COUNT, 0)\n    pair.total = doubles[D + TOTAL]\n    if (again === count) return count\n",
  ]),
  mutation("a reader reads before it looks whether a report is being written", "progressSlots.ts", [
    "    const count = Atomics.load(words, W + COUNT)\n",
    "    pair.done = doubles[D + DONE]\n    const count = Atomics.load(words, W + COUNT)\n",
  ], ["    pair.done = doubles[D + DONE]\n    pair.total", "    pair.total"]),
  mutation("a reader looks again with a load and a store", "progressSlots.ts", [
    "    if (Atomics.add(words, W + COUNT, 0) === count) return count\n",
    "    const again = Atomics.load(words, W + COUNT)\n    Atomics.store(words, W + COUNT, again)\n    if (again === count) return count\n",
  ]),
  mutation("a reader tries until it has a pair", "progressSlots.ts", ["tries < READ_TRIES", "tries >= 0"]),
  mutation("a slot keeps the count of its former life", "progressSlots.ts", ["  words[W + COUNT] = 0\n", ""]),
  mutation("a slot is not closed", "progressSlots.ts", ["  words[g * SLOT_WORDS + LISTENED] = 0\n", ""]),
]

const listeners = [
  mutation("who listens does not look once more at the end", "progress.ts", [
    "  lookAt(s, g)\n  // Who died",
    "  // Who died",
  ]),
  mutation("the host begins to listen when it has queued the call", "reporters.ts", [
    "  beginLife(s, g, task > 0)\n  return makeRunnable(s, g)\n",
    "  const hint = makeRunnable(s, g)\n  return hint\n",
  ], [
    "    queued(s)\n    for",
    "    queued(s)\n    for (const hint of hints) beginLife(s, hint & 0x3fffff, true)\n    for",
  ]),
  mutation("the host looks at the end before the call has ended", "reporters.ts", [
    "    while (s.mem[s.ghosts + IN_FLIGHT] > 0) takeOrSleep(s)\n",
    "    for (const hint of hints) endLife(s, hint & 0x3fffff)\n    while (s.mem[s.ghosts + IN_FLIGHT] > 0) takeOrSleep(s)\n",
  ], ["import { beginLife, lookAt", "import { beginLife, endLife, lookAt"]),
  mutation("a machine begins to listen when it has queued the call", "suspended.ts", [
    "  beginLife(s, g, task >= REPORTER)\n  const hint = makeRunnable(s, g)\n",
    "  const hint = makeRunnable(s, g)\n",
  ], [
    "t.m, t.spill)\n  wakep(s)\n}\n\n/** Whether calls of a G are",
    "t.m, t.spill)\n  wakep(s)\n  beginLife(s, g, task >= REPORTER)\n}\n\n/** Whether calls of a G are",
  ]),
]

export const progressMutations: ReadonlyArray<Mutation> = [...slots, ...listeners]
