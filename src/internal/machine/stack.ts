/**
 * A full stack throws wherever it happens to end, which could be between two steps of a spawn or a join that belong
 * together. Deep calls ask for room first, where nothing has been begun yet.
 */

/** Calls nested less deeply than this have room: what they would need to fill the stack is in the user's functions. */
export const SHALLOW = 200

/**
 * Small frames, many times what the machinery between two calls of the user's functions needs. On Deno a stack of code that
 * was not compiled yet holds some thousand calls, so it must not be a large part of that.
 */
const FRAMES = 500

const use = (frames: number): number => frames === 0 ? 0 : 1 + use(frames - 1)

/** Throws a `RangeError` if the stack has not enough room for a spawn, or for a join and the end of the call in it. */
export const ensureRoom = (): void => {
  use(FRAMES)
}
