/** Opens pools with options that are known to be sound. */
import { currentMachine } from "../machine/current.ts"
import { MissingGuard } from "../../Errors.ts"
import { detectSpawner } from "./detect.ts"
import { HostPool, type HostPoolOptions } from "./HostPool.ts"

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

/** Makes a pool and begins to start its machines; `started` tells how that went. Throws `MissingGuard`. */
export const openPool = (options: HostPoolOptions): { readonly pool: HostPool; readonly started: Promise<void> } => {
  const module = offender()
  if (module !== undefined) throw new MissingGuard({ module })
  const pool = new HostPool(options, detectSpawner())
  return { pool, started: pool.start() }
}
