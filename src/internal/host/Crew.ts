/**
 * The machines of a pool: started, watched, replaced when one dies, and ended with proof.
 */
import { MachineStartFailed, MachineStuck } from "../../Errors.ts"
import { describe } from "../codec/unsendable.ts"
import type { ConfigQuestion, Told } from "../context/messages.ts"
import { machineEntry } from "../files.ts"
import type { MachineInit, ToHost, ToMachine } from "../machine/messages.ts"
import type { ForgetNotice, LostNotice, SharedNotice } from "../machine/SharedTable.ts"
import {
  DEATHS,
  HOST_WAKE,
  M_EXITED,
  M_LIFE,
  M_LOADING,
  M_READY,
  mw,
  P_M,
  pw,
  type Sched,
  wakeAll,
} from "../scheduler/index.ts"
import type { MachineExit, MachineHandle, Spawner } from "./Spawner.ts"

/** Starts in a row that may fail before a dead machine is not replaced any more. */
const MAX_FAILED_STARTS = 3
/** Time in ms for the runtime to end a thread that it was told to end. */
const TERMINATE_MS = 5000

/** The machines of a pool as the pool sees them: threads, or simulated in this one. */
export interface Machines {
  /** Starts all. Resolves when all are ready, rejects with `MachineStartFailed` when one is known not to be. */
  readonly start: () => Promise<void>
  /** Sends a message to one. */
  readonly post: (m: number, message: ToMachine) => void
  /** Sends a message to all but one. */
  readonly broadcast: (message: SharedNotice | ForgetNotice | LostNotice, except: number) => void
  /** Work was queued. Threads were woken through shared memory. */
  readonly fed: () => void
  /** Makes all look again: a call was cancelled. */
  readonly nudge: () => void
  /** From here on a machine's end is what is wanted. */
  readonly stopping: () => void
  /**
   * Waits until every machine has ended. Those that have not after `grace` ms are ended by force; those that cannot be
   * are returned as errors. `taskOf` names what a machine is running.
   */
  readonly ended: (grace: number, taskOf: (m: number) => string | undefined) => Promise<ReadonlyArray<MachineStuck>>
  /** Ends one by force, where the runtime can; it is replaced as if it had died by itself. */
  readonly kill: (m: number) => void
  /** How many have died and were replaced, or will be. */
  readonly deaths: number
  /** Whether every P has a machine that is ready. */
  readonly atFullStrength: boolean
  /** Waits for the host's wake word to differ from `seen`; undefined if it does already. */
  readonly wait: (seen: number) => Promise<unknown> | undefined
  /** Waits `ms` milliseconds, or for as long as it takes until there are outcomes. */
  readonly doze: (ms: number) => Promise<unknown>
}

/** What the pool does for its machines. */
export interface CrewOwner {
  readonly init: (m: number, p: number) => MachineInit
  readonly onShared: (notice: SharedNotice, from: number) => void
  /** Machine `m` tells or asks something on behalf of a call. */
  readonly onTold: (message: Told | ConfigQuestion, m: number) => void
  readonly onStray: (error: unknown) => void
  /** A machine that was ready died while the pool is open. Sweeps up; then it is replaced. */
  readonly onDeath: (m: number, p: number, reason: string) => Promise<void>
  /** No machine is left and none can be started. */
  readonly onLost: (error: MachineStartFailed) => void
}

interface Member {
  readonly m: number
  readonly handle: MachineHandle
  readonly gone: Promise<MachineExit>
  exit: MachineExit | undefined
}

/** All machines of one pool. Machine `m` serves P `m`; the one that replaces it does so too. */
export class Crew implements Machines {
  readonly #s: Sched
  readonly #spawner: Spawner
  readonly #owner: CrewOwner
  readonly #startTimeout: number
  readonly #members: Array<Member | undefined> = []
  #stopping = false
  #failedStarts = 0
  deaths = 0

  constructor(s: Sched, spawner: Spawner, startTimeout: number, owner: CrewOwner) {
    this.#s = s
    this.#spawner = spawner
    this.#startTimeout = startTimeout
    this.#owner = owner
  }

