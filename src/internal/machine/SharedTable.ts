/**
 * Buffers in shared memory that have crossed threads, by number. A number means the same buffer on every thread of a
 * pool. Machines learn of buffers by messages, which can come after a G that refers to them: who needs a buffer that
 * is not here yet waits for it.
 *
 * The host has buffers forgotten that no payload mentions, see mentions.ts, when there are many of them: first it ends
 * the number, then it tells all machines. Messages come in the order in which they were sent, so whoever was told to
 * forget a buffer had been told of it. If it is sent again it gets another number.
 */
import type { SharedBuffers } from "../codec/codec.ts"
import {
  hasSlot,
  idOwnedBy,
  kill,
  lastingId,
  mention,
  newId,
  NO_SLOT,
  setSeen,
  SLOTS,
  takeSlot,
  unmention,
} from "../scheduler/mentions.ts"

/** Tells the other side about a buffer. */
export interface SharedNotice {
  readonly kind: "shared"
  readonly id: number
  readonly buffer: SharedArrayBuffer
}

/** Tells machines of buffers that nobody needs by their numbers any more. */
export interface ForgetNotice {
  readonly kind: "forget"
  readonly ids: ReadonlyArray<number>
  /** The how manieth such notice this is. */
  readonly turn: number
}

/** Tells machines of buffers that they will never be told of. */
export interface LostNotice {
  readonly kind: "lost"
  readonly ids: ReadonlyArray<number>
}

/**
 * V8 does not count shared memory when it decides whether to collect garbage, and might not for hours: it does count
 * this. The memory is never touched, so there is none behind it.
 */
const countAsGarbage = (bytes: number): void => void new ArrayBuffer(Math.min(bytes, MAX_COUNTED))
const MAX_COUNTED = 2 ** 26

/** Slots between those at which two threads begin to look. */
const APART = 512

/** One thread's table. */
export class SharedTable implements SharedBuffers {
  readonly #ids = new Map<SharedArrayBuffer, number>()
  readonly #buffers = new Map<number, SharedArrayBuffer>()
  /** Those of machines that ended before they could tell of them: nobody has them any more. */
  readonly #lost = new Set<number>()
  readonly #waiting = new Map<number, Array<() => void>>()
  readonly #owner: number
  readonly #words: Int32Array
  readonly #announce: (notice: SharedNotice) => void
  /** Where it looks for the next slot: those before are taken, most likely. */
  #from: number
  /** Bytes of all buffers that are known. */
  bytes = 0

  /** `owner` tells whose the numbers are that this thread gives: 0 is the host, `m + 1` machine `m`. */
  constructor(owner: number, words: Int32Array, announce: (notice: SharedNotice) => void) {
    this.#owner = owner
    this.#from = (owner * APART) % SLOTS
    this.#words = words
    this.#announce = announce
  }

  /** How many buffers are known. */
  get size(): number {
    return this.#buffers.size
  }

  /** The number of a buffer, for a payload that mentions those in `mentioned` so far. A new one is announced. */
  idOf(buffer: SharedArrayBuffer, mentioned: Array<number>): number {
    const known = this.#ids.get(buffer)
    if (known !== undefined) {
      if (mentioned.includes(known)) return known
      if (!hasSlot(known) || mention(this.#words, known)) {
        mentioned.push(known)
        return known
      }
      this.#drop(known) // as the host is about to say
    }
    const id = this.#newId()
    mentioned.push(id)
    this.add(id, buffer)
    this.#announce({ kind: "shared", id, buffer })
    return id
  }

  #newId(): number {
    const slot = takeSlot(this.#words, this.#from)
    if (slot === NO_SLOT) return lastingId(this.#words)
    this.#from = slot + 1
    return newId(this.#words, slot, this.#owner)
  }

  /** A payload that mentions these is gone. */
  unmention(ids: ReadonlyArray<number>): void {
    for (const id of ids) if (hasSlot(id)) unmention(this.#words, id)
  }

  byId(id: number): SharedArrayBuffer | undefined {
    return this.#buffers.get(id)
  }

  /** Takes note of a buffer that another thread has announced. */
  add(id: number, buffer: SharedArrayBuffer): void {
    if (this.#buffers.has(id)) return
    this.#ids.set(buffer, id)
    this.#buffers.set(id, buffer)
    this.bytes += buffer.byteLength
    this.#goOn(id)
  }

  #goOn(id: number): void {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return
    this.#waiting.delete(id)
    for (const go of waiting) go()
  }

  /** On the host: the buffers that a machine has sent, and has ended before it could tell of them. */
  lostWith(m: number): ReadonlyArray<number> {
    const lost = []
    for (let slot = 0; slot < SLOTS; slot++) {
      const id = idOwnedBy(this.#words, slot, m + 1)
      if (id >= 0 && !this.#buffers.has(id)) lost.push(id)
    }
    return lost
  }

  /** Nobody waits any longer for these: what mentions them cannot be read. */
  lose(ids: ReadonlyArray<number>): void {
    for (const id of ids) this.#lost.add(id)
    for (const id of ids) this.#goOn(id)
  }

  /** All that are lost, for a machine that starts later. */
  get lost(): ReadonlyArray<number> {
    return [...this.#lost]
  }

  #drop(id: number): void {
    const buffer = this.#buffers.get(id)
    if (buffer === undefined) return
    this.#buffers.delete(id)
    this.bytes -= buffer.byteLength
    // It may have come back under another number.
    if (this.#ids.get(buffer) === id) this.#ids.delete(buffer)
  }

  /** On machine `m`: forgets what the host has forgotten. */
  forget({ ids, turn }: ForgetNotice, m: number): void {
    const before = this.bytes
    for (const id of ids) this.#drop(id)
    countAsGarbage(before - this.bytes)
    setSeen(this.#words, m, turn)
  }

  /** On the host: ends the numbers of all buffers that no payload mentions, as the `machines` will be told in that turn. */
  endUnmentioned(
    machines: number,
    turn: number,
  ): ReadonlyArray<{ readonly id: number; readonly buffer: SharedArrayBuffer }> {
    const ended = []
    const before = this.bytes
    for (const [id, buffer] of this.#buffers) {
      if (!hasSlot(id) || !kill(this.#words, id, machines, turn)) continue
      this.#drop(id)
      ended.push({ id, buffer })
    }
    countAsGarbage(before - this.bytes)
    return ended
  }

  #isKnown(id: number): boolean {
    return this.#buffers.has(id) || this.#lost.has(id)
  }

  /** Calls `go` once all these buffers, which a payload mentions, are here, or lost; at once if they are. */
  whenKnown(ids: ReadonlyArray<number>, go: () => void, from = 0): void {
    // What is known stays so for as long as it is mentioned: those before need not be looked at again.
    let at = from
    while (at < ids.length && this.#isKnown(ids[at])) at++
    if (at === ids.length) return go()
    const waiting = this.#waiting.get(ids[at]) ?? []
    waiting.push(() => this.whenKnown(ids, go, at + 1))
    this.#waiting.set(ids[at], waiting)
  }

  /** Whether all these buffers are here, or lost. */
  knows(ids: ReadonlyArray<number>): boolean {
    return ids.every((id) => this.#isKnown(id))
  }

  /** Everything, for a machine that starts later. */
  all(): ReadonlyArray<SharedNotice> {
    return Array.from(this.#buffers, ([id, buffer]) => ({ kind: "shared", id, buffer }))
  }
}
