/** The host's side of progress: looks at the slots of Gs whose callers listen, and tells what is new. */
import { closeSlot, openSlot, type ProgressSlots, readSlot } from "./progressSlots.ts"

/** Ms between two looks: often enough for a bar that moves, and nothing for the host to do in between. */
const LOOK_MS = 30

/** What a task has reported last; `total` is NaN if it gave none. */
export interface Reported {
  readonly done: number
  readonly total: number
}

/** The Gs that are listened to. There is a timer only while there are any. */
export class ProgressWatch {
  readonly #slots: ProgressSlots
  readonly #tell: (g: number, reported: Reported) => void
  /** By G: the count of writes that was seen last. */
  readonly #seen = new Map<number, number>()
  readonly #pair = { done: 0, total: 0 }
  #timer: ReturnType<typeof setTimeout> | undefined

  /** `tell` must not throw, and must not keep what it is told. */
  constructor(slots: ProgressSlots, tell: (g: number, reported: Reported) => void) {
    this.#slots = slots
    this.#tell = tell
  }

  /** Listens to a G that is about to be queued. */
  begin(g: number): void {
    openSlot(this.#slots, g)
    this.#seen.set(g, 0)
    this.#timer ??= setTimeout(() => this.#look(), LOOK_MS)
  }

  /** Tells what is new once more, and listens no longer. Before the record is given back. */
  end(g: number): void {
    this.#lookAt(g)
    closeSlot(this.#slots, g)
    this.#seen.delete(g)
    if (this.#seen.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    this.#timer = setTimeout(() => this.#look(), LOOK_MS)
    for (const g of this.#seen.keys()) this.#lookAt(g)
  }

  #lookAt(g: number): void {
    const seen = this.#seen.get(g)!
    const count = readSlot(this.#slots, g, seen, this.#pair)
    if (count === seen) return
    this.#seen.set(g, count)
    this.#tell(g, this.#pair)
  }
}
