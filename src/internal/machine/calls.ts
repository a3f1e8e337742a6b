/** What the code of a task that may wait does with other Gs and with its own interruption, behind `Task`. */
import * as Cause from "effect/Cause"
import type { JobOwner } from "../job/Job.ts"
import type { TaskDef } from "../registry.ts"
import { causeOf, EffectFailed, type Failure } from "../taskError.ts"
import { isCancelled } from "./cancel.ts"
import { Interrupted } from "./Interrupted.ts"
import type { MachineRuntime } from "./MachineRuntime.ts"
import { awaitingRunning, currentRunning, Running } from "./Running.ts"

interface Called {
  readonly def: TaskDef
  readonly args: ReadonlyArray<unknown>
}

const errorOf = (failure: Failure): unknown => failure instanceof EffectFailed ? Cause.squash(failure.cause) : failure

const ignore = (): void => {}

/** Runs a call as a child of the current G. */
export const runChild = (call: Called): Promise<unknown> => {
  const running = currentRunning("Task.run")
  return new Promise((resolve, reject) => {
    const owner: JobOwner = {
      describe: () => call,
      onSuccess: (_, value) => resolve(value),
      onFailure: (_, failure) => reject(errorOf(failure)),
      onInterrupted: () => reject(new Interrupted()),
      onBroken: reject,
      onEnd: ignore,
    }
    running.machine.nested.submit(running, owner, 1)
  })
}

/** Runs a call that nobody waits for. */
export const detach = (machine: MachineRuntime, call: Called): void => {
  const tell = (cause: Cause.Cause<unknown>) =>
    machine.services.stray(`the detached call of task "${call.def.name}" failed`, cause)
  const owner: JobOwner = {
    describe: () => call,
    onSuccess: ignore,
    onFailure: (_, failure) => tell(causeOf(failure)),
    onInterrupted: ignore,
    onBroken: (error) => tell(Cause.die(error)),
    onEnd: ignore,
  }
  machine.nested.submit(new Running(machine, 0, call.def), owner, 1)
}

/** The signal of the current G. */
export const signalOf = (): AbortSignal => {
  const running = currentRunning("Task.signal")
  running.controller ??= new AbortController()
  if (running.stopping) running.controller.abort(new Interrupted())
  return running.controller.signal
}

/** Throws if the G of the async function that calls this is not wanted any more. */
export const checkpoint = (): void => {
  const running = awaitingRunning()
  if (running === undefined || running.g === 0) return
  if (!running.stopping && (running.over || !isCancelled(running.machine.s, running.g))) return
  // It may be the first to see it, before the machine's loop does.
  running.controller?.abort(new Interrupted())
  throw new Interrupted()
}
