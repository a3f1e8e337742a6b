/**
 * A full stack throws wherever it happens to end, which could be between two steps of a spawn or a join that belong
 * together. Deep calls ask for room first, where nothing has been begun yet.
 */

/** Calls nested less deeply than this have room: what they would need to fill the stack is in the user's functions. */
export const SHALLOW = 200

/**
 * Bytes that the machinery between two calls of the user's functions needs, many times over: with code that was not
 * compiled yet, and for making and passing on an error. On Deno the whole stack is about a megabyte.
 */
const ROOM = 96 * 1024

/** A call puts its arguments on the stack, 8 bytes each, whatever the compiler has made of the code so far. */
const filling: ReadonlyArray<number> = new Array(ROOM / 8).fill(0)

const use: (...args: Array<number>) => void = () => {}

/** Throws a `RangeError` if the stack has not enough room for a spawn, or for a join and the end of the call in it. */
export const ensureRoom = (): void => {
  use.apply(undefined, filling as Array<number>)
}
