/**
 * Values to bytes and back, with the semantics of structured clone plus two additions: shared buffers go by
 * reference, and errors keep what structured clone drops.
 *
 * The first byte tells how to read the rest:
 * - `[`: JSON, for what JSON carries without loss;
 * - `R`: a graph with shells (`wire.ts`): the count of shared buffers (32 bits, at byte 4), their ids, then a `Graph`
 *   in the runtime's structured-clone format;
 * - `S`: the same header, then a `SharedList` (`sharedArgs.ts`) as JSON;
 * - anything else: a list of values in that format, which begins with 0xff on V8 and with a small version on JSC.
 */
import { Copier } from "./copier.ts"
import { fillError, makeError } from "./errors.ts"
import { isJson } from "./json.ts"
import { type SharedList, sharedList } from "./sharedArgs.ts"
import { deserialize, serialize } from "./serializer.ts"
import { describe, tame, Unsendable } from "./unsendable.ts"
import { type Graph, put, type SharedBuffers, type Shell } from "./wire.ts"

export { Unsendable } from "./unsendable.ts"
export type { SharedBuffers } from "./wire.ts"

const JSON_MARK = "[".charCodeAt(0)
const GRAPH_MARK = "R".charCodeAt(0)
const SHARED_MARK = "S".charCodeAt(0)
const GRAPH_HEADER = 8

/** Scratch up to this size is kept from one call to the next. */
const MAX_KEPT = 1 << 20

/** Failures are cut off below this depth when the runtime cannot serialize them whole. */
const FAILURE_DEPTH = 64

const textEncoder = new TextEncoder()
const textDecoder = new TextDecoder()
const noIds: ReadonlyArray<number> = []

let kept = new Uint8Array(4096)

const scratch = (size: number): Uint8Array => {
  if (size <= kept.length) return kept
  const bytes = new Uint8Array(Math.max(size, Math.min(kept.length * 2, MAX_KEPT)))
  if (bytes.length <= MAX_KEPT) kept = bytes
  return bytes
}

// No code of the user runs once `scratch` was asked for, so a getter that encodes cannot overwrite this result.
const encodeJson = (values: ReadonlyArray<unknown>): Uint8Array => {
  const text = JSON.stringify(values)
  const bytes = scratch(text.length * 3)
  return bytes.subarray(0, textEncoder.encodeInto(text, bytes).written)
}

const encodeGraph = (copier: Copier, graph: Graph): Uint8Array => {
  if (graph.shells.length === 0) return serialize(graph.values)
  const { ids } = copier
  return withHeader(GRAPH_MARK, ids, serialize([graph.values, graph.shells, graph.holes, graph.refills]))
}

const withHeader = (mark: number, ids: ReadonlyArray<number>, body: Uint8Array): Uint8Array => {
  const start = GRAPH_HEADER + ids.length * 4
  const bytes = scratch(start + body.length)
  bytes[0] = mark
  const header = new DataView(bytes.buffer)
  header.setUint32(4, ids.length, true)
  for (let i = 0; i < ids.length; i++) header.setUint32(GRAPH_HEADER + i * 4, ids[i], true)
  bytes.set(body, start)
  return bytes.subarray(0, start + body.length)
}

const encodeShared = (list: SharedList, ids: ReadonlyArray<number>): Uint8Array =>
  withHeader(SHARED_MARK, ids, textEncoder.encode(JSON.stringify(list)))

/**
 * Encodes a list of arguments, or a list of one result (`root` is where paths begin). The bytes are valid until the
 * next call. Throws `Unsendable`, and nothing else. Whoever throws the bytes away, sent or not, unmentions their
 * {@link sharedIds}.
 */
export const encode = (
  values: ReadonlyArray<unknown>,
  root: "args" | "result",
  shared: SharedBuffers,
): Uint8Array => {
  if (isJson(values)) {
    try {
      return encodeJson(values)
    } catch {
      // As text it is longer than the longest string, or than there is memory for.
    }
  }
  const ids: Array<number> = []
  const list = sharedList(values, shared, ids)
  if (list !== undefined) return encodeShared(list, ids)
  const copier = new Copier({ root, shared, lenient: false, maxDepth: Infinity })
  try {
    return encodeGraph(copier, copier.graph(values))
  } catch (cause) {
    shared.unmention(copier.ids)
    const thrown = tame(cause) // by a getter or a trap
    if (thrown instanceof Unsendable) throw thrown
    return copier.refuse(thrown instanceof RangeError ? describe(thrown) : `reading it threw ${describe(thrown)}`)
  }
}

