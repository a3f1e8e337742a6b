/** Ways to break the numbers of shared buffers, and what their senders do around them. */
import { type Mutation, mutation } from "./mutation.ts"

export const bufferMutations: ReadonlyArray<Mutation> = [
  mutation("a dead number is mentioned", "mentions.ts", ["generationIn(word) !== generation ||", "isFree(word) ||"]),
  mutation("a number is mentioned whose slot is free", "mentions.ts", ["generationIn(word) !== generation || ", ""]),
  mutation("a mention is a load and a store", "mentions.ts", [
    "    if (Atomics.compareExchange(words, slot, word, word + 1) === word) return true\n",
    "    Atomics.store(words, slot, word + 1)\n    return true\n",
  ]),
  mutation("a mention is taken away with a load and a store", "mentions.ts", [
    "  Atomics.sub(words, slotOf(id), 1)\n",
    "  const word = Atomics.load(words, slotOf(id))\n  Atomics.store(words, slotOf(id), word - 1)\n",
  ]),
  mutation("a number is ended though it is mentioned", "mentions.ts", [
    "if ((word & COUNT) !== NONE) return false",
    "if (isFree(word)) return false",
  ]),
  mutation("a number is ended with a load and a store", "mentions.ts", [
    "if (Atomics.compareExchange(words, slot, word, next << COUNT_BITS) !== word) return false",
    "Atomics.store(words, slot, next << COUNT_BITS)",
  ]),
  mutation("a slot that is freed keeps its generation", "mentions.ts", ["next << COUNT_BITS", "word - NONE"]),
  mutation("generations wrap before all have seen what is dead", "mentions.ts", [
    "if (Atomics.load(words, SEEN + m) < turn) return false",
    "if (Atomics.load(words, SEEN + m) < 0) return false",
  ]),
  mutation("it is forgotten what all must have seen before generations wrap", "mentions.ts", [
    "  if (passes) Atomics.store(words, PASSED + slot, turn)\n",
    "",
  ]),
  mutation("a slot is taken by two", "mentions.ts", [
    "if (isFree(word) && Atomics.compareExchange(words, slot, word, word + NONE + 1) === word) return slot",
    "if (isFree(word)) {\n      Atomics.store(words, slot, word + NONE + 1)\n      return slot\n    }",
  ]),
  mutation("a slot that is taken has no mention yet", "mentions.ts", ["word + NONE + 1)", "word + NONE)"]),
  mutation("a payload is read after its mention was taken away", "buffers.ts", [
    "  const id = exchange(s.progress.words, cell, 0) - 1\n",
    "  const id = setIn(s.progress.words, cell) - 1\n",
  ], [
    '  promise(!isForgotten(s, id), "a buffer was forgotten that a payload mentions")\n  unmention(s.mentions.words, id)\n',
    '  unmention(s.mentions.words, id)\n  exchange(s.progress.words, cell, 0)\n  promise(!isForgotten(s, id), "a buffer was forgotten that a payload mentions")\n',
  ]),
  mutation("who sends a payload does not look whether the number is dead", "buffers.ts", [
    "if (known >= 0 && mention(at, known)) return known",
    "if (known >= 0) {\n    mention(at, known)\n    return known\n  }",
  ]),
]
