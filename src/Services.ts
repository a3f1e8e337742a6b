/**
 * Services on machines: layers that a machine builds once, for the Effect tasks that need them.
 *
 * @since 0.1.0
 */
import type { Effect } from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Scope } from "effect/Scope"
import { claimName } from "./internal/registry.ts"
import type { Pool } from "./Pool.ts"
import type { Sendable, SendableArgs } from "./Sendable.ts"

/** @since 0.1.0 */
export const TypeId: unique symbol = Symbol.for("runon/MachineLayer") as never

/**
 * A layer for machines: services `ROut`, which building may fail to provide with an `E`.
 *
 * @since 0.1.0
 * @category models
 */
export interface MachineLayer<in ROut, out E> {
  readonly [TypeId]: typeof TypeId
  /** The name it was given. */
  readonly name: string
  /** URL of the module that defines it. */
  readonly module: string
  readonly layer: Layer.Layer<ROut, E>
}

/**
 * Names a layer for the machines, at the top level of a module as a task is. Each machine builds it once, when the first
 * call of a task that names it arrives there, and keeps it: the services live as long as the machine. Its finalizers run
 * before the machine ends, and closing the pool, or `runOn`, waits for them within the pool's grace; one that fails is
 * logged as a warning where the pool was opened.
 *
 * All layers of a machine share one memo map, as if they were provided to one program: a layer that two of them are
 * made of is built once. What fails to build fails the calls that need it, with the layer's error, and is tried again by
 * the next call. Interrupting the call that happened to be the first does not stop it. While it is built, logs go to the
 * loggers of who opened the pool, and config values come from their config provider.
 *
 * Throws a `TypeError` if the module has a layer of that name already.
 *
 * @example
 * import { Effect } from "effect"
 * import { Task } from "runon"
 *
 * class Counter extends Effect.Service<Counter>()("Counter", {
 *   scoped: Effect.acquireRelease(Effect.succeed({ n: 0 }), ({ n }) => Effect.log(`counted ${n}`)),
 * }) {}
 *
 * const Counters = Task.layer(import.meta, "Counters", Counter.Default)
 *
 * export const count = Task.effect(
 *   import.meta,
 *   "count",
 *   (by: number) => Effect.map(Counter, (counter) => counter.n += by),
 *   { layer: Counters },
 * )
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeLayer = <ROut, E>(
  meta: ImportMeta,
  name: string,
  layer: Layer.Layer<ROut, E>,
): MachineLayer<ROut, E> => {
  claimName(meta, "layer", name)
  if (!Layer.isLayer(layer)) throw new TypeError(`layer "${name}" in ${meta.url} is not a Layer`)
  return { [TypeId]: TypeId, name, module: meta.url, layer }
}

/**
 * Options of `Task.effect`. `layer`: provides the services that the Effect needs, see `Task.layer`.
 *
 * @since 0.1.0
 * @category models
 */
export interface EffectOptions<ROut, E> {
  readonly layer?: MachineLayer<ROut, E> | undefined
}

/**
 * Stands where an Effect needs a service that its task's layer does not provide. No value has this type; the message is
 * for the reader of the compiler's error.
 *
 * @since 0.1.0
 * @category types
 */
export interface ServiceMissing<Message extends string> {
  readonly "~runon/ServiceMissing": Message
}

/**
 * What an Effect may need if its task's layer provides `ROut`: that, the pool, and a scope that is closed when the
 * call ends.
 *
 * @since 0.1.0
 * @category types
 */
export type Served<R, ROut> = [R] extends [ROut | Pool | Scope] ? R
  : ServiceMissing<"the Effect needs a service that its task's layer does not provide: give it by { layer }, or inside">

/**
 * A function that returns an Effect whose services are there: as the type of a parameter it infers, and refuses what
 * cannot be sent or is not provided.
 *
 * @since 0.1.0
 * @category types
 */
export type ServedEffect<Args extends ReadonlyArray<unknown>, Eff extends Effect<unknown, unknown, unknown>, ROut> =
  & ((...args: Args) => Eff)
  & NoInfer<
    (
      ...args: SendableArgs<Args>
    ) => Effect<Sendable<Effect.Success<Eff>>, Effect.Error<Eff>, Served<Effect.Context<Eff>, ROut>>
  >
