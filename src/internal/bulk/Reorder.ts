/** Puts values that come in any order into the order of their indices. Holds only those that came early. */

const NOTHING: unique symbol = Symbol()

/** A ring that grows with the distance between the first value that is missing and the last one that has come. */
export class Reorder<A> {
  #ring: Array<A | typeof NOTHING> = new Array(16).fill(NOTHING)
  /** Index of the value that is next. */
  next = 0

  /** Takes in the value at `index`, each once. */
  put(index: number, value: A): void {
    if (index - this.next >= this.#ring.length) this.#grow(index)
    this.#ring[index & (this.#ring.length - 1)] = value
  }

  /** Passes on the values whose turn it is. */
  drain(to: (value: A, index: number) => void): void {
    for (;;) {
      const at = this.next & (this.#ring.length - 1)
      const value = this.#ring[at]
      if (value === NOTHING) return
      this.#ring[at] = NOTHING
      to(value as A, this.next++)
    }
  }

  #grow(index: number): void {
    const old = this.#ring
    let length = old.length * 2
    while (index - this.next >= length) length *= 2
    this.#ring = new Array(length).fill(NOTHING)
    for (let i = this.next; i < this.next + old.length; i++) {
      this.#ring[i & (length - 1)] = old[i & (old.length - 1)]
    }
  }
}
