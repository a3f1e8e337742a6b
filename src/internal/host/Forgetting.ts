/** When the host has shared buffers forgotten: see SharedTable.ts for how. */
import { setSeen, SLOTS } from "../scheduler/mentions.ts"
import type { ForgetNotice, SharedTable } from "../machine/SharedTable.ts"

/** Up to so many buffers, of so many bytes, are kept in any case. */
const KEPT = 256
const KEPT_BYTES = 2 ** 26

/**
 * Looks through a pool's buffers when there are twice as many, or twice as many bytes, as were left the last time. So a
 * look costs a bounded time for each new buffer, and as much again is kept as is in use.
 */
export class Forgetting {
  readonly #table: SharedTable
  readonly #words: Int32Array
  readonly #machines: number
  readonly #tell: (notice: ForgetNotice) => void
  /** Buffers that were forgotten: if one comes back, too few are kept. */
  readonly #forgotten = new WeakSet<SharedArrayBuffer>()
  #turn = 0
  #kept = KEPT
  #keptBytes = KEPT_BYTES
  #limit = KEPT
  #limitBytes = KEPT_BYTES

  constructor(table: SharedTable, words: Int32Array, machines: number, tell: (notice: ForgetNotice) => void) {
    this.#table = table
    this.#words = words
    this.#machines = machines
    this.#tell = tell
  }

  /** A buffer has been added. */
  added(buffer: SharedArrayBuffer): void {
    if (this.#forgotten.delete(buffer)) {
      this.#limit = this.#kept = Math.min(this.#kept * 2, SLOTS / 2)
      this.#limitBytes = this.#keptBytes *= 2
    }
    if (this.#table.size > this.#limit || this.#table.bytes > this.#limitBytes) this.#look()
  }

  /** A machine is about to start: it will know what is known now. */
  starting(m: number): void {
    setSeen(this.#words, m, this.#turn)
  }

  #look(): void {
    const turn = this.#turn + 1
    const ended = this.#table.endUnmentioned(this.#machines, turn)
    this.#limit = Math.max(this.#kept, 2 * this.#table.size)
    this.#limitBytes = Math.max(this.#keptBytes, 2 * this.#table.bytes)
    if (ended.length === 0) return
    this.#turn = turn
    for (const { buffer } of ended) this.#forgotten.add(buffer)
    this.#tell({ kind: "forget", ids: ended.map(({ id }) => id), turn })
  }
}
