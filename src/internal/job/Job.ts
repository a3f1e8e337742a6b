/**
 * A batch of calls that the host submits together, or a single one. The pool pulls calls from it as there is room,
 * and tells it how each ended. There is one object per batch, none per call.
 */
import { type SharedBuffers, sharedIds } from "../codec/codec.ts"
import type { RuntimeFiber } from "effect/Fiber"
import type { Packed } from "../context/envelope.ts"
import type { NotSerializable } from "../../Errors.ts"
import type { TaskDef } from "../registry.ts"
import type { Codec } from "../schemaCodec.ts"
import type { Failure } from "../taskError.ts"
import type { Reported } from "./ProgressWatch.ts"

/** A task and its arguments, as the pool needs them. */
export interface Described {
  readonly def: TaskDef
  readonly args: ReadonlyArray<unknown>
}

/** What a job's owner provides. */
export interface JobOwner {
  /** The fiber that waits for the job, whose context travels with calls of Effect tasks. */
  readonly caller?: RuntimeFiber<unknown, unknown> | undefined
  /** The call at `index`, asked for once and in order. If it throws, the job is cancelled and `onBroken` is called. */
  readonly describe: (index: number) => Described
  readonly onSuccess: (index: number, value: unknown) => void
  readonly onFailure: (index: number, error: Failure) => void
  /** The call stopped because the job was cancelled. */
  readonly onInterrupted: (index: number) => void
  readonly onBroken: (error: unknown) => void
  /** Set if somebody listens to how far its calls are. Must not throw, and must not keep what it is told. */
  readonly onProgress?: ((index: number, reported: Reported) => void) | undefined
  /** Nothing of this job is in progress any more, and nothing will be submitted. Called once, after all others. */
  readonly onEnd: () => void
}

/** Owner of a job that was abandoned. */
const nobody: JobOwner = {
  describe: () => {
    throw new Error("nobody has calls to submit")
  },
  onSuccess: () => {},
  onFailure: () => {},
  onInterrupted: () => {},
  onBroken: () => {},
  onEnd: () => {},
}

/** A job's bookkeeping, owned by the pool. */
export class Job {
  owner: JobOwner
  readonly length: number
  /** Most calls in progress at once. */
  readonly limit: number
  /** Whether the owner wants to know how far the calls are. */
  readonly listens: boolean
  /** Index of the next call to submit. */
  cursor = 0
  /** Calls in progress: submitted and not yet told. */
  inFlight = 0
  /** Calls that cannot be sent, whose owner is about to be told. */
  refusing = 0
  /** G of the call that was submitted last. */
  newest = 0
  /** Its place among the jobs with calls in progress, -1 while it has none. */
  place = -1
  cancelled = false
  ended = false
  /** What travels with its calls of Effect tasks; null until the first of them is submitted. */
  packed: Packed | undefined | null = null
  /** What else to do when it has ended. */
  close: (() => void) | undefined
  /** The call at `cursor` if it was asked for and could not be submitted, and its encoded arguments until they are sent. */
  held: Described | undefined
  heldBytes: Uint8Array | undefined
  /** Of its calls of tasks with schemas, by index. */
  #codecs: Map<number, Codec> | undefined

  constructor(owner: JobOwner, length: number, limit: number) {
    this.owner = owner
    this.length = length
    this.limit = limit
    this.listens = owner.onProgress !== undefined
  }

  /** Whether it has a call to submit now. */
  get wantsMore(): boolean {
    return !this.cancelled && this.cursor < this.length && this.inFlight + this.refusing < this.limit
  }

  /** The call at `cursor`. Throws a `NotSerializable` if the task's schema refuses its payload. */
  describe(): Described {
    if (this.held !== undefined) return this.held
    const call = this.owner.describe(this.cursor)
    const { codec } = call.def
    if (codec === undefined) return call
    const { cursor } = this
    this.#codecs ??= new Map()
    const encoded = { def: call.def, args: codec.encode(call.args) }
    this.#codecs.set(cursor, codec)
    return encoded
  }

  /** Tells the owner of a call's value. */
  succeed(index: number, value: unknown): void {
    if (this.#codecs === undefined) return this.owner.onSuccess(index, value)
    const codec = this.#takeCodec(index)
    let decoded: unknown
    try {
      decoded = codec === undefined ? value : codec.decodeSuccess(value)
    } catch (error) {
      return this.owner.onFailure(index, error as NotSerializable)
    }
    this.owner.onSuccess(index, decoded)
  }

  /** Tells the owner of a call's failure. */
  fail(index: number, failure: Failure): void {
    if (this.#codecs === undefined) return this.owner.onFailure(index, failure)
    const codec = this.#takeCodec(index)
    let decoded: Failure
    try {
      decoded = codec === undefined ? failure : codec.decodeFailure(failure)
    } catch (error) {
      decoded = error as NotSerializable
    }
    this.owner.onFailure(index, decoded)
  }

  #takeCodec(index: number): Codec | undefined {
    const codec = this.#codecs!.get(index)
    this.#codecs!.delete(index)
    return codec
  }

  /** Forgets the call that could not be submitted, or has been. Arguments that are still held were not sent. */
  dropHeld(shared: SharedBuffers): void {
    if (this.heldBytes !== undefined) shared.unmention(sharedIds(this.heldBytes))
    this.held = this.heldBytes = undefined
  }

  /** Tells the owner of the end although calls are in progress. How those end is nobody's business any more. */
  abandon(): void {
    if (this.ended) return
    const { owner } = this
    this.ended = true
    this.owner = nobody
    this.close?.()
    owner.onEnd()
  }

  /** Tells the owner of the end, once, when it has come. */
  checkEnd(): void {
    if (this.ended || this.inFlight + this.refusing > 0 || (!this.cancelled && this.cursor < this.length)) return
    this.ended = true
    this.close?.()
    this.owner.onEnd()
  }
}
