/**
 * Lists whose own elements are plain JSON or shared memory: the usual way to hand shared data to a task. They need no
 * graph and no serializer, whose fixed cost is many times that of such a call.
 */
import { isJson } from "./json.ts"
import type { SharedBuffers, SharedShell } from "./wire.ts"

/** Such a list as JSON: null where shared memory belongs, and what belongs there. */
export interface SharedList {
  readonly values: Array<unknown>
  readonly places: ReadonlyArray<number>
  readonly shells: ReadonlyArray<SharedShell>
}

type IdOf = (buffer: SharedArrayBuffer) => number

const shellOf = (value: unknown, idOf: IdOf): SharedShell | undefined => {
  if (value instanceof SharedArrayBuffer) {
    return { kind: "shared", id: idOf(value), view: undefined, offset: 0, length: 0 }
  }
  if (!ArrayBuffer.isView(value) || !(value.buffer instanceof SharedArrayBuffer)) return undefined
  const { byteOffset, constructor } = value
  // A subclass, or one from another realm, is for the encoder that knows them.
  if ((globalThis as unknown as Record<string, unknown>)[constructor.name] !== constructor) return undefined
  const length = value instanceof DataView ? value.byteLength : (value as Uint8Array).length
  return { kind: "shared", id: idOf(value.buffer), view: constructor.name, offset: byteOffset, length }
}

/**
 * The list in that form, and in `mentioned` the numbers of its buffers; undefined if it has no shared memory, the same
 * view twice, or what JSON cannot carry.
 */
export const sharedList = (
  values: ReadonlyArray<unknown>,
  shared: SharedBuffers,
  mentioned: Array<number>,
): SharedList | undefined => {
  let list: SharedList | undefined
  try {
    list = listOf(values, (buffer) => shared.idOf(buffer, mentioned))
  } catch {
    // A trap threw: the encoder that tracks paths will say which.
  }
  if (list === undefined) shared.unmention(mentioned)
  return list
}

const listOf = (values: ReadonlyArray<unknown>, idOf: IdOf): SharedList | undefined => {
  const plain: Array<unknown> = []
  const places: Array<number> = []
  const shells: Array<SharedShell> = []
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    const shell = typeof value === "object" && value !== null ? shellOf(value, idOf) : undefined
    plain.push(shell === undefined ? value : null)
    if (shell === undefined) continue
    // One object that stands in two places must be one object on the other side too.
    if (places.some((place) => values[place] === value)) return undefined
    places.push(i)
    shells.push(shell)
  }
  return shells.length > 0 && isJson(plain) ? { values: plain, places, shells } : undefined
}
