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
  "homes[#]: read in slots.rebuild · write in slots.giveBack",
  "homes[#]: read in slots.rebuild · write in slots.refill",
  "homes[#]: read in slots.rebuild · write in slots.release",
  // what the dead machine had to do with was made before, and that is known to whoever learned of its death
  "SLOTS_FRESH: load in slots.newestRecord · write in slots.refill",
  // blocks that the living put into records do not bear the dead machine's stamp
  "G#.BLOCK: load in sweep.freeHeld · write in parts.payloadUser",
  "G#.BLOCK: load in sweep.freeHeld · write in parts.payloadParent",
  "G#.BLOCK: load in sweep.freeHeld · write in slots.allocate",
  // a record's waiter is the dead machine only if that machine wrote it
  "G#.WAITER: read in sweep.sweep · write in machines.spawn",
  "G#.WAITER: read in sweep.sweep · write in suspended.call",
  "G#.WAITER: read in sweep.sweep · write in parts.twoLives",
  "G#.PARENT: read in sweep.sweep · write in machines.spawn",
  // a status read before a CAS: an older value fails the CAS or gives up a hint that is stale in any case
  "G#.STATUS: compareExchange in status.askForWake · read in status.claim",
  "G#.STATUS: compareExchange in status.askForWake · read in status.finish",
  "G#.STATUS: compareExchange in status.cancelQueued · read in status.claim",
  "G#.STATUS: compareExchange in status.claim · read in status.claim",
  "G#.STATUS: compareExchange in status.finish · read in status.claim",
  "G#.STATUS: compareExchange in status.move · read in status.claim",
  "G#.STATUS: compareExchange in status.unclaim · read in status.claim",
  "G#.STATUS: read in status.claim · store in status.makeRunnable",
  // only what does not change in a G's life is looked at: its generation, and that it is told of by mail
  "G#.FLAGS: or in status.requestCancel · read in suspended.end",
  "G#.STATUS: compareExchange in status.askForWake · read in suspended.end",
  // the host tells again of an end that its waiter may have learned of: from the record's next life comes a hint at worst
  "G#.FLAGS: read in host.postAgain · write in slots.allocate",
  "G#.FLAGS: read in host.postAgain · write in suspended.call",
  "G#.WAITER: read in host.postAgain · write in suspended.call",
  // the end of a record: nobody else may change it then, and a stale hint finds nothing to claim before or after
  "G#.STATUS: compareExchange in status.claim · write in status.retire",
  "G#.STATUS: load in status.statusOf · write in status.retire",
  "G#.STATUS: read in status.claim · write in status.retire",
  // a pair that is being written is dropped
  "slot#.DONE: read in progressSlots.readSlot · write in progressSlots.report",
  "slot#.TOTAL: read in progressSlots.readSlot · write in progressSlots.report",
  // heads and `next` read before a CAS by the P's own machine
  "HOST_INBOX: compareExchange in inbox.pushStack · read in inbox.pushStack",
  "HOST_INBOX: exchange in inbox.takeStack · read in inbox.pushStack",
  "P#.HEAD: compareExchange in runq.grab · read in runq.get",
  "P#.HEAD: compareExchange in runq.grab · read in runq.put",
  "P#.NEXT: compareExchange in machines.claimChild · read in runq.takeNext",
  "P#.NEXT: compareExchange in runq.grab · read in machines.claimChild",
  "P#.NEXT: compareExchange in runq.grab · read in runq.takeNext",
  "P#.NEXT: exchange in runq.put · read in runq.takeNext",
])
