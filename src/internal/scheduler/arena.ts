/**
 * Memory for payloads: a buddy allocator (Knowlton, 1965) behind a lock.
 *
 * Blocks are powers of two and carry a header of four words: a tag with the order, whether it is used, and who
 * allocated it; and the links of its free list. The tags alone describe the heap: walking from the start, each says
 * where the next block begins, and every step below changes that picture with a single store. So after a death under
 * the lock the free lists are made anew from the tags, and what the dead machine had in hand is found by its stamp.
 */
import { ARENA_FREE, ARENA_LOCK, ARENA_USED, ARENA_WANTED, HOST, type Sched } from "./layout.ts"
import { ringHost } from "./inbox.ts"
import { acquire, unlock } from "./lock.ts"

/** Words of a block's header. */
export const BLOCK_HEADER = 4
/** Smallest block: 32 words, 128 bytes. */
const MIN_ORDER = 5
const NEXT = 1
const PREV = 2

// tag: bits 0-4 order, bit 5 used, bits 8-18 owner
const USED = 1 << 5
const OWNER_SHIFT = 8

/** {@link allocateBlock}: no room now. */
export const FULL = 0
/** {@link allocateBlock}: the host could not get the lock; try on a later turn. */
export const BUSY = -1

const maxOrder = (s: Sched): number => 31 - Math.clz32(s.arenaWords)
const orderFor = (bytes: number): number => Math.max(MIN_ORDER, 32 - Math.clz32(BLOCK_HEADER + ((bytes + 3) >>> 2) - 1))

/** Largest payload in bytes that an empty arena can hold. */
export function largestPayload(s: Sched): number {
  return (s.arenaWords - BLOCK_HEADER) * 4
}

/** Makes the arena one free block. Before any other thread attaches. */
export function formatArena(s: Sched): void {
  s.mem[s.arena] = maxOrder(s)
  pushFree(s, s.arena, maxOrder(s))
}

/** Words in used blocks. A momentary value. */
export function arenaUsed(s: Sched): number {
  return Atomics.load(s.mem, ARENA_USED)
}

/** Byte offset of a block's payload. */
export function payloadOf(block: number): number {
  return (block + BLOCK_HEADER) * 4
}

function pushFree(s: Sched, block: number, order: number): void {
  const head = s.mem[ARENA_FREE + order]
  s.mem[block + NEXT] = head
  s.mem[block + PREV] = 0
  if (head !== 0) s.mem[head + PREV] = block
  s.mem[ARENA_FREE + order] = block
}

function removeFree(s: Sched, block: number, order: number): void {
  const next = s.mem[block + NEXT]
  const prev = s.mem[block + PREV]
  if (next !== 0) s.mem[next + PREV] = prev
  if (prev !== 0) s.mem[prev + NEXT] = next
  else s.mem[ARENA_FREE + order] = next
}

/**
 * Takes a block for a payload of `bytes` bytes, stamped with `me`, if `reserve` words stay free beside it. Its word
 * offset, or {@link FULL} or {@link BUSY}.
 */
export function allocateBlock(s: Sched, bytes: number, me: number, reserve: number): number {
  const order = orderFor(bytes)
  if (!acquire(s, ARENA_LOCK, me)) return BUSY
  let from = s.mem[ARENA_USED] + 2 ** order + reserve > s.arenaWords ? maxOrder(s) + 1 : order
  while (from <= maxOrder(s) && s.mem[ARENA_FREE + from] === 0) from++
  let block = FULL
  if (from <= maxOrder(s)) {
    block = s.mem[ARENA_FREE + from]
    removeFree(s, block, from)
    while (from > order) {
      from--
      // The upper half gets its tag while it is still inside the larger block; the lower tag then makes it real.
      const upper = block + (1 << from)
      s.mem[upper] = from
      s.mem[block] = from
      pushFree(s, upper, from)
    }
    Atomics.store(s.mem, block, order | USED | (me << OWNER_SHIFT))
    s.mem[ARENA_USED] += 1 << order
  }
  unlock(s, ARENA_LOCK)
  return block
}

/**
 * Puts `me`'s stamp on a used block that it is about to detach from its G. From here until {@link freeBlock} only
 * `me` answers for it; before, the G's record does.
 */
export function adoptBlock(s: Sched, block: number, me: number): void {
  const tag = s.mem[block]
  Atomics.store(s.mem, block, (tag & 0x3f) | (me << OWNER_SHIFT))
}

/** Gives a block back. False, with nothing done, only for the host when the lock stays taken. */
export function freeBlock(s: Sched, block: number, me: number): boolean {
  if (!acquire(s, ARENA_LOCK, me)) return false
  s.mem[ARENA_USED] -= 1 << (s.mem[block] & 0x1f)
  merge(s, block)
  unlock(s, ARENA_LOCK)
  if (
    me !== HOST && Atomics.load(s.mem, ARENA_WANTED) === 1 &&
    Atomics.compareExchange(s.mem, ARENA_WANTED, 1, 0) === 1
  ) {
    ringHost(s)
  }
  return true
}

function merge(s: Sched, freed: number): void {
  let block = freed
  let order = s.mem[block] & 0x1f
  while (order < maxOrder(s)) {
    const buddy = s.arena + ((block - s.arena) ^ (1 << order))
    // A used buddy has the bit, a split one a lower order: only a whole free one matches.
    if (s.mem[buddy] !== order) break
    removeFree(s, buddy, order)
    if (buddy < block) block = buddy
    order++
    s.mem[block] = order // the upper tag is now inside a block
  }
  s.mem[block] = order
  pushFree(s, block, order)
}

/** The host waits for room and asks to be told when a machine frees a block. It must try once more after this. */
export function wantRoom(s: Sched): void {
  Atomics.store(s.mem, ARENA_WANTED, 1)
}

/** Calls `visit` for each used block with its owner. The lock must be held, or the pool be at rest. */
export function usedBlocks(
  s: Sched,
): Array<{ readonly block: number; readonly owner: number; readonly words: number }> {
  const used = []
  const end = s.arena + s.arenaWords
  for (let block = s.arena; block < end; block += 1 << (s.mem[block] & 0x1f)) {
    const tag = Atomics.load(s.mem, block)
    if ((tag & USED) !== 0) used.push({ block, owner: tag >>> OWNER_SHIFT, words: 1 << (tag & 0x1f) })
  }
  return used
}

/** Makes the free lists anew from the tags. For the host, after a machine died with the lock, which stays held. */
export function rebuildArena(s: Sched): void {
  for (let order = 0; order <= maxOrder(s); order++) s.mem[ARENA_FREE + order] = 0
  s.mem[ARENA_USED] = 0
  const end = s.arena + s.arenaWords
  for (let block = s.arena; block < end; block += 1 << (s.mem[block] & 0x1f)) {
    if ((s.mem[block] & USED) === 0) pushFree(s, block, s.mem[block] & 0x1f)
    else s.mem[ARENA_USED] += 1 << (s.mem[block] & 0x1f)
  }
}
