/**
 * One walk over a graph of values that makes a copy which structured clone carries without loss: instances become
 * plain objects, getters and proxies are read once, and what cannot be carried natively (errors, shared buffers)
 * leaves a hole and a shell that describes it.
 */
import { Buffer } from "node:buffer"
import { types } from "node:util"
import { copyProperties, shellOf } from "./errors.ts"
import { refusal } from "./refusal.ts"
import { renderPath, type Step } from "./path.ts"
import { describe, tame, Unsendable } from "./unsendable.ts"
import { type Graph, type Hole, put, type Refill, type SharedBuffers, type SharedShell, type Shell } from "./wire.ts"

/** What a visit returns for a value that travels as a shell. */
class Absent {
  readonly shell: number
  constructor(shell: number) {
    this.shell = shell
  }
}

export interface CopierOptions {
  readonly root: "args" | "result"
  readonly shared: SharedBuffers
  /** Replace what cannot be sent by a text that says so, instead of refusing the whole. */
  readonly lenient: boolean
  /** How far down to go. */
  readonly maxDepth: number
}

const viewName = (view: ArrayBufferView): string =>
  (view as { readonly [Symbol.toStringTag]?: string })[Symbol.toStringTag] ?? "DataView"

const isDetached = (buffer: ArrayBufferLike): boolean => {
  if (buffer.byteLength > 0) return false
  try {
    new Uint8Array(buffer)
    return false
  } catch {
    return true
  }
}

const isPrimitive = (value: unknown): boolean =>
  value === null || (typeof value !== "object" && typeof value !== "function" && typeof value !== "symbol")

// Above the first length, looking for named properties costs as much as the serializer; above the second, a list is
// likely to be mostly holes, which `every` would visit one by one.
const MAX_CHECKED = 64
const MAX_DENSE = 1 << 24

/** A list of primitives, which the serializer writes as it is, holes and named properties included. */
const isNative = (values: ReadonlyArray<unknown>): boolean =>
  values.length <= MAX_DENSE && values.every(isPrimitive) &&
  (values.length > MAX_CHECKED || Object.keys(values).length <= values.length)

export class Copier {
  readonly shells: Array<Shell> = []
  readonly holes: Array<Hole> = []
  readonly refills: Array<Refill> = []
  /** The ids of the shared buffers that the values reach, each once. */
  readonly ids: Array<number> = []
  /** The steps to the value being copied; after a failure, to the one that failed. */
  readonly path: Array<Step> = []
  private readonly seen = new Map<object, unknown>()
  private readonly options: CopierOptions

  constructor(options: CopierOptions) {
    this.options = options
  }

  graph(values: ReadonlyArray<unknown>): Graph {
    const copies: Array<unknown> = new Array(values.length)
    for (let i = 0; i < values.length; i++) this.item(copies, i, values[i])
    return { values: copies, shells: this.shells, holes: this.holes, refills: this.refills }
  }

  refuse(reason: string): never {
    throw new Unsendable(renderPath(this.options.root, this.path), reason)
  }

  private visit(value: unknown): unknown {
    switch (typeof value) {
      case "object":
        return value === null ? null : this.object(value)
      case "function":
        return this.refuse("functions cannot be sent")
      case "symbol":
        return this.refuse("symbols cannot be sent")
      default:
        return value
    }
  }

  /** Runs one step of the copy; if it fails and that is to be forgiven, the text takes the place of the value. */
  private forgive(step: () => unknown): unknown {
    const depth = this.path.length
    try {
      return step()
    } catch (cause) {
      this.path.length = depth
      const thrown = tame(cause)
      return `[${thrown instanceof Unsendable ? thrown.reason : `reading it threw ${describe(thrown)}`}]`
    }
  }

  private store(container: object, key: string | number, copy: unknown): void {
    if (copy instanceof Absent) {
      this.holes.push([container, key, copy.shell])
      put(container, key, undefined)
    } else {
      put(container, key, copy)
    }
  }

  private item(container: object, key: string | number, value: unknown, step: Step = key): void {
    const { path } = this
    path.push(step)
    this.store(container, key, this.options.lenient ? this.forgive(() => this.visit(value)) : this.visit(value))
    path.pop()
  }

  private property(container: object, key: string | number, source: object): void {
    const { path } = this
    path.push(key)
    const values = source as Record<string | number, unknown>
    this.store(
      container,
      key,
      this.options.lenient ? this.forgive(() => this.visit(values[key])) : this.visit(values[key]),
    )
    path.pop()
  }

