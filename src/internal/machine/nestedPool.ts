/** The pool as an Effect task sees it: calls that it makes are children of its G. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import type { Call } from "../../Call.ts"
import type { TaskError } from "../../Errors.ts"
import type { PoolService } from "../../Pool.ts"
import type { PoolStats } from "../../Stats.ts"
import { setSubmitter, type Submitter } from "../poolHost.ts"
import { runCall } from "../run.ts"
import { DEATHS, inUse, snapshot } from "../scheduler/index.ts"
import { POOL_TYPE_ID, poolTag } from "../tag.ts"
import type { ChildJob } from "./Nested.ts"
import type { Running } from "./Running.ts"
import type { JobOwner } from "../job/Job.ts"

/** The G whose Effect runs in the current fiber, if one does. */
export const fiberRunning = (): Running | undefined => {
  const fiber = Option.getOrUndefined(Fiber.getCurrentFiber())
  const pool = fiber && Context.getOption(fiber.getFiberRef(FiberRef.currentContext), poolTag)
  return pool !== undefined && Option.isSome(pool) && pool.value instanceof NestedPool ? pool.value.running : undefined
}

export class NestedPool implements PoolService, Submitter {
  readonly [POOL_TYPE_ID]: typeof POOL_TYPE_ID = POOL_TYPE_ID
  readonly running: Running

  constructor(running: Running) {
    this.running = running
    setSubmitter(this, this)
  }

  get procs(): number {
    return this.running.machine.s.procs
  }

  run<A, E>(call: Call<A, E>): Effect.Effect<A, E | TaskError> {
    return runCall(this, call)
  }

  get stats(): Effect.Effect<PoolStats> {
    const { s, nested } = this.running.machine
    return Effect.sync(() => ({
      ...snapshot(s),
      inFlight: nested.size,
      records: inUse(s),
      deaths: Atomics.load(s.mem, DEATHS),
    }))
  }

  submit(owner: JobOwner, length: number, limit?: number): ChildJob {
    return this.running.machine.nested.submit(this.running, owner, length, limit)
  }

  cancel(job: ChildJob): void {
    this.running.machine.nested.cancel(job)
  }
}