/**
 * Encodes whatever was thrown, as a list of one. What cannot be sent is replaced by a text that says so. Never throws.
 */
export const encodeFailure = (error: unknown, shared: SharedBuffers): Uint8Array => {
  for (const maxDepth of [Infinity, FAILURE_DEPTH]) {
    const copier = new Copier({ root: "result", shared, lenient: true, maxDepth })
    try {
      return encodeGraph(copier, copier.graph([error]))
    } catch {
      // Nested more deeply than the serializer can follow: once more, cut off.
      shared.unmention(copier.ids)
    }
  }
  return encodeJson([describe(error)])
}

/** Values as they arrive on another thread. Throws `Unsendable`. */
export const copy = (
  values: ReadonlyArray<unknown>,
  root: "args" | "result",
  shared: SharedBuffers,
): Array<unknown> => {
  const bytes = encode(values, root, shared)
  const ids = sharedIds(bytes)
  const copied = decode(bytes, shared)
  shared.unmention(ids)
  return copied
}

/** Whether bytes that begin with this mention shared buffers. */
export const hasIds = (first: number): boolean => first === GRAPH_MARK || first === SHARED_MARK

/** The ids of the shared buffers that `decode` will ask for, each once. */
export const sharedIds = (bytes: Uint8Array): ReadonlyArray<number> => {
  if (!hasIds(bytes[0])) return noIds
  const header = new DataView(bytes.buffer, bytes.byteOffset)
  const count = header.getUint32(4, true)
  return count === 0 ? noIds : Array.from({ length: count }, (_, i) => header.getUint32(GRAPH_HEADER + i * 4, true))
}

const make = (shell: Shell, shared: SharedBuffers): object => {
  if (shell.kind === "error") return makeError(shell)
  const buffer = shared.byId(shell.id)
  if (buffer === undefined) throw new Error("the machine that made this shared memory ended before it could tell of it")
  if (shell.view === undefined) return buffer
  const View = (globalThis as unknown as Record<string, Uint8ArrayConstructor>)[shell.view]
  return new View(buffer, shell.offset, shell.length)
}

const decodeGraph = (bytes: Uint8Array, shared: SharedBuffers): Array<unknown> => {
  const start = GRAPH_HEADER + sharedIds(bytes).length * 4
  const [values, shells, holes, refills] = deserialize(bytes.subarray(start)) as [
    Graph["values"],
    Graph["shells"],
    Graph["holes"],
    Graph["refills"],
  ]
  const made = shells.map((shell) => make(shell, shared))
  for (const [container, key, shell] of holes) put(container, key, made[shell])
  for (const [target, items] of refills) {
    if (target instanceof Map) { for (let i = 0; i < items.length; i += 2) target.set(items[i], items[i + 1]) }
    else for (const item of items) target.add(item)
  }
  shells.forEach((shell, i) => {
    if (shell.kind === "error") fillError(made[i] as Error, shell)
  })
  return values
}

const decodeShared = (bytes: Uint8Array, shared: SharedBuffers): Array<unknown> => {
  const start = GRAPH_HEADER + sharedIds(bytes).length * 4
  const { places, shells, values } = JSON.parse(textDecoder.decode(bytes.subarray(start))) as SharedList
  places.forEach((place, i) => {
    values[place] = make(shells[i], shared)
  })
  return values
}

/** Gives back what `encode` or `encodeFailure` was given. The bytes are a copy that nobody else writes to. */
export const decode = (bytes: Uint8Array, shared: SharedBuffers): Array<unknown> => {
  switch (bytes[0]) {
    case JSON_MARK:
      return JSON.parse(textDecoder.decode(bytes))
    case GRAPH_MARK:
      return decodeGraph(bytes, shared)
    case SHARED_MARK:
      return decodeShared(bytes, shared)
    default:
      return deserialize(bytes) as Array<unknown>
  }
}