  private object(value: object): unknown {
    const known = this.seen.get(value)
    if (known !== undefined) return known
    if (this.path.length > this.options.maxDepth) return this.refuse("it is nested too deeply")
    if (Array.isArray(value)) return this.array(value)
    const prototype = Object.getPrototypeOf(value)
    return prototype === Object.prototype || prototype === null ? this.record(value) : this.instance(value)
  }

  private record(value: object): unknown {
    const copy = {}
    this.seen.set(value, copy)
    for (const key of Object.keys(value)) this.property(copy, key, value)
    return copy
  }

  private array(value: ReadonlyArray<unknown>): unknown {
    if (isNative(value)) return value
    const copy: Array<unknown> = new Array(value.length)
    this.seen.set(value, copy)
    for (const key of Object.keys(value)) {
      const index = Number(key)
      this.property(copy, String(index) === key ? index : key, value)
    }
    return copy
  }

  private instance(value: object): unknown {
    if (ArrayBuffer.isView(value)) return this.view(value)
    if (types.isSharedArrayBuffer(value)) return this.sharedShell(value, value, undefined, 0, 0)
    if (types.isArrayBuffer(value)) {
      return isDetached(value) ? this.refuse("its ArrayBuffer is detached: it was transferred") : value
    }
    if (types.isDate(value) || types.isRegExp(value)) return value
    if (types.isMap(value)) return this.map(value)
    if (types.isSet(value)) return this.set(value)
    if (types.isNativeError(value) || value instanceof Error) return this.error(value)
    if (types.isSymbolObject(value)) return this.refuse("symbols cannot be sent")
    if (types.isBoxedPrimitive(value)) return value
    const reason = refusal(value)
    return reason === undefined ? this.record(value) : this.refuse(reason)
  }

  private absent(value: object, shell: Shell): Absent {
    const absent = new Absent(this.shells.push(shell) - 1)
    this.seen.set(value, absent)
    return absent
  }

  private sharedShell(
    value: object,
    buffer: SharedArrayBuffer,
    view: string | undefined,
    offset: number,
    length: number,
  ): unknown {
    const id = this.options.shared.idOf(buffer, this.ids)
    const shell: SharedShell = { kind: "shared", id, view, offset, length }
    return this.absent(value, shell)
  }

  private view(value: ArrayBufferView): unknown {
    const { buffer } = value
    if (types.isSharedArrayBuffer(buffer)) {
      const length = types.isDataView(value) ? value.byteLength : (value as Uint8Array).length
      return this.sharedShell(value, buffer, viewName(value), value.byteOffset, length)
    }
    if (isDetached(buffer)) return this.refuse("its ArrayBuffer is detached: it was transferred")
    // Node's small Buffers are windows on one pool that others write to: send the window alone.
    if (Buffer.isBuffer(value)) {
      const copy = new Uint8Array(value)
      this.seen.set(value, copy)
      return copy
    }
    return value
  }

  private error(value: object): unknown {
    const shell = shellOf(value)
    const absent = this.absent(value, shell)
    copyProperties(value, shell, (into, key) => this.property(into, key, value))
    return absent
  }

  private map(value: Map<unknown, unknown>): unknown {
    const copy = new Map<unknown, unknown>()
    this.seen.set(value, copy)
    const source: Array<unknown> = []
    Map.prototype.forEach.call(value, (item, key) => source.push(key, item))
    const holes = this.holes.length
    const items: Array<unknown> = new Array(source.length)
    for (let i = 0; i < source.length; i += 2) {
      const key = source[i]
      this.item(items, i, key, { method: "keys", key: i / 2 })
      this.item(items, i + 1, source[i + 1], { method: "get", key })
    }
    if (this.holes.length === holes) { for (let i = 0; i < items.length; i += 2) copy.set(items[i], items[i + 1]) }
    else this.refills.push([copy, items])
    return copy
  }

  private set(value: Set<unknown>): unknown {
    const copy = new Set<unknown>()
    this.seen.set(value, copy)
    const source: Array<unknown> = []
    Set.prototype.forEach.call(value, (item) => source.push(item))
    const holes = this.holes.length
    const items: Array<unknown> = new Array(source.length)
    for (let i = 0; i < source.length; i++) this.item(items, i, source[i], { method: "values", key: i })
    if (this.holes.length === holes) { for (const item of items) copy.add(item) }
    else this.refills.push([copy, items])
    return copy
  }
}
