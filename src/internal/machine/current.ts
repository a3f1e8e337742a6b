/** The machine that this thread is, if it is one. */
import type { MachineRuntime } from "./MachineRuntime.ts"

let machine: MachineRuntime | undefined

/** Set once, when the thread's machine starts. */
export const setCurrentMachine = (m: MachineRuntime): void => {
  machine = m
}

/** The machine of this thread; undefined on a thread that is not one. */
export const currentMachine = (): MachineRuntime | undefined => machine
