/**
 * The payload of a G in shared memory: arguments until it starts, the outcome once it has ended. Small values stand
 * in the record, others as bytes in an arena block that the record names.
 */
import {
  adoptBlock,
  allocateBlock,
  BUSY,
  FULL,
  G_BLOCK,
  G_BYTES,
  G_OUTCOME,
  G_PAYLOAD,
  G_PAYLOAD_WORDS,
  G_TAGS,
  gw,
  payloadOf,
  type Sched,
} from "../scheduler/index.ts"
import { encode, hasIds, type SharedBuffers, sharedIds } from "./codec.ts"
import { readInline, readInline1, type Views, writeInline, writeInline1 } from "./inline.ts"

/** The value that the task returned. */
export const SUCCEEDED = 0
/** `[what was thrown]`. */
export const THREW = 1
/** `[path, reason]`: the result cannot be sent. */
export const UNSENDABLE = 2
/** `[bytes, limit]`: the result does not fit. */
export const TOO_LARGE = 3
/** `[module, reason]`. */
export const NOT_FOUND = 4
/** `[who waits on what]`. */
export const DEADLOCK = 5
/** `[machine, reason]`. */
export const EXITED = 6
/** `[a packed cause]`: an Effect failed. */
export const FAILED_EFFECT = 8
/** `[module]`: a pool was opened while the module was imported. */
export const UNGUARDED = 9
/** It stopped because its caller did not want it any more. */
export const INTERRUPTED = 7

/** The memory of a pool as this module sees it: the scheduler's views and the codec's. */
export interface Memory {
  readonly s: Sched
  readonly views: Views
}

/** Pairs the two kinds of views on one pool's memory. */
export const memoryOf = (s: Sched): Memory => ({ s, views: { i32: s.mem, f64: s.f64, u8: s.u8, u16: s.u16 } })

/** Writes arguments into the record if they fit there. Touches the payload only. */
export const putInline = ({ s, views }: Memory, g: number, values: ReadonlyArray<unknown>): boolean => {
  const G = gw(s, g)
  return writeInline(views, G + G_TAGS, G + G_PAYLOAD, G_PAYLOAD_WORDS, values)
}

/** Writes one value into the record if it fits there. Touches the payload only. */
export const putInline1 = ({ s, views }: Memory, g: number, value: unknown): boolean => {
  const G = gw(s, g)
  return writeInline1(views, G + G_TAGS, G + G_PAYLOAD, G_PAYLOAD_WORDS, value)
}

/** Puts bytes in the arena for `g`. False: no room beside the reserve, or the host could not get the lock. */
export const putBytes = ({ s }: Memory, g: number, bytes: Uint8Array, me: number, reserve: number): boolean => {
  const block = allocateBlock(s, bytes.length, me, reserve)
  if (block === FULL || block === BUSY) return false
  s.u8.set(bytes, payloadOf(block))
  const G = gw(s, g)
  s.mem[G + G_BYTES] = bytes.length
  s.mem[G + G_BLOCK] = block
  return true
}

/** Whether the payload of `g` is in the arena. */
export const hasBytes = ({ s }: Memory, g: number): boolean => s.mem[gw(s, g) + G_BLOCK] !== 0

/** The values in the record of `g`. */
export const takeInline = ({ s, views }: Memory, g: number): Array<unknown> => {
  const G = gw(s, g)
  return readInline(views, G + G_TAGS, G + G_PAYLOAD)
}

/** The first value in the record of `g`. */
export const takeInline1 = ({ s, views }: Memory, g: number): unknown => {
  const G = gw(s, g)
  return readInline1(views, G + G_TAGS, G + G_PAYLOAD)
}

/** A private copy of the bytes of `g`. The block stays. */
export const copyBytes = ({ s }: Memory, g: number): Uint8Array => {
  const G = gw(s, g)
  const at = payloadOf(s.mem[G + G_BLOCK])
  return s.u8.slice(at, at + s.mem[G + G_BYTES])
}

/** Detaches the block from `g` in the name of `me`, who must free it. 0 if there is none. */
export const detach = ({ s }: Memory, g: number, me: number): number => {
  const G = gw(s, g)
  const block = s.mem[G + G_BLOCK]
  if (block !== 0) {
    adoptBlock(s, block, me)
    Atomics.store(s.mem, G + G_BLOCK, 0)
  }
  return block
}

/**
 * The shared buffers that a payload mentions whose block was detached. They must be unmentioned before the block is
 * freed, and after it was detached: a machine that dies between may leave a mention behind, but takes none away twice.
 */
export const idsIn = ({ s }: Memory, block: number): ReadonlyArray<number> => {
  const at = payloadOf(block)
  return hasIds(s.u8[at]) ? sharedIds(s.u8.subarray(at)) : noIds
}

/** How `g` ended. */
export const outcomeOf = ({ s }: Memory, g: number): number => s.mem[gw(s, g) + G_OUTCOME]

/** Says how `g` ended; the values are written by the other functions. */
export const setOutcome = ({ s }: Memory, g: number, outcome: number): void => {
  s.mem[gw(s, g) + G_OUTCOME] = outcome
}

const noIds: ReadonlyArray<number> = []

const noBuffers: SharedBuffers = { idOf: () => 0, byId: () => undefined, unmention: () => {} }

/**
 * Writes an outcome that consists of numbers and strings. If there is no room for it in the arena, strings are cut
 * until it fits the record: there is always a way to tell what went wrong.
 */
export const putReport = (
  memory: Memory,
  g: number,
  outcome: number,
  values: ReadonlyArray<string | number>,
  me: number,
): void => {
  setOutcome(memory, g, outcome)
  if (putInline(memory, g, values) || putBytes(memory, g, encode(values, "result", noBuffers), me, 0)) return
  let room = 64
  const cut = (value: string | number) => typeof value === "string" ? value.slice(0, room) : value
  while (!putInline(memory, g, values.map(cut))) room >>>= 1
}
