/**
 * Machines without threads: the same scheduler and the same machine code, run in turns in the calling thread. Whose
 * turn it is comes from a seed, so the same seed gives the same order of everything that does not depend on timers.
 *
 * A turn is one look for work and one G, run to its end or to where it waits for the event loop. Turns are taken
 * while the host waits.
 */
import type { MachineStuck } from "../../Errors.ts"
import { currentMachine, setCurrentMachine } from "../machine/current.ts"
import { MachineRuntime } from "../machine/MachineRuntime.ts"
import type { ToHost, ToMachine } from "../machine/messages.ts"
import type { ForgetNotice, LostNotice, SharedNotice, SharedTable } from "../machine/SharedTable.ts"
import { findRunnable, hasMail, HOST_WAKE, leaveIdle, type Sched } from "../scheduler/index.ts"
import type { CrewOwner, Machines } from "./Crew.ts"

/** Turns in a row before the event loop gets one. */
const TURNS = 1024

/** All machines of one pool. */
export class SimulatedMachines implements Machines {
  readonly #s: Sched
  readonly #shared: SharedTable
  readonly #machines: ReadonlyArray<MachineRuntime>
  #random: number
  #rung: (() => void) | undefined
  #stopped = false

  constructor(s: Sched, shared: SharedTable, owner: CrewOwner, seed: number) {
    this.#s = s
    this.#shared = shared
    this.#random = (Math.imul(seed | 0, 0x9e3779b1) ^ 0x5bd1e995) | 1
    this.#machines = Array.from({ length: s.procs }, (_, m) => {
      const tell = (message: ToHost) => {
        if (message.kind === "stray") owner.onStray(message.error)
        else if (message.kind === "told" || message.kind === "config") owner.onTold(message, m)
      }
      const machine = new MachineRuntime(s, { ...owner.init(m, m), seed: this.#next() | 1 }, shared, tell)
      machine.poke = () => this.#soon()
      return machine
    })
  }

  start(): Promise<void> {
    return Promise.resolve()
  }

  broadcast(message: SharedNotice | ForgetNotice | LostNotice): void {
    // All have the host's table.
    if (message.kind === "forget") this.#machines.forEach((_, m) => this.#shared.forget(message, m))
  }

  post(m: number, message: ToMachine): void {
    if (message.kind === "config") this.#machines[m].services.questions.answer(message)
  }

  kill(): void {}

  readonly atFullStrength = true

  readonly deaths = 0

  fed(): void {
    this.#soon()
  }

  nudge(): void {
    this.#soon()
  }

  stopping(): void {
    this.#stopped = true
  }

  async ended(grace: number): Promise<ReadonlyArray<MachineStuck>> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<void>((resolve) => {
      if (grace !== Infinity) timer = setTimeout(resolve, grace)
    })
    const closed = Promise.all(this.#machines.map((machine) => machine.services.close()))
    await Promise.race([closed, late]).finally(() => clearTimeout(timer))
    return []
  }

  wait(seen: number): Promise<void> | undefined {
    if (Atomics.load(this.#s.mem, HOST_WAKE) !== seen) return undefined
    return new Promise((resolve) => {
      this.#rung = resolve
      this.#soon()
    })
  }

  doze(): Promise<void> {
    return this.wait(Atomics.load(this.#s.mem, HOST_WAKE))!
  }

  #soon(): void {
    queueMicrotask(() => this.#turns())
  }

  /** Takes turns until there is something for the host, or nothing to do until the event loop brings something. */
  #turns(): void {
    if (this.#rung === undefined) return
    let idle = 0
    for (let turn = 0; idle < 2 * this.#machines.length && !this.#stopped; turn++) {
      if (turn === TURNS) return void setTimeout(() => this.#turns(), 0)
      // While some have work the seed decides; once none had, each is asked in order before all are taken to be idle.
      const chosen = idle === 0 ? (this.#next() >>> 0) % this.#machines.length : idle % this.#machines.length
      idle = this.#turn(this.#machines[chosen]) ? 0 : idle + 1
      if (hasMail(this.#s)) break
    }
    if (!hasMail(this.#s) && !this.#stopped) return
    const rung = this.#rung
    this.#rung = undefined
    rung()
  }

  #turn(machine: MachineRuntime): boolean {
    const outer = currentMachine()
    setCurrentMachine(machine)
    try {
      machine.nested.collect()
      machine.suspensions.endCancelled()
      machine.ready.run(1)
      const g = findRunnable(this.#s, machine.t)
      if (g > 0) machine.run(g)
      else leaveIdle(this.#s, machine.t)
      return g > 0 || !machine.ready.isEmpty || machine.nested.hasArrived
    } finally {
      setCurrentMachine(outer)
    }
  }

  #next(): number {
    this.#random ^= this.#random << 13
    this.#random ^= this.#random >>> 17
    this.#random ^= this.#random << 5
    return this.#random
  }
}
