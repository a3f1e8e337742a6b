/** One call with callbacks: no fiber, and no Effect, for each. */
import * as Cause from "effect/Cause"
import { PoolClosed } from "../../Errors.ts"
import type { Described, Job, JobOwner } from "../job/Job.ts"
import type { Reported } from "../job/ProgressWatch.ts"
import type { Submitter } from "../poolHost.ts"
import { EffectFailed, type Failure } from "../taskError.ts"
import type { Stoppable } from "./abort.ts"

/** A failure as the one value that a promise is rejected with: the typed error if there is one, else the defect. */
export const errorOf = (failure: Failure): unknown =>
  failure instanceof EffectFailed ? Cause.squash(failure.cause) : failure

/** A call in progress. Exactly one of `onValue` and `onError` is called, once. */
export class SingleCall implements JobOwner, Stoppable {
  readonly #pool: Submitter
  readonly #call: Described
  readonly #onValue: (value: unknown) => void
  readonly #onError: (error: unknown) => void
  readonly onProgress: JobOwner["onProgress"]
  #job: Job | undefined
  #stopped: { readonly reason: unknown } | undefined

  constructor(
    pool: Submitter,
    call: Described,
    onValue: (value: unknown) => void,
    onError: (error: unknown) => void,
    onProgress?: (reported: Reported) => void,
  ) {
    this.#pool = pool
    this.#call = call
    this.#onValue = onValue
    this.#onError = onError
    this.onProgress = onProgress && ((_, reported) => this.#listen(onProgress, reported))
  }

  /** Submits it. It may have ended by the time this returns. */
  submit(): void {
    const job = this.#pool.submit(this, 1)
    this.#job = job
    // Getters of its arguments are the user's code, which may have stopped it.
    if (this.#stopped !== undefined) this.#pool.cancel(job)
  }

  /** Whether it has ended. */
  get ended(): boolean {
    return this.#job?.ended === true
  }

  /** Cancels it: it fails with `reason`, whatever comes of it, when it has ended. */
  stop(reason: unknown): void {
    this.#stopped ??= { reason }
    if (this.#job !== undefined) this.#pool.cancel(this.#job)
  }

  /** If the listener throws, the call is cancelled and fails with that. */
  #listen(listener: (reported: Reported) => void, reported: Reported): void {
    if (this.#stopped !== undefined) return
    try {
      listener(reported)
    } catch (reason) {
      this.#stopped = { reason }
      // Not in the midst of taking an outcome.
      queueMicrotask(() => this.stop(reason))
    }
  }

  describe(): Described {
    return this.#call
  }

  onSuccess(_: number, value: unknown): void {
    if (this.#stopped === undefined) this.#onValue(value)
  }

  onFailure(_: number, failure: Failure): void {
    if (this.#stopped === undefined) this.#onError(errorOf(failure))
  }

  onInterrupted(): void {
    if (this.#stopped !== undefined) return
    // Nobody but a pool that closes asks a call to stop that was not stopped here.
    this.#onError(new PoolClosed({ task: this.#call.def.name, started: true }))
  }

  onBroken(error: unknown): void {
    if (this.#stopped === undefined) this.#onError(error)
  }

  onEnd(): void {
    if (this.#stopped !== undefined) this.#onError(this.#stopped.reason)
  }
}
