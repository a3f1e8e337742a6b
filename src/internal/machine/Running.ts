/**
 * A G in progress on a machine's event loop, as the code that runs in it sees it: who it is, what it has called, and
 * how it is asked to stop. Lives in the machine's heap for as long as the G does.
 */
import { AsyncLocalStorage } from "node:async_hooks"
import type * as Fiber from "effect/Fiber"
import type { TaskDef } from "../registry.ts"
import { FLAG_SYNC, G_FLAGS, gw } from "../scheduler/index.ts"
import { currentMachine } from "./current.ts"
import type { MachineRuntime } from "./MachineRuntime.ts"
import type { ChildJob } from "./Nested.ts"

export class Running {
  readonly machine: MachineRuntime
  /** Its record, 0 for what was detached from its caller. */
  readonly g: number
  readonly def: TaskDef
  /** Of an Effect task that has begun. */
  fiber: Fiber.RuntimeFiber<unknown, unknown> | undefined
  /** Of an async task that asked for a signal. */
  controller: AbortController | undefined
  /** Whether it was asked to stop. */
  stopping = false
  /** Whether its function or fiber has come to an end, or will not be waited for any more. */
  over = false
  /** Calls that it has made and that are in progress. It does not end before they do. */
  readonly jobs: Set<ChildJob> = new Set()
  /** What to do when {@link jobs} is empty. */
  childless: (() => void) | undefined

  constructor(machine: MachineRuntime, g: number, def: TaskDef) {
    this.machine = machine
    this.g = g
    this.def = def
  }
}

/** Waits for the calls that a G has made; with `cancel` they are cancelled first. */
export const whenChildless = (running: Running, cancel: boolean, go: () => void): void => {
  if (cancel) running.machine.nested.cancelAll(running)
  if (running.jobs.size === 0) return go()
  running.childless = go
}

/** Only async functions are run in it, which have no other way to know who they are after an `await`. */
const storage = new AsyncLocalStorage<Running>()

/** Calls a function such that it, and what it awaits, is known to belong to `running`. */
export const callIn = (running: Running, f: () => unknown): unknown => storage.run(running, f)

/** Calls a function such that it belongs to no G. */
export const callOutside = (f: () => void): void => storage.exit(f)

/**
 * The G whose code calls this, and which may wait. Throws if there is none, with `what` in the message.
 */
export const currentRunning = (what: string): Running => {
  const machine = currentMachine()
  if (machine !== undefined && machine.current !== 0) return ofSyncPart(machine, what)
  const running = storage.getStore()
  if (running === undefined) {
    throw new Error(
      `${what} outside a running task; after an await it can be used in async functions only, and in an Effect task ` +
        "the call itself is the Effect to yield",
    )
  }
  if (running.over) throw new Error(`${what} in the code of task "${running.def.name}", which has ended`)
  return running
}

const ofSyncPart = (machine: MachineRuntime, what: string): Running => {
  const { current, s } = machine
  if ((s.mem[gw(s, current) + G_FLAGS] & FLAG_SYNC) !== 0) {
    throw new Error(`${what} in a task whose caller waits for it in join(): use Task.spawn there, or an async caller`)
  }
  return machine.running ??= new Running(machine, current, machine.defOf(current))
}

/** The G of the async function that calls this, if it is one. */
export const awaitingRunning = (): Running | undefined => storage.getStore()
