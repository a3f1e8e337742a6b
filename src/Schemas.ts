/**
 * `runon/schema`: tasks whose payload and outcome are described by schemas. Apart from the rest, since `effect/Schema`
 * takes as long to load as all that a machine needs otherwise.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { check, type Taken, wrongOptions } from "./internal/options.ts"
import { defineTask } from "./internal/registry.ts"
import { makeCodec, refused } from "./internal/schemaCodec.ts"
import { toTask } from "./internal/toTask.ts"
import type { Pool } from "./Pool.ts"
import type { Sendable } from "./Sendable.ts"
import type { Task } from "./Task.ts"

/**
 * The schemas of a task. `payload`: its one argument; `success`: what it succeeds with, by default `Schema.Void`;
 * `failure`: its typed errors, by default `Schema.Never`.
 *
 * @since 0.1.0
 * @category models
 */
export interface TaskSchemas<P, PI, A, AI, E, EI> {
  readonly payload: Schema.Schema<P, PI>
  readonly success?: Schema.Schema<A, AI> | undefined
  readonly failure?: Schema.Schema<E, EI> | undefined
}

/**
 * {@link TaskSchemas} whose encoded sides can be sent: what each encodes to, with `NotSendable` where the problem is.
 *
 * @since 0.1.0
 * @category types
 */
export interface SendableSchemas<P, PI, A, AI, E, EI> {
  readonly payload: Encoding<P, PI>
  readonly success?: Encoding<A, AI> | undefined
  readonly failure?: Encoding<E, EI> | undefined
}

/** Asks no more than that a schema is one if what it encodes to can be sent: what remains would be hard to read. */
type Encoding<A, I> = [I] extends [Sendable<I>] ? Schema.Schema<A, I> : Schema.Schema<A, Sendable<I>>

const OF_SCHEMAS: Taken = { of: "schemaTask", names: ["payload", "success", "failure"] }

/**
 * An Effect task whose payload and outcome go through schemas: what cannot be sent as it is, like classes, branded
 * types, an `Option` or a `DateTime`, arrives as what it was, and both sides check it. The payload is encoded by the
 * caller and decoded on the machine, the outcome the other way round, failures in any place of a cause too.
 *
 * What the schemas encode to must be what can be sent; the types refuse schemas like `Schema.OptionFromSelf`, whose encoded
 * side is an instance too. A payload that the schema refuses, or a payload or an outcome that it refuses when it arrives,
 * fails the call with `NotSerializable`, which says where and why; an outcome that it refuses on the machine is a defect
 * of the task. The schemas of the caller must not be asynchronous. Otherwise as `Task.effect`.
 *
 * @example
 * import { Effect, Option, Schema } from "effect"
 * import { schemaTask } from "runon/schema"
 *
 * class Account extends Schema.Class<Account>("Account")({ id: Schema.Number, name: Schema.String }) {}
 * class Nameless extends Schema.TaggedError<Nameless>()("Nameless", { id: Schema.Number }) {}
 *
 * export const initial = schemaTask(
 *   import.meta,
 *   "initial",
 *   { payload: Account, success: Schema.Option(Schema.String), failure: Nameless },
 *   ({ id, name }) => name === "" ? new Nameless({ id }) : Effect.succeed(Option.fromNullable(name[0])),
 * )
 *
 * @since 0.1.0
 * @category constructors
 */
export const schemaTask = <P, PI, A = void, AI = void, E = never, EI = never>(
  meta: ImportMeta,
  name: string,
  schemas: TaskSchemas<P, PI, A, AI, E, EI> & NoInfer<SendableSchemas<P, PI, A, AI, E, EI>>,
  fn: (payload: P) => Effect.Effect<NoInfer<A>, NoInfer<E>, Pool>,
): Task<[payload: P], A, E> => {
  check(wrongOptions(OF_SCHEMAS, schemas))
  const payload = schemas.payload as Schema.Schema<unknown, unknown>
  const success = (schemas.success ?? Schema.Void) as Schema.Schema<unknown, unknown>
  const failure = (schemas.failure ?? Schema.Never) as Schema.Schema<unknown, unknown>
  const decode = Schema.decodeUnknown(payload)
  const encodeSuccess = Schema.encode(success)
  const encodeFailure = Schema.encodeSync(failure)
  const served = (encoded: unknown) =>
    Effect.matchEffect(decode(encoded), {
      // The caller's side had encoded it: what the schema needs was lost on the way.
      onFailure: (error) => Effect.fail(refused(name, "args[0]", error)),
      onSuccess: (value) =>
        Effect.mapErrorCause(fn(value as P), Cause.map(encodeFailure)).pipe(
          Effect.flatMap((value) => Effect.orDie(encodeSuccess(value))),
        ),
    })
  return toTask(
    defineTask(meta, name, served as never, { effect: true, codec: makeCodec(name, payload, success, failure) }),
  )
}
