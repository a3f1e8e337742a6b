/** Models of the numbers of shared buffers. */
import { TO_HOST, TO_PASSER } from "../actors/buffers.ts"
import type { Model, Setup } from "../Model.ts"
import { part } from "./setup.ts"

/** A slot has as many mentions as there are payloads. */
const mentionsAddUp = ({ N, s }: Setup): string | undefined => {
  const { COUNT, SLOTS } = N.mentions
  for (let slot = 0; slot < SLOTS; slot++) {
    const count = s.mem[s.mentions.words.at + slot] & COUNT
    const payloads = [TO_PASSER, TO_HOST].filter((cell) => {
      const id = s.mem[s.progress.words.at + cell] - 1
      return id >= 0 && id % SLOTS === slot
    }).length
    if (count > 0 && count !== payloads + 1) return `slot ${slot} has ${count - 1} mentions in ${payloads} payloads`
    if (count <= 0 && payloads > 0) return `slot ${slot} is not taken, and a payload mentions it`
  }
  return undefined
}

const buffers: Model = {
  name: "buffers",
  shows: "a shared buffer is forgotten only when no payload mentions it, and a number stands for one buffer",
  procs: 2,
  preemptions: 3,
  fast: true,
  actors: (setup) => [
    part(setup, 0, "buffers.giver", 3, 0),
    part(setup, 1, "buffers.passer", 2),
    { name: "host", run: "buffers.forgetter", args: [setup.s, 3] },
  ],
  check: mentionsAddUp,
}

const { check: _, fast: __, ...rest } = buffers

export const bufferModels: ReadonlyArray<Model> = [
  buffers,
  {
    ...buffers,
    name: "buffers of a busy machine",
    shows: "who has not heard for long that a number is dead does not take another buffer for it",
    procs: 1,
    actors: (setup) => [
      part(setup, 0, "buffers.passer", 1),
      { name: "host", run: "buffers.forgetfulGiver", args: [setup.s, 3] },
    ],
  },
  // A dead machine may leave mentions behind.
  { ...rest, name: "buffers, with a death", deaths: 1, preemptions: 2 },
  {
    ...buffers,
    name: "buffers of two",
    shows: "two never take one slot",
    actors: (setup) => [
      part(setup, 0, "buffers.giver", 1, 0),
      part(setup, 1, "buffers.giver", 2, 0),
      { name: "host", run: "buffers.forgetter", args: [setup.s, 2] },
    ],
  },
]
