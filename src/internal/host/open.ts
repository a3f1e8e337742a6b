/** Opens pools with options that are known to be sound. */
import { currentMachine } from "../machine/current.ts"
import { MissingGuard } from "../../Errors.ts"
import { Crew } from "./Crew.ts"
import { detectSpawner } from "./detect.ts"
import { type Backend, HostPool, type HostPoolOptions } from "./HostPool.ts"
import { SimulatedMachines } from "./SimulatedMachines.ts"

/** Pools within pools. Deeper than this it is a program that starts itself over and over. */
const MAX_NESTING = 8

/** A module being imported by this machine from which a pool must not be opened now, if there is one. */
const offender = (): string | undefined => {
  const machine = currentMachine()
  if (machine === undefined) return undefined
  const [importing] = machine.modules.importing
  if (importing !== undefined) return importing
  return machine.nesting >= MAX_NESTING ? "its tasks" : undefined
}

/** A pool's machines as threads. */
const threads = (options: HostPoolOptions): Backend => ({
  allocate: (bytes) => new SharedArrayBuffer(bytes),
  machines: (s, _, owner) =>
    new Crew(s, detectSpawner({ resourceLimits: options.resourceLimits }), options.startTimeout, owner),
})

/** A pool's machines simulated in this thread, in an order that the seed decides. */
export const simulated = (seed: number): Backend => ({
  allocate: (bytes) => new ArrayBuffer(bytes),
  machines: (s, shared, owner) => new SimulatedMachines(s, shared, owner, seed),
})

/** Makes a pool and begins to start its machines; `started` tells how that went. Throws `MissingGuard`. */
export const openPool = (
  options: HostPoolOptions,
  backend: Backend = threads(options),
): { readonly pool: HostPool; readonly started: Promise<void> } => {
  const module = offender()
  if (module !== undefined) throw new MissingGuard({ module })
  const pool = new HostPool(options, backend)
  return { pool, started: pool.start() }
}