  async start(): Promise<void> {
    await Promise.all(Array.from({ length: this.#s.procs }, (_, m) => this.#startOne(m)))
  }

  broadcast(message: SharedNotice | ForgetNotice | LostNotice, except: number): void {
    for (const member of this.#members) {
      if (member !== undefined && member.exit === undefined && member.m !== except) member.handle.post(message)
    }
  }

  post(m: number, message: ToMachine): void {
    const member = this.#members[m]
    if (member !== undefined && member.exit === undefined) member.handle.post(message)
  }

  fed(): void {}

  nudge(): void {
    wakeAll(this.#s)
  }

  stopping(): void {
    this.#stopping = true
    // Those that still load have nothing to end, and need not get to where they would see that they are to go.
    if (!this.#spawner.canTerminate) return
    for (const member of this.#members) {
      if (member !== undefined && member.exit === undefined && this.#life(member.m) < M_READY) member.handle.terminate()
    }
  }

  /** Whether all machines have ended, with proof. */
  get #allGone(): boolean {
    return this.#members.every((member) => member === undefined || member.exit !== undefined)
  }

  get atFullStrength(): boolean {
    return this.#members.every((member) => member?.exit === undefined && this.#life(member!.m) === M_READY)
  }

  #life(m: number): number {
    return Atomics.load(this.#s.mem, mw(this.#s, m) + M_LIFE)
  }

  kill(m: number): void {
    this.#members[m]?.handle.terminate()
  }

  wait(seen: number): Promise<unknown> | undefined {
    const wait = Atomics.waitAsync(this.#s.mem, HOST_WAKE, seen)
    return wait.async ? wait.value : undefined
  }

  doze(ms: number): Promise<unknown> {
    return new Promise((resolve) => setTimeout(resolve, ms))
  }

  async ended(grace: number, taskOf: (m: number) => string | undefined): Promise<ReadonlyArray<MachineStuck>> {
    const started = performance.now()
    await within(grace, this.#everyoneGone())
    const left = this.#members.filter((member) => member !== undefined && member.exit === undefined) as Array<Member>
    const tasks = left.map(({ m }) => taskOf(m))
    for (const { handle } of left) handle.terminate()
    if (left.length > 0) {
      await within(this.#spawner.canTerminate ? TERMINATE_MS : TERMINATE_MS / 10, this.#everyoneGone())
    }
    return left.flatMap(({ exit, m }, i) =>
      exit === undefined
        ? [new MachineStuck({ machine: m, task: tasks[i], grace: Math.round(performance.now() - started) })]
        : []
    )
  }

  async #everyoneGone(): Promise<void> {
    await Promise.all(this.#members.map((member) => member?.gone))
  }

  async #startOne(m: number): Promise<void> {
    const { mem } = this.#s
    Atomics.store(mem, pw(m) + P_M, m)
    Atomics.store(mem, mw(this.#s, m) + M_LIFE, M_LOADING)
    let ready!: () => void
    let gone!: (exit: MachineExit) => void
    const whenReady = new Promise<void>((resolve) => ready = resolve)
    const whenGone = new Promise<MachineExit>((resolve) => gone = resolve)
    let handle: MachineHandle
    try {
      handle = this.#spawner.spawn(machineEntry, `runon M${m}`, this.#owner.init(m, m), {
        onMessage: (message) => {
          const told = message as ToHost
          if (told.kind === "ready") ready()
          else if (told.kind === "shared") this.#owner.onShared(told, m)
          else if (told.kind === "stray") this.#owner.onStray(told.error)
          else this.#owner.onTold(told, m)
        },
        onExit: (exit) => {
          member.exit = exit
          gone(exit)
        },
      })
    } catch (error) {
      throw new MachineStartFailed({ machine: m, reason: describe(error) })
    }
    const member: Member = { m, handle, gone: whenGone, exit: undefined }
    this.#members[m] = member
    const exit = await within(this.#startTimeout, Promise.race([whenReady, whenGone]))
    if (this.#life(m) < M_READY) {
      handle.terminate()
      const reason = exit === "late" ? `it was not ready after ${this.#startTimeout} ms` : reasonOf(exit ?? undefined)
      throw new MachineStartFailed({ machine: m, reason })
    }
    this.#failedStarts = 0
    whenGone.then((exit) => this.#died(m, exit))
  }

  async #died(m: number, exit: MachineExit): Promise<void> {
    if (this.#stopping) {
      // One that did not leave its loop may have held a lock that others need on their way out.
      const left = this.#life(m) === M_EXITED
      if (!left) await this.#owner.onDeath(m, m, reasonOf(exit))
      return
    }
    this.deaths++
    Atomics.add(this.#s.mem, DEATHS, 1)
    await this.#owner.onDeath(m, m, reasonOf(exit))
    while (!this.#stopping) {
      try {
        return await this.#startOne(m)
      } catch (error) {
        if (++this.#failedStarts < MAX_FAILED_STARTS) continue
        if (this.#allGone) this.#owner.onLost(error as MachineStartFailed)
        return
      }
    }
  }
}

const reasonOf = (exit: MachineExit | undefined): string => {
  if (exit?.error !== undefined && exit.error !== null) return describe(exit.error)
  return exit?.code === undefined ? "its thread ended" : `its thread ended with code ${exit.code}`
}

/** The promise's value, or "late" after `ms` milliseconds. `Infinity` waits for as long as it takes. */
const within = async <A>(ms: number, promise: Promise<A>): Promise<A | "late"> => {
  if (ms === Infinity) return promise
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
