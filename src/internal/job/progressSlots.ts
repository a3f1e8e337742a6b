/**
 * How far running Gs are: a slot for each record, beside the pool's memory. The machine writes, the host looks now and
 * then while somebody listens, and once more when the G has ended. So a report is some stores and no message: it is
 * never queued, it cannot come after the outcome or to another call, and the last one is not lost.
 *
 * A slot is four 8-byte words: whether anybody listens and the count of writes; done; total. The count is odd while the
 * other two are being written, so a reader that sees the same even count before and after has a pair that belongs
 * together. It is changed, and read the second time, by read-modify-write operations, past which no plain access moves.
 */

const SLOT_BYTES = 32
const SLOT_WORDS = SLOT_BYTES / 4
const SLOT_DOUBLES = SLOT_BYTES / 8
const LISTENED = 0
const COUNT = 1
const DONE = 1
const TOTAL = 2

/** Tries to read a pair before it is left for later: whoever writes without a pause leaves gaps, or has died. */
const READ_TRIES = 100

/** The slots of a pool's Gs as one thread sees them. */
export interface ProgressSlots {
  readonly words: Int32Array
  readonly doubles: Float64Array
}

/** Bytes of the slots of a pool with so many Gs. */
export const progressBytes = (capacity: number): number => (capacity + 1) * SLOT_BYTES

/** Sees the slots in a buffer of {@link progressBytes} zeroed bytes. */
export const viewProgress = (buffer: ArrayBufferLike): ProgressSlots => ({
  words: new Int32Array(buffer),
  doubles: new Float64Array(buffer),
})

/**
 * Says how far G `g` is. By the machine that has it in hand, and nobody else: it cannot end meanwhile. Whether anybody
 * listens was written before the G was queued.
 */
export const report = ({ doubles, words }: ProgressSlots, g: number, done: number, total: number): void => {
  const W = g * SLOT_WORDS
  if (words[W + LISTENED] === 0) return
  const D = g * SLOT_DOUBLES
  Atomics.add(words, W + COUNT, 1)
  doubles[D + DONE] = done
  doubles[D + TOTAL] = total
  Atomics.add(words, W + COUNT, 1)
}

/** Begins to listen to a G that is about to be queued. */
export const openSlot = ({ words }: ProgressSlots, g: number): void => {
  const W = g * SLOT_WORDS
  words[W + COUNT] = 0
  words[W + LISTENED] = 1
}

/** Listens no more: the G has ended, or never will be started. */
export const closeSlot = ({ words }: ProgressSlots, g: number): void => {
  words[g * SLOT_WORDS + LISTENED] = 0
}

/**
 * Reads what was reported last into `pair`, done and total, if the count differs from `seen`. Returns the count that
 * belongs to it, or `seen` if there is nothing new, or nothing that can be read now.
 */
export const readSlot = (
  { doubles, words }: ProgressSlots,
  g: number,
  seen: number,
  pair: { done: number; total: number },
): number => {
  const W = g * SLOT_WORDS
  const D = g * SLOT_DOUBLES
  for (let tries = 0; tries < READ_TRIES; tries++) {
    const count = Atomics.load(words, W + COUNT)
    if (count === seen) return seen
    if ((count & 1) !== 0) continue
    pair.done = doubles[D + DONE]
    pair.total = doubles[D + TOTAL]
    if (Atomics.add(words, W + COUNT, 0) === count) return count
  }
  return seen
}
