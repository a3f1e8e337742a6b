/** Ways to break the numbers of shared buffers, and what their senders do around them. */
import { type Mutation, mutation } from "./mutation.ts"

export const bufferMutations: ReadonlyArray<Mutation> = [
  mutation("a dead number is mentioned", "mentions.ts", ["    if (count < NONE) return false\n", ""]),
  mutation("a mention is a load and a store", "mentions.ts", [
    "    if (Atomics.compareExchange(words, slot, count, count + 1) === count) return true\n",
    "    Atomics.store(words, slot, count + 1)\n    return true\n",
  ]),
  mutation("a mention is taken away with a load and a store", "mentions.ts", [
    "  Atomics.sub(words, slot, 1)\n",
    "  const count = Atomics.load(words, slot)\n  Atomics.store(words, slot, count - 1)\n",
  ]),
  mutation("a number is ended though it is mentioned", "mentions.ts", [
    "Atomics.compareExchange(words, slot, NONE, DEAD) === NONE",
    "Atomics.exchange(words, slot, DEAD) >= NONE",
  ]),
  mutation("a number is ended with a load and a store", "mentions.ts", [
    "export const kill = (words: Int32Array, slot: number): boolean =>\n  Atomics.compareExchange(words, slot, NONE, DEAD) === NONE\n",
    "export const kill = (words: Int32Array, slot: number): boolean => {\n  if (Atomics.load(words, slot) !== NONE) return false\n  Atomics.store(words, slot, DEAD)\n  return true\n}\n",
  ]),
  mutation("a slot is freed before all have seen that its number is dead", "mentions.ts", [
    "if (Atomics.load(words, SEEN + m) < turn) return false",
    "if (Atomics.load(words, SEEN + m) < 0) return false",
  ]),
  mutation("a slot is taken by two", "mentions.ts", [
    "if (Atomics.compareExchange(words, slot, FREE, NONE + 1) === FREE) return slot",
    "if (Atomics.load(words, slot) === FREE) {\n      Atomics.store(words, slot, NONE + 1)\n      return slot\n    }",
  ]),
  mutation("a slot that is taken has no mention yet", "mentions.ts", ["slot, FREE, NONE + 1)", "slot, FREE, NONE)"]),
  mutation("a payload is read after its mention was taken away", "buffers.ts", [
    "  const id = exchange(s.progress.words, cell, 0) - 1\n",
    "  const id = setIn(s.progress.words, cell) - 1\n",
  ], [
    '  promise(!isForgotten(s, id), "a buffer was forgotten that a payload mentions")\n  unmention(s.mentions.words, id % SLOTS)\n',
    '  unmention(s.mentions.words, id % SLOTS)\n  exchange(s.progress.words, cell, 0)\n  promise(!isForgotten(s, id), "a buffer was forgotten that a payload mentions")\n',
  ]),
  mutation("who sends a payload does not look whether the number is dead", "buffers.ts", [
    "if (known >= 0 && mention(at, known % SLOTS)) return known",
    "if (known >= 0) {\n    mention(at, known % SLOTS)\n    return known\n  }",
  ]),
]
