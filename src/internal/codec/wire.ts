/** What travels beside the values when some of them are more than structured clone can carry. */

/** A SharedArrayBuffer, or with `view` a typed array or DataView on one. `length` is in elements, `offset` in bytes. */
export interface SharedShell {
  readonly kind: "shared"
  readonly id: number
  readonly view: string | undefined
  readonly offset: number
  readonly length: number
}

export interface ErrorShell {
  readonly kind: "error"
  /** The built-in class that it extends. */
  readonly base: string
  /** The name under which its class, or one that it extends, is registered. */
  readonly registered: string | undefined
  readonly name: string
  readonly message: string
  /** Own properties as they were: enumerable ones, and those that errors have by nature. */
  readonly own: Record<string, unknown>
  readonly hidden: Record<string, unknown>
}

export type Shell = SharedShell | ErrorShell

/** An object or a list, and where in it the value of a shell belongs. */
export type Hole = readonly [container: object, key: string | number, shell: number]

/** A Map (keys and values in turn) or Set that is filled only once its own holes are. */
export type Refill = readonly [target: Map<unknown, unknown> | Set<unknown>, items: ReadonlyArray<unknown>]

export interface Graph {
  readonly values: Array<unknown>
  readonly shells: ReadonlyArray<Shell>
  readonly holes: ReadonlyArray<Hole>
  readonly refills: ReadonlyArray<Refill>
}

/** The buffers that both sides know by number. */
export interface SharedBuffers {
  /** The number of a buffer. If it is not in `mentioned`, it is put there, and counts as mentioned by one payload more. */
  idOf(buffer: SharedArrayBuffer, mentioned: Array<number>): number
  byId(id: number): SharedArrayBuffer | undefined
  /** A payload that mentions these is gone, or was never sent. */
  unmention(ids: ReadonlyArray<number>): void
}

/** Assigns, also where assignment would reach a setter: the own property "__proto__" is data like any other. */
export const put = (container: object, key: string | number, value: unknown): void => {
  if (key === "__proto__") {
    Object.defineProperty(container, key, { value, writable: true, enumerable: true, configurable: true })
  } else {
    ;(container as Record<string | number, unknown>)[key] = value
  }
}
