/** The machinery behind a pool's service, hidden from its public type. */
import type { PoolService } from "../Pool.ts"
import type { HostPool } from "./host/HostPool.ts"
import type { Job, JobOwner } from "./job/Job.ts"

/** What takes calls: the host's side of a pool, or a G on a machine, whose children they are. */
export interface Submitter {
  /** Submits a batch of `length` calls, at most `limit` of them in progress at once. */
  submit(owner: JobOwner, length: number, limit?: number): Job
  /** Stops a job: its owner is told of the end when the last one that runs has ended. */
  cancel(job: Job): void
}

const submitter: unique symbol = Symbol.for("runon/submitter") as never

interface WithSubmitter {
  [submitter]?: Submitter
}

/** Pairs a service with what takes its calls. */
export const setSubmitter = (pool: PoolService, to: Submitter): void => {
  ;(pool as WithSubmitter)[submitter] = to
}

/** What takes the calls of a pool. */
export const submitterOf = (pool: PoolService): Submitter => {
  const found = (pool as WithSubmitter)[submitter]
  if (found === undefined) throw new Error("this pool was not made by Pool.make")
  return found
}

/** The machinery of a pool that was opened on this thread. */
export const hostOf = (pool: PoolService): HostPool => submitterOf(pool) as HostPool
