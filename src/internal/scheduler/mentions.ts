/**
 * How many payloads mention a shared buffer: a word for each buffer, beside the pool's memory. A thread keeps a buffer
 * that has a number for as long as a payload may come that mentions it; when none does, the host may have it forgotten.
 *
 * ```
 * bits 0-21    0 if the slot is free, else one more than the number of payloads
 * bits 22-31   generation: how often the slot's buffers have been ended, as far as it fits
 * ```
 *
 * Who writes a payload adds one before the payload can be seen, and whoever has read or thrown away the payload, which
 * happens once, takes one away. So as long as a payload mentions a buffer its slot is above NONE, and {@link kill}, which
 * only changes NONE to FREE and the next generation, fails. After it nobody can mention the buffer under that number
 * again, whether or not the slot has another buffer: {@link mention} compares generations and fails, and who wants to
 * takes another slot.
 *
 * Generations wrap. Whoever does not know yet that a number is dead might take a buffer many lives later for its own:
 * so each time that a slot's generation passes half of its range, all machines must have seen what was dead when it
 * did so before. Until then its buffer is kept.
 *
 * A machine that dies may leave a mention behind, which keeps the buffer until the pool closes; it never takes one away
 * twice, since it detaches a payload before it takes its mentions away.
 */

const COUNT_BITS = 22
/** Bits of the generation in a word. */
const GENERATION_BITS = 10
/** The bits of a word that count. */
export const COUNT = 2 ** COUNT_BITS - 1
const NONE = 1

/** Number of slots. Buffers for which there is none are kept until the pool closes. */
export const SLOTS = 8192
/** What {@link takeSlot} returns if all are taken. */
export const NO_SLOT = -1
/** Numbers from here on have no slot. */
const LASTING = 2 ** 31

const GENERATIONS = SLOTS
const OWNERS = 2 * SLOTS
const PASSED = 3 * SLOTS
const LASTING_COUNT = 4 * SLOTS
const SEEN = LASTING_COUNT + 1
const MAX_GENERATION = 2 ** 18

/** Bytes for a pool with so many machines. */
export const mentionsBytes = (machines: number): number => (SEEN + machines) * 4

/** Whether the buffer of that number has a slot, and so can be forgotten. */
export const hasSlot = (id: number): boolean => id < LASTING

export const slotOf = (id: number): number => id % SLOTS

const isFree = (word: number): boolean => (word & COUNT) === 0
const inWord = (generation: number): number => generation & (2 ** GENERATION_BITS - 1)
const generationIn = (word: number): number => inWord(word >>> COUNT_BITS)

/** Takes a free slot, with one mention, beginning to look at `from`. */
export const takeSlot = (words: Int32Array, from: number): number => {
  for (let i = 0; i < SLOTS; i++) {
    const slot = (from + i) % SLOTS
    const word = Atomics.load(words, slot)
    // The generation is in the word: who was held up since the load does not take a slot that was taken and freed.
    if (isFree(word) && Atomics.compareExchange(words, slot, word, word + NONE + 1) === word) return slot
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

/** The number of a buffer for which there is no slot. */
export const lastingId = (words: Int32Array): number => LASTING + Atomics.add(words, LASTING_COUNT, 1)

/** The number of the buffer that has the slot now, if it has one and is of that owner; else -1. */
export const idOwnedBy = (words: Int32Array, slot: number, owner: number): number => {
  if (isFree(Atomics.load(words, slot)) || Atomics.load(words, OWNERS + slot) !== owner) return -1
  return ((Atomics.load(words, GENERATIONS + slot) - 1) % MAX_GENERATION) * SLOTS + slot
}

/** Adds a mention. False: the buffer has been, or is being, forgotten under this number. */
export const mention = (words: Int32Array, id: number): boolean => {
  const slot = slotOf(id)
  const generation = inWord(Math.floor(id / SLOTS))
  for (;;) {
    const word = Atomics.load(words, slot)
    if (generationIn(word) !== generation || (word & COUNT) === COUNT) return false
    if (Atomics.compareExchange(words, slot, word, word + 1) === word) return true
  }
}

/** Takes a mention away. */
export const unmention = (words: Int32Array, id: number): void => {
  Atomics.sub(words, slotOf(id), 1)
}

/**
 * By the host: ends the number of a buffer that no payload mentions, as it will tell the `machines` by the `turn`th time.
 * False if a payload does, or if some machine has not heard of too many.
 */
export const kill = (words: Int32Array, id: number, machines: number, turn: number): boolean => {
  const slot = slotOf(id)
  const word = Atomics.load(words, slot)
  if ((word & COUNT) !== NONE) return false
  const next = inWord(generationIn(word) + 1)
  const passes = next % 2 ** (GENERATION_BITS - 1) === 0
  if (passes && !seenByAll(words, machines, Atomics.load(words, PASSED + slot))) return false
  if (Atomics.compareExchange(words, slot, word, next << COUNT_BITS) !== word) return false
  if (passes) Atomics.store(words, PASSED + slot, turn)
  return true
}

/** By machine `m`: it has seen all that the host had forgotten by the `turn`th time. */
export const setSeen = (words: Int32Array, m: number, turn: number): void => {
  Atomics.store(words, SEEN + m, turn)
}

const seenByAll = (words: Int32Array, machines: number, turn: number): boolean => {
  for (let m = 0; m < machines; m++) {
    if (Atomics.load(words, SEEN + m) < turn) return false
  }
  return true
}
