/**
 * Plain accesses that race with others, and may: each is argued for in README.md. One that is not in here fails the
 * check. Digits in the names of words are left out.
 */
export const justified: ReadonlySet<string> = new Set([
  // the ring: a thief's copy counts only if the head has not moved since, and then nobody has written the slot
  "P#.ring#: load in runq.grab · write in runq.put",
  "P#.ring#: load in runq.grab · write in globalq.takeBatch",
  "P#.ring#: load in runq.grab · write in runq.grab",
  // the sweep's look at rings: an entry that it misses or that has gone is in living hands, or is queued twice
  "P#.ring#: load in sweep.reachable · write in runq.put",
  "P#.ring#: load in sweep.reachable · write in globalq.takeBatch",
  "P#.ring#: load in sweep.reachable · write in runq.grab",
  // tags of used blocks: owner bits change, and no reader here looks at those
  "arena[#]: read in arena.merge · store in arena.adoptBlock",
  "arena[#]: read in arena.rebuildArena · store in arena.adoptBlock",
  "arena[#]: read in arena.usedBlocks · store in arena.adoptBlock",
  "arena[#]: read in arena.allocateBlock · store in arena.adoptBlock",
  // records in the hands of the living never have, and never get, the home of the dead
  "G#.HOME: read in slots.rebuild · write in slots.giveBack",
  "G#.HOME: read in slots.rebuild · write in slots.refill",
  "G#.HOME: read in slots.rebuild · write in slots.release",
  // what the dead machine had to do with was made before, and that is known to whoever learned of its death
  "SLOTS_FRESH: load in sweep.freeHeld · write in slots.refill",
  "SLOTS_FRESH: load in sweep.sweep · write in slots.refill",
  "SLOTS_FRESH: read in slots.rebuild · write in slots.refill",
  // blocks that the living put into records do not bear the dead machine's stamp
  "G#.BLOCK: load in sweep.freeHeld · write in parts.payloadUser",
  "G#.BLOCK: load in sweep.freeHeld · write in parts.payloadParent",
  "G#.BLOCK: load in sweep.freeHeld · write in slots.allocate",
  // a record's waiter is the dead machine only if that machine wrote it
  "G#.WAITER: read in sweep.sweep · write in machines.spawn",
  "G#.WAITER: read in sweep.sweep · write in parts.twoLives",
  "G#.PARENT: read in sweep.sweep · write in machines.spawn",
])
