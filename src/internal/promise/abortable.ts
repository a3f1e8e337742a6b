/** Effects as promises. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import { MachineStuck } from "../../Errors.ts"
import { unwatch, watch } from "./abort.ts"

/**
 * Runs an Effect. Rejects with its error itself, or its defect. When the signal is aborted it is interrupted, and
 * rejects with the signal's reason when it has ended; with `MachineStuck` if it could not be ended.
 */
export const runAbortable = <A>(effect: Effect.Effect<A, unknown>, signal: AbortSignal | undefined): Promise<A> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason)
    const fiber = Effect.runFork(effect)
    let stopped: { readonly reason: unknown } | undefined
    const target = {
      stop: (reason: unknown): void => {
        stopped = { reason }
        fiber.unsafeInterruptAsFork(FiberId.none)
      },
    }
    if (signal !== undefined) watch(signal, target)
    fiber.addObserver((exit) => {
      if (signal !== undefined) unwatch(signal, target)
      if (Exit.isSuccess(exit)) return resolve(exit.value)
      if (stopped === undefined) return reject(Cause.squash(exit.cause))
      const stuck = Array.from(Cause.defects(exit.cause)).find((defect) => defect instanceof MachineStuck)
      reject(stuck ?? stopped.reason)
    })
  })
