/**
 * The types that can be sent to another thread, checked when a task is made.
 *
 * A type is compared with what would be left of it, so recursive types, unions and optional properties cost the
 * compiler no more than an ordinary assignment, and its message leads to the property at fault.
 *
 * @since 0.1.0
 */

import type { Effect } from "effect/Effect"
import type { Either } from "effect/Either"
import type { Option } from "effect/Option"
import type { YieldWrap } from "effect/Utils"
import type { Call } from "./Call.ts"
import type { Pool } from "./Pool.ts"

/**
 * Stands where a type holds something that cannot be sent. No value has this type; the message is for the reader of
 * the compiler's error.
 *
 * @since 0.1.0
 * @category types
 */
export interface NotSendable<Message extends string> {
  readonly "~runon/NotSendable": Message
}

/** Sent as they are: their methods come back with them, or (errors) with their class. */
type Whole =
  | string
  | number
  | boolean
  | bigint
  | null
  | undefined
  | void
  | Date
  | RegExp
  | Error
  | ArrayBuffer
  | SharedArrayBuffer
  | ArrayBufferView

/** Node's, by what nothing else has: not all who use this have its types. */
interface Buffer extends Uint8Array {
  readonly readUint32LE: unknown
}

/**
 * Lists are written `A[]` on purpose: the compiler then looks at the element later, so that a type may contain lists
 * of itself. Tuples keep their shape by the mapping.
 */
type Items<T extends ReadonlyArray<unknown>> = number extends T["length"]
  ? T extends Array<infer A> ? Sendable<A>[] : readonly Sendable<T[number]>[]
  : Fields<T>

type Fields<T> = { [K in keyof T]: K extends symbol ? T[K] : Sendable<T[K]> }

/**
 * `T` as it arrives on another thread: `T` itself if all of it can be sent, else a type with `NotSendable` where the
 * problem is.
 *
 * Refused, at any depth: functions, symbols, promises, and weak collections. Instances of classes with methods are
 * refused too, because an instance arrives as a plain object of its own enumerable properties, without them; that
 * includes Effect's `Option`, `Either`, `DateTime` and `Duration`: send what they hold, or encode them with a Schema. A
`Buffer` of Node arrives as a `Uint8Array`: that is the type to write down.
 * Not so errors, which keep their class if it is registered.
 *
 * `any` and `unknown` are let through, and checked when they are sent. Properties keyed by symbols are left out of the
 * check, as they are left out of what is sent. Two kinds of recursion are too deep for the compiler: an alias that is a
 * tuple of itself (`type E = number | ["add", E, E]`; name the tuple's members in an interface instead), and generics
 * with ever larger arguments (`interface A<T> { next: A<T[]> }`; give such a parameter the type `unknown`).
 *
 * @since 0.1.0
 * @category types
 */
export type Sendable<T> = unknown extends T ? T
  : T extends Buffer ? NotSendable<"a Buffer arrives as the Uint8Array that it extends: give it that type">
  : T extends Whole ? T
  : T extends symbol ? NotSendable<"symbols cannot be sent to another thread">
  : T extends ((...args: never) => unknown) | (abstract new (...args: never) => unknown)
    ? NotSendable<"functions and methods cannot be sent to another thread">
  : T extends PromiseLike<unknown> ? NotSendable<"promises cannot be sent to another thread: await them first">
  : T extends ReadonlyArray<unknown> ? Items<T>
  : T extends Map<infer K, infer V> ? Map<Sendable<K>, Sendable<V>>
  : T extends Set<infer A> ? Set<Sendable<A>>
  // After Map and Set, which have all that their weak counterparts have.
  : T extends WeakMap<WeakKey, unknown> | WeakSet<WeakKey> | WeakRef<WeakKey>
    ? NotSendable<"weak collections and references cannot be sent to another thread">
  : T extends ReadonlyMap<infer K, infer V> ? ReadonlyMap<Sendable<K>, Sendable<V>>
  : T extends ReadonlySet<infer A> ? ReadonlySet<Sendable<A>>
  : Fields<T>

/**
 * A list of arguments as it arrives.
 *
 * @since 0.1.0
 * @category types
 */
export type SendableArgs<Args extends ReadonlyArray<unknown>> = { [K in keyof Args]: Sendable<Args[K]> }

/**
 * What a function returns, as it arrives: the value that a promise holds and the value that a generator returns are
 * what is sent.
 *
 * @since 0.1.0
 * @category types
 */
export type SendableResult<A> = unknown extends A ? A
  : A extends PromiseLike<infer B> ? PromiseLike<Outcome<B>>
  : A extends Generator<infer Y, infer B, infer N> ? Generator<Yielded<Y>, Outcome<B>, N>
  : A extends AsyncGenerator<infer Y, infer B, infer N> ? AsyncGenerator<Y, Outcome<B>, N>
  : Outcome<A>

/** A result that is likely to be meant otherwise. By their types, Option, Either and many errors are Effects too. */
type Outcome<A> = unknown extends A ? A
  : A extends Call<unknown, unknown> ? NotSendable<"a call: yield* it, await Task.run(call), or join Task.spawn(call)">
  : A extends Error | Option<unknown> | Either<unknown, unknown> ? Sendable<A>
  : A extends Effect<unknown, unknown, unknown> ? NotSendable<"an Effect: use Task.effect">
  : Sendable<A>

type Yielded<Y> = [Y] extends [YieldWrap<Effect<unknown, unknown, Pool>>] ? Y
  : [Y] extends [YieldWrap<Effect<unknown, unknown, unknown>>]
    ? NotSendable<"a task provides its pool only: provide what else its Effects need inside">
  : NotSendable<"a generator task yields Effects, calls among them">

/**
 * A function whose arguments and result can be sent. As the type of a parameter it infers `Args` and `A` from the
 * function, like `(...args: Args) => A` does, and refuses the function if they cannot.
 *
 * @since 0.1.0
 * @category types
 */
export type SendableFunction<Args extends ReadonlyArray<unknown>, A> =
  & ((...args: Args) => A)
  & NoInfer<(...args: SendableArgs<Args>) => SendableResult<A>>
