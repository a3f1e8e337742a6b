/**
 * Buffers in shared memory that have crossed threads, by number. A number means the same buffer on every thread of a
 * pool. Machines learn of buffers by messages, which can come after a G that refers to them: who needs a buffer that
 * is not here yet waits for it.
 */
import type { SharedBuffers } from "../codec/codec.ts"

/** Tells the other side about a buffer. */
export interface SharedNotice {
  readonly kind: "shared"
  readonly id: number
  readonly buffer: SharedArrayBuffer
}

/** One thread's table. */
export class SharedTable implements SharedBuffers {
  readonly #ids = new Map<SharedArrayBuffer, number>()
  readonly #buffers = new Map<number, SharedArrayBuffer>()
  readonly #waiting = new Map<number, Array<() => void>>()
  readonly #owner: number
  readonly #announce: (notice: SharedNotice) => void
  #count = 0

  /** `owner` makes the numbers that this thread gives differ from those of other threads. */
  constructor(owner: number, announce: (notice: SharedNotice) => void) {
    this.#owner = owner
    this.#announce = announce
  }

  /** The number of a buffer; a new one is announced. */
  idOf(buffer: SharedArrayBuffer): number {
    const known = this.#ids.get(buffer)
    if (known !== undefined) return known
    const id = this.#count++ * OWNERS + this.#owner
    this.add(id, buffer)
    this.#announce({ kind: "shared", id, buffer })
    return id
  }

  byId(id: number): SharedArrayBuffer | undefined {
    return this.#buffers.get(id)
  }

  /** Takes note of a buffer that another thread has announced. */
  add(id: number, buffer: SharedArrayBuffer): void {
    if (this.#buffers.has(id)) return
    this.#ids.set(buffer, id)
    this.#buffers.set(id, buffer)
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return
    this.#waiting.delete(id)
    for (const go of waiting) go()
  }

  /** Calls `go` once all these buffers are here; at once if they are. */
  whenKnown(ids: ReadonlyArray<number>, go: () => void): void {
    const missing = ids.find((id) => !this.#buffers.has(id))
    if (missing === undefined) return go()
    const waiting = this.#waiting.get(missing) ?? []
    waiting.push(() => this.whenKnown(ids, go))
    this.#waiting.set(missing, waiting)
  }

  /** Whether all these buffers are here. */
  knows(ids: ReadonlyArray<number>): boolean {
    return ids.every((id) => this.#buffers.has(id))
  }

  /** Everything, for a machine that starts later. */
  all(): ReadonlyArray<SharedNotice> {
    return Array.from(this.#buffers, ([id, buffer]) => ({ kind: "shared", id, buffer }))
  }
}

/** More than the number of threads that a pool can have. */
const OWNERS = 2048
