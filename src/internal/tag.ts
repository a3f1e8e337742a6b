/** The pool's tag without the pool: tags are equal by key, and calls need it while the pool needs calls. */
import * as Context from "effect/Context"
import type { Pool, PoolService } from "../Pool.ts"

/** The key under which a pool stands in the context. */
export const POOL_KEY = "runon/Pool"

/** What tells a pool's service. */
export const POOL_TYPE_ID: unique symbol = Symbol.for("runon/Pool") as never

/** Equal to `Pool`. */
export const poolTag: Context.Tag<Pool, PoolService> = Context.GenericTag<Pool, PoolService>(POOL_KEY)
