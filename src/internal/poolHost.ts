/** The machinery behind a pool's service, hidden from its public type. */
import type { PoolService } from "../Pool.ts"
import type { HostPool } from "./host/HostPool.ts"

const hosts = new WeakMap<PoolService, HostPool>()

/** Pairs a service with its machinery. */
export const setHost = (pool: PoolService, host: HostPool): void => void hosts.set(pool, host)

/** The machinery of a pool. */
export const hostOf = (pool: PoolService): HostPool => {
  const host = hosts.get(pool)
  if (host === undefined) throw new Error("this pool was not made by Pool.make of this copy of runon")
  return host
}
