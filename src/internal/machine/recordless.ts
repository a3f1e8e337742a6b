/** Calls for which there is no record or no room: they are run as part of the G that made them, on this machine. */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { NotSerializable } from "../../Errors.ts"
import { Unsendable } from "../codec/codec.ts"
import { tame } from "../codec/unsendable.ts"
import type { Described } from "../job/Job.ts"
import type { TaskDef } from "../registry.ts"
import { G_CHILD, gw } from "../scheduler/index.ts"
import { EffectFailed, type Failure, thrown } from "../taskError.ts"
import { isEffect, stopFiber } from "./fibers.ts"
import { apply, isThenable, type MachineRuntime } from "./MachineRuntime.ts"
import type { ChildJob } from "./Nested.ts"
import { Interrupted } from "./Interrupted.ts"
import { callIn, Running, whenChildless } from "./Running.ts"
import { packedFor } from "./services.ts"
import { copyValue, copyValues, endChildren } from "./spawn.ts"

/**
 * Runs a job's next call, on copies of its arguments. It ends like any other of the job, which `goOn` is told of.
 */
export const runRecordless = (
  r: MachineRuntime,
  job: ChildJob,
  { args, def }: Described,
  goOn: () => void,
): void => {
  const index = job.cursor
  job.inFlight++
  // Who it is, in its own code: what it calls and how it is stopped is its own, the record is its caller's.
  const self = new Running(r, job.parent.g, def)
  let started = false
  const end = (tell: () => void, failed = true) => {
    if (self.over) return
    self.over = true
    whenChildless(self, failed, () => {
      job.inlined.delete(stop)
      job.inFlight--
      tell()
      goOn()
    })
  }
  const interrupted = () => end(() => job.owner.onInterrupted(index))
  const stop = () => {
    self.stopping = true
    if (self.over) return r.nested.cancelAll(self)
    if (self.fiber !== undefined) return stopFiber(self.fiber)
    if (!started || self.controller === undefined) return interrupted()
    r.nested.cancelAll(self)
    self.controller.abort(new Interrupted())
  }
  const fail = (failure: Failure) => end(() => job.fail(index, failure))
  const threw = (raw: unknown) => {
    const error = tame(raw)
    if (self.stopping && error instanceof Interrupted) interrupted()
    else fail(thrown(def.name, error))
  }
  const succeed = (value: unknown) => {
    const copy = copyValue(r, def, value)
    if (copy.ok) end(() => job.succeed(index, copy.value), false)
    else fail(copy.error as Failure)
  }
  const run = () => {
    if (self.over) return
    started = true
    let value: unknown
    try {
      value = callAs(r, self, def, copyValues(r, args))
    } catch (error) {
      const raised = tame(error)
      if (!(raised instanceof Unsendable)) return threw(raised)
      return fail(new NotSerializable({ task: def.name, path: raised.path, reason: raised.reason }))
    }
    if (def.effect && isEffect(value)) {
      const effect = value as Effect.Effect<unknown, unknown>
      self.fiber = r.services.fork(self, def, effect, packedFor(job), (exit) => {
        if (Exit.isSuccess(exit)) succeed(exit.value)
        else if (job.cancelled && Exit.isInterrupted(exit)) interrupted()
        else fail(new EffectFailed(exit.cause))
      })
    } else if (isThenable(value)) {
      Promise.resolve(value).then(succeed, threw)
    } else {
      succeed(value)
    }
  }
  job.inlined.add(stop)
  // Later, so that calls within calls do not stand on one another's stack.
  r.ready.scheduleTask(run)
}

/** Calls a function in the name of the G that called it, which is suspended. */
const callAs = (r: MachineRuntime, self: Running, def: TaskDef, args: ReadonlyArray<unknown>): unknown => {
  const outer = r.current
  const outerRunning = r.running
  const outerLent = r.lent
  const children = r.s.mem[gw(r.s, self.g) + G_CHILD]
  r.current = self.g
  r.running = self
  r.lent = self.g
  let value: unknown
  let thrown: { readonly error: unknown } | undefined
  try {
    value = callIn(self, () => apply(def, args))
  } catch (error) {
    thrown = { error }
  }
  r.current = outer
  r.running = outerRunning
  r.lent = outerLent
  const childError = endChildren(r, self.g, thrown !== undefined, children)
  thrown ??= childError
  if (thrown !== undefined) throw thrown.error
  return value
}
