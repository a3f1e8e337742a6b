/** Ways to break records, the arena and the sweep. */
import { type Mutation, mutation } from "./mutation.ts"

const slots = [
  mutation("a record goes back to the central list under its old home", "slots.ts", [
    "s.mem[s.homes + g] = CENTRAL_HOME\n",
    "",
  ]),
  mutation("a record comes from the central list under its old home", "slots.ts", [
    "    s.mem[s.homes + g] = home\n    s.mem[G + G_NEXT] = s.mem[list]\n    s.mem[list] = g\n    s.mem[list + COUNT]++\n    n--",
    "    s.mem[G + G_NEXT] = s.mem[list]\n    s.mem[list] = g\n    s.mem[list + COUNT]++\n    n--",
  ]),
  mutation("the central list is used without its lock", "slots.ts", [
    "if (!acquire(s, SLOTS_LOCK, me)) return false\n",
    "",
  ]),
  mutation("giving back keeps one record too few in the count", "slots.ts", [
    "    s.mem[SLOTS_FREE + COUNT]++\n",
    "    if (s.mem[list + COUNT] > keep) s.mem[SLOTS_FREE + COUNT]++\n",
  ]),
  mutation("a list made anew takes records of others", "slots.ts", [
    "if (s.mem[s.homes + g] !== home || stateOf",
    "if (stateOf",
  ]),
  mutation("a list made anew takes records in use", "slots.ts", [
    "!== home || stateOf(statusOf(s, g)) !== FREE) continue",
    "!== home) continue",
  ]),
]

const arena = [
  mutation("merge takes a used buddy", "arena.ts", [
    "if (s.mem[buddy] !== order) break",
    "if ((s.mem[buddy] & 0x1f) !== order) break",
  ]),
  mutation("a split makes the lower half real before the upper one has its tag", "arena.ts", [
    "      s.mem[upper] = from\n      s.mem[block] = from\n",
    "      s.mem[block] = from\n      s.mem[upper] = from\n",
  ]),
  mutation("the arena is used without its lock", "arena.ts", ["if (!acquire(s, ARENA_LOCK, me)) return false\n", ""]),
  mutation("the arena's lists are made anew without the used words", "arena.ts", [
    "    else s.mem[ARENA_USED] += 1 << (s.mem[block] & 0x1f)\n",
    "",
  ]),
  mutation("a merged block keeps its old tag", "arena.ts", [
    "    s.mem[block] = order // the upper tag is now inside a block\n",
    "",
  ], [
    "  s.mem[block] = order\n  pushFree(s, block, order)",
    "  pushFree(s, block, order)",
  ]),
]

const sweep = [
  mutation("the sweep leaves out running Gs", "sweep.ts", [
    "if (started && machineOf(status) === m) running.push(g)\n    else if",
    "if",
  ]),
  mutation("the sweep leaves out suspended Gs", "sweep.ts", [
    "state === RUNNING || state === WAITING",
    "state === RUNNING",
  ]),
  mutation("the sweep leaves out Gs that are done and were not announced", "sweep.ts", [
    "    else if (state === DONE && machineOf(status) === m) done.push(g)\n",
    "",
  ]),
  mutation("the sweep leaves out children", "sweep.ts", [
    "if (s.mem[gw(s, g) + G_WAITER] === m + 1) orphans.push(g)\n    else if",
    "if",
  ]),
  mutation("the sweep does not queue lost Gs again", "sweep.ts", [
    "      hints.push(hintOf(g, generationOf(status)))\n",
    "",
  ]),
  mutation("the sweep leaves out the first G", "sweep.ts", [
    "newestRecord(s); g >= 1; g--) {\n    const status",
    "newestRecord(s); g > 1; g--) {\n    const status",
  ]),
  mutation("the sweep queues lost roots with the others", "sweep.ts", [
    "s.bounded && s.mem[gw(s, g) + G_PARENT] === 0 ? lostRoots : lost",
    "s.mem[gw(s, g) + G_PARENT] < 0 ? lostRoots : lost",
  ]),
  mutation("the sweep leaves the queue locked", "sweep.ts", [
    "  if (holder(s, s.gq + Q_LOCK) === m) unlock(s, s.gq + Q_LOCK)\n",
    "",
  ]),
  mutation("the sweep leaves the roots locked", "sweep.ts", [
    "  if (s.bounded && holder(s, s.rq + Q_LOCK) === m) unlock(s, s.rq + Q_LOCK)\n",
    "",
  ]),
  mutation("the sweep leaves the records locked", "sweep.ts", [
    "if (holder(s, SLOTS_LOCK) === m) {\n    rebuild(s, SLOTS_FREE, CENTRAL_HOME)\n    unlock(s, SLOTS_LOCK)\n",
    "if (holder(s, SLOTS_LOCK) === m) {\n",
  ]),
  mutation("the sweep does not make the central list anew", "sweep.ts", [
    "    rebuild(s, SLOTS_FREE, CENTRAL_HOME)\n",
    "",
  ]),
  mutation("the sweep does not make the dead P's list anew", "sweep.ts", ["  rebuild(s, listOf(p), homeOf(p))\n", ""]),
  mutation("the sweep does not make the arena's lists anew", "sweep.ts", ["    rebuildArena(s)\n", ""]),
  mutation("the sweep leaves the dead machine's blocks", "sweep.ts", [
    "return held.every((block) => freeBlock(s, block, HOST))",
    "return held.length >= 0",
  ]),
  mutation("the sweep looks at the records after the blocks", "sweep.ts", [
    "b.owner === m && !referenced.has(b.block)).map((b) => b.block)\n  unlock(s, ARENA_LOCK)\n",
    "b.owner === m).map((b) => b.block)\n  unlock(s, ARENA_LOCK)\n  const now = new Set<number>()\n  for (let g = newestRecord(s); g >= 1; g--) {\n    if (stateOf(statusOf(s, g)) !== FREE) now.add(Atomics.load(s.mem, gw(s, g) + G_BLOCK))\n  }\n",
  ], [
    "return held.every((block) => freeBlock(s, block, HOST))",
    "return held.every((block) => now.has(block) || freeBlock(s, block, HOST))",
  ]),
  mutation("the sweep leaves sleepers of a lock that was just opened", "sweep.ts", [
    "  for (const at of [SLOTS_LOCK, ARENA_LOCK, TASKS_LOCK, s.gq + Q_LOCK, s.rq + Q_LOCK]) Atomics.notify(s.mem, at)\n",
    "",
  ]),
]

export const memoryMutations: ReadonlyArray<Mutation> = [...slots, ...arena, ...sweep]
