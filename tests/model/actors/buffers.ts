/** Threads that send shared buffers to each other, and a host that has those forgotten that no payload mentions. */
import {
  kill,
  mention,
  newId,
  NO_SLOT,
  setSeen,
  takeSlot,
  unmention,
} from "../../../src/internal/scheduler/mentions.ts"
import { FORGOTTEN, GIVEN, promise, type Sim, type SimMachine } from "./ghosts.ts"

// Messages and payloads, in words that no G's progress uses: those under way, by a buffer's number plus 1, and the sets
// of numbers that were announced and forgotten. A set that grows is its own turn.
export const TO_PASSER = 0
export const TO_HOST = 1
const ANNOUNCED = 2
const TOLD = 3

const IDS = 12

const exchange = (words: Int32Array, cell: number, value: number): number => Atomics.exchange(words, cell, value)
const putInto = (words: Int32Array, cell: number, value: number): boolean =>
  Atomics.compareExchange(words, cell, 0, value) === 0
const setIn = (words: Int32Array, cell: number): number => Atomics.load(words, cell)
const addTo = (words: Int32Array, cell: number, id: number): void => {
  Atomics.or(words, cell, 1 << id)
}

/** SharedTable.idOf: the number of a buffer that was `known` by that one, or -1, with one mention more. */
function idOf(s: Sim, owner: number, known: number, from: number): number {
  const at = s.mentions.words
  if (known >= 0 && mention(at, known)) return known
  const slot = takeSlot(at, from)
  if (slot === NO_SLOT) return -1
  const id = newId(at, slot, owner)
  promise((s.mem[s.ghosts + GIVEN] & (1 << id)) === 0, "a number was given twice")
  s.mem[s.ghosts + GIVEN] |= 1 << id
  addTo(s.progress.words, ANNOUNCED, id)
  return id
}

const isForgotten = (s: Sim, id: number): boolean => (s.mem[s.ghosts + FORGOTTEN] & (1 << id)) !== 0

/** Writes a payload, if the one before was taken. */
function send(s: Sim, cell: number, id: number): void {
  promise(!isForgotten(s, id), "a payload mentions a buffer that is forgotten")
  if (!putInto(s.progress.words, cell, id + 1)) unmention(s.mentions.words, id)
}

/** Takes a payload: the number of its buffer, or -1. Detached first, and its mention taken away then. */
function take(s: Sim, cell: number): number {
  const id = exchange(s.progress.words, cell, 0) - 1
  if (id < 0) return -1
  promise(!isForgotten(s, id), "a buffer was forgotten that a payload mentions")
  unmention(s.mentions.words, id)
  return id
}

/** SharedTable.forget: what a machine that knows a number knows after it has heard the host. */
function hear(s: Sim, m: number, known: number): number {
  const told = setIn(s.progress.words, TOLD)
  setSeen(s.mentions.words, m, told)
  return known >= 0 && (told & (1 << known)) === 0 ? known : -1
}

/** Sends one buffer again and again, and hears the host now and then. */
export function giver(s: Sim, t: SimMachine, times: number, from: number): void {
  let known = -1
  for (let i = 0; i < times; i++) {
    const id = idOf(s, t.m, known, from)
    if (id >= 0) {
      known = id
      send(s, TO_PASSER, id)
    }
    if (i % 2 === 1) known = hear(s, t.m, known)
  }
  hear(s, t.m, known)
}

/** Sends on what it is given, also when it is not given anything new. */
export function passer(s: Sim, t: SimMachine, times: number): void {
  let known = -1
  for (let i = 0; i < times; i++) {
    const given = take(s, TO_PASSER)
    if (given >= 0) known = given
    if (known >= 0) {
      const id = idOf(s, t.m, known, t.m)
      if (id >= 0) {
        known = id
        send(s, TO_HOST, id)
      }
    }
    known = hear(s, t.m, known)
  }
}

/** Forgetting.look, with one number at a time: what all were told of before and are told of now. */
function look(s: Sim, told: number): number {
  const announced = setIn(s.progress.words, ANNOUNCED)
  for (let id = 0; id < IDS; id++) {
    const turn = told | (1 << id)
    if ((announced & ~told & (1 << id)) !== 0 && kill(s.mentions.words, id, s.procs, turn)) {
      s.mem[s.ghosts + FORGOTTEN] |= 1 << id
      addTo(s.progress.words, TOLD, id)
      return turn
    }
  }
  return told
}

export function forgetter(s: Sim, rounds: number): void {
  let told = 0
  for (let i = 0; i < rounds; i++) {
    take(s, TO_HOST)
    told = look(s, told)
  }
}

/** The host when it sends buffers itself, and takes payloads back, as those of calls that are cancelled. */
export function forgetfulGiver(s: Sim, rounds: number): void {
  let known = -1
  let told = 0
  for (let i = 0; i < rounds; i++) {
    const id = idOf(s, s.procs, known, 0)
    if (id >= 0) {
      known = id
      send(s, TO_PASSER, id)
    }
    take(s, TO_PASSER)
    told = look(s, told)
  }
}
