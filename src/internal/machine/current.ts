/** The machine that this thread is, if it is one. */
import type { MachineRuntime } from "./MachineRuntime.ts"

let machine: MachineRuntime | undefined

/** Set when the thread's machine starts; for as long as it runs a G if it is one of several simulated ones. */
export const setCurrentMachine = (m: MachineRuntime | undefined): void => {
  machine = m
}

/** The machine of this thread; undefined on a thread that is not one. */
export const currentMachine = (): MachineRuntime | undefined => machine
