/**
 * A call: a task applied to arguments. It is a description that can be run any number of times, and it is an Effect.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Effectable from "effect/Effectable"
import * as FiberRef from "effect/FiberRef"
import * as Inspectable from "effect/Inspectable"
import * as Option from "effect/Option"
import type { TaskError } from "./Errors.ts"
import { runCall } from "./internal/run.ts"
import type { TaskDef } from "./internal/registry.ts"
import { poolTag } from "./internal/tag.ts"
import type { Pool } from "./Pool.ts"

/** @since 0.1.0 */
export const TypeId: unique symbol = Symbol.for("runon/Call") as never

/**
 * A task applied to arguments, made by calling the task. As an Effect it runs on the pool in the context: the fiber
 * waits until the G has ended, and interrupting the fiber cancels it. A cancelled G that has not started never will;
 * one that runs is asked to stop, and the interruption waits for it: a sync task sees the request in
 * `Task.checkpoint()`, an async one is given up.
 *
 * Arguments are read when the call is submitted, not when it is made.
 *
 * @since 0.1.0
 * @category models
 */
export interface Call<out A, out E = never> extends Effect.Effect<A, E | TaskError, Pool> {
  readonly [TypeId]: typeof TypeId
}

/**
 * @since 0.1.0
 * @category models
 */
export class Call<out A, out E = never> {
  /** @internal */
  readonly def: TaskDef
  /** The arguments. */
  readonly args: ReadonlyArray<unknown>

  /** @internal */
  constructor(def: TaskDef, args: ReadonlyArray<unknown>) {
    this.def = def
    this.args = args
  }

  /** Name of the task. */
  get task(): string {
    return this.def.name
  }

  /** The Effect that this call is. */
  commit(): Effect.Effect<A, E | TaskError, Pool> {
    return Effect.withFiberRuntime<A, E | TaskError, Pool>((fiber) => {
      const pool = Context.getOption(fiber.getFiberRef(FiberRef.currentContext), poolTag)
      if (Option.isSome(pool)) return runCall<A, E>(pool.value, this)
      return Effect.dieMessage(
        `there is no pool to run task "${this.task}" on: provide Pool.layer() to the program, or use runOn`,
      )
    })
  }

  toJSON(): unknown {
    return { _id: "Call", task: this.task, args: Inspectable.toJSON(this.args) }
  }

  toString(): string {
    return Inspectable.format(this.toJSON())
  }

  [Inspectable.NodeInspectSymbol](): unknown {
    return { _id: "Call", task: this.task, args: this.args }
  }
}

// Not by `extends`: a call is made for every spawn, and V8 takes several times longer to construct a derived class.
Object.setPrototypeOf(Call.prototype, Effectable.CommitPrototype)
Object.defineProperty(Call.prototype, TypeId, { value: TypeId })

/**
 * Whether a value is a call.
 *
 * @since 0.1.0
 * @category guards
 */
export const isCall = (u: unknown): u is Call<unknown, unknown> => typeof u === "object" && u !== null && TypeId in u
