/** Writes calls into the records of their Gs. */
import { NotSerializable, PayloadTooLarge } from "../../Errors.ts"
import { encode, sharedIds, Unsendable } from "../codec/codec.ts"
import { type Memory, putBytes, putInline } from "../codec/payload.ts"
import type { Callers } from "../context/Callers.ts"
import type { SharedTable } from "../machine/SharedTable.ts"
import type { TaskDef } from "../registry.ts"
import {
  addTask,
  FLAG_CONTEXT,
  G_FLAGS,
  G_TASK,
  gw,
  HOST,
  largestPayload,
  TABLE_BUSY,
  TABLE_FULL,
  wantRoom,
} from "../scheduler/index.ts"
import type { Described, Job } from "../job/Job.ts"

/** How it went: written, to be tried again later, or why the call cannot be sent. */
export type Written = "written" | "no room" | NotSerializable | PayloadTooLarge

const textEncoder = new TextEncoder()

/** The writer of one pool's host. */
export class Writer {
  readonly #memory: Memory
  readonly #shared: SharedTable
  readonly #callers: Callers
  readonly #ids = new Map<TaskDef, number>()
  /** The last one of a known number: calls of one task come in rows. */
  #lastDef: TaskDef | undefined
  #lastId = 0

  constructor(memory: Memory, shared: SharedTable, callers: Callers) {
    this.#memory = memory
    this.#callers = callers
    this.#shared = shared
  }

  /** Writes the task and the arguments of a job's next call into record `g`. `alone`: nothing else is in flight. */
  write(job: Job, call: Described, g: number, alone: boolean): Written {
    const { s } = this.#memory
    const id = this.#idOf(call.def)
    if (id === TABLE_BUSY) return "no room"
    if (id === TABLE_FULL) {
      return new PayloadTooLarge({ task: call.def.name, bytes: call.def.key.length, limit: 0 })
    }
    s.mem[gw(s, g) + G_TASK] = id
    const args = call.def.effect ? this.#withContext(job, call.args, g) : call.args
    if (job.heldBytes === undefined && putInline(this.#memory, g, args)) return "written"
    return this.#writeBytes(job, call.def, args, g, alone)
  }

  /** The arguments, and behind them what travels with a call of an Effect task, if anything does. */
  #withContext(job: Job, args: ReadonlyArray<unknown>, g: number): ReadonlyArray<unknown> {
    const packed = this.#callers.packedFor(job)
    if (packed === undefined) return args
    const { s } = this.#memory
    s.mem[gw(s, g) + G_FLAGS] |= FLAG_CONTEXT
    return [...args, packed]
  }

  #writeBytes(job: Job, def: TaskDef, args: ReadonlyArray<unknown>, g: number, alone: boolean): Written {
    const { s } = this.#memory
    let bytes = job.heldBytes
    if (bytes === undefined) {
      try {
        bytes = encode(args, "args", this.#shared)
      } catch (error) {
        if (!(error instanceof Unsendable)) throw error
        return new NotSerializable({ task: def.name, path: error.path, reason: error.reason })
      }
      const limit = largestPayload(s)
      if (bytes.length > limit) {
        this.#shared.unmention(sharedIds(bytes))
        return new PayloadTooLarge({ task: def.name, bytes: bytes.length, limit })
      }
    }
    // A quarter of the arena is left to results, so that arguments of queued calls cannot lock them out.
    const reserve = alone ? 0 : s.arenaWords >>> 2
    const put = () => putBytes(this.#memory, g, bytes, HOST, reserve)
    if (!put()) {
      wantRoom(s)
      if (!put()) {
        job.heldBytes ??= bytes.slice()
        return "no room"
      }
    }
    job.heldBytes = undefined
    return "written"
  }

  /** Forgets a job's call that could not be written, or has been. */
  dropHeld(job: Job): void {
    job.dropHeld(this.#shared)
  }

  #idOf(def: TaskDef): number {
    if (def === this.#lastDef) return this.#lastId
    const known = this.#ids.get(def)
    const id = known ?? addTask(this.#memory.s, textEncoder.encode(def.key), HOST)
    if (id < 0) return id
    if (known === undefined) this.#ids.set(def, id)
    this.#lastDef = def
    this.#lastId = id
    return id
  }
}
