/**
 * How many payloads mention a shared buffer: a word for each buffer, beside the pool's memory. A thread keeps a buffer
 * that has a number for as long as a payload may come that mentions it; when none does, the host may have it forgotten.
 *
 * A slot is FREE, or DEAD, or has one more than the number of payloads. Who writes a payload adds one before the
 * payload can be seen, and whoever frees the payload, which happens once, takes one away. So as long as a payload
 * mentions a buffer its slot is above NONE, and {@link kill}, which only changes NONE to DEAD, fails. After it nobody
 * can mention the buffer under that number again: {@link mention} fails, and who wants to takes another slot.
 *
 * A machine that dies may leave a mention behind, which keeps the buffer until the pool closes; it never takes one away
 * twice, since it detaches a payload before it takes its mentions away.
 */

const FREE = 0
const NONE = 1
const DEAD = -1

/** Number of slots. Buffers for which there is none are kept until the pool closes. */
export const SLOTS = 4096
/** What {@link takeSlot} returns if all are taken. */
export const NO_SLOT = -1

const GENERATIONS = SLOTS
const OWNERS = 2 * SLOTS
const SEEN = 3 * SLOTS
const MAX_GENERATION = 2 ** 19

/** Bytes for a pool with so many machines. */
export const mentionsBytes = (machines: number): number => (SEEN + machines) * 4

/** Takes a free slot, with one mention, beginning to look at `from`. */
export const takeSlot = (words: Int32Array, from: number): number => {
  for (let i = 0; i < SLOTS; i++) {
    const slot = (from + i) % SLOTS
    if (Atomics.compareExchange(words, slot, FREE, NONE + 1) === FREE) return slot
  }
  return NO_SLOT
}

/**
 * The number of a buffer: the slot, and how often it has been taken. By its `owner`, who has just taken it: whoever wrote
 * these words before had it before, and the host has freed it since.
 */
export const newId = (words: Int32Array, slot: number, owner: number): number => {
  Atomics.store(words, OWNERS + slot, owner)
  return (Atomics.add(words, GENERATIONS + slot, 1) % MAX_GENERATION) * SLOTS + slot
}

/** The number of the buffer that has the slot now, if it is alive and of that owner; else -1. */
export const idOwnedBy = (words: Int32Array, slot: number, owner: number): number => {
  if (Atomics.load(words, slot) < NONE || Atomics.load(words, OWNERS + slot) !== owner) return -1
  return ((Atomics.load(words, GENERATIONS + slot) - 1) % MAX_GENERATION) * SLOTS + slot
}

/** Adds a mention. False: the buffer is being forgotten under this number. */
export const mention = (words: Int32Array, slot: number): boolean => {
  for (;;) {
    const count = Atomics.load(words, slot)
    if (count < NONE) return false
    if (Atomics.compareExchange(words, slot, count, count + 1) === count) return true
  }
}

/** Takes a mention away. */
export const unmention = (words: Int32Array, slot: number): void => {
  Atomics.sub(words, slot, 1)
}

/** By the host: ends the number of a buffer that no payload mentions. False if one does. */
export const kill = (words: Int32Array, slot: number): boolean =>
  Atomics.compareExchange(words, slot, NONE, DEAD) === NONE

/**
 * By the host, when every machine has seen that the number is dead: until then one could take the slot's next buffer for
 * the last one.
 */
export const freeSlot = (words: Int32Array, slot: number): void => {
  Atomics.store(words, slot, FREE)
}

/** By machine `m`: it has seen all that the host had forgotten by the `turn`th time. */
export const setSeen = (words: Int32Array, m: number, turn: number): void => {
  Atomics.store(words, SEEN + m, turn)
}

/** Whether all `machines` have seen what was forgotten by the `turn`th time. */
export const seenByAll = (words: Int32Array, machines: number, turn: number): boolean => {
  for (let m = 0; m < machines; m++) {
    if (Atomics.load(words, SEEN + m) < turn) return false
  }
  return true
}
