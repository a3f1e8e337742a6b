/**
 * What travels with a call of an Effect task from the fiber that makes it: log level, annotations and spans, the parent
 * span, and who the caller is. It stands behind the arguments, and only where something differs from the defaults.
 */
import * as Context from "effect/Context"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import * as HashMap from "effect/HashMap"
import * as Inspectable from "effect/Inspectable"
import * as List from "effect/List"
import type * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { isJson } from "../codec/json.ts"

/** The caller of calls without an envelope: all defaults. */
export const DEFAULT_CALLER = 0
/** Who opened the pool: for what a machine does for itself. */
export const POOL_CALLER = 1

/** A span by its ids: trace, span, whether it is sampled. */
export type SpanIds = readonly [traceId: string, spanId: string, sampled: boolean]

/** What differs from the defaults. */
export interface Envelope {
  /** Number of the caller on the host, where its loggers, tracer and config provider are. */
  readonly caller: number
  /** For a call within calls: the call of the host that it is part of, whose end waits for what is told. */
  readonly run?: number
  readonly level?: LogLevel.Literal
  readonly annotations?: ReadonlyArray<readonly [string, unknown]>
  /** Log spans, the innermost first: label and start in ms. */
  readonly spans?: ReadonlyArray<readonly [string, number]>
  readonly parent?: SpanIds
  /** Whether spans are to be told to the caller's tracer. */
  readonly traced?: boolean
  /** Whether config values come from the caller's config provider. */
  readonly config?: boolean
}

/** As it is sent: the number alone if there is nothing else. */
export type Packed = number | Envelope

/** The part of the caller's context that is data. */
export type Data = Pick<Envelope, "level" | "annotations" | "spans" | "parent">

/** A value of a fiber ref in `refs`. */
export const get = FiberRefs.getOrDefault

/** A value of a fiber ref where nobody has set it. */
export const initial = <A>(ref: FiberRef.FiberRef<A>): A => get(FiberRefs.empty(), ref)

/** The ids of a span. */
export const idsOf = ({ sampled, spanId, traceId }: Tracer.AnySpan): SpanIds => [traceId, spanId, sampled]

/** The span that is the parent of what is traced next, if there is one. */
export const parentOf = (refs: FiberRefs.FiberRefs): Tracer.AnySpan | undefined => {
  if (!get(refs, FiberRef.currentTracerEnabled)) return undefined
  let span = Option.getOrUndefined(Context.getOption(get(refs, FiberRef.currentContext), Tracer.ParentSpan))
  while (span !== undefined && Context.get(span.context, Tracer.DisablePropagation)) {
    span = span._tag === "Span" ? Option.getOrUndefined(span.parent) : undefined
  }
  return span
}

const sendable = (value: unknown): unknown => isJson([value]) ? value : Inspectable.toStringUnknown(value)

/** Reads from a fiber's refs what can be sent and is not as by default; undefined if there is nothing. */
export const dataOf = (refs: FiberRefs.FiberRefs): Data | undefined => {
  const level = get(refs, FiberRef.currentMinimumLogLevel)
  const annotations = get(refs, FiberRef.currentLogAnnotations)
  const spans = get(refs, FiberRef.currentLogSpan)
  const parent = parentOf(refs)
  const data: { -readonly [K in keyof Data]: Data[K] } = {}
  if (level !== initial(FiberRef.currentMinimumLogLevel)) data.level = level._tag
  if (HashMap.size(annotations) > 0) {
    data.annotations = Array.from(annotations, ([key, value]) => [key, sendable(value)])
  }
  if (List.isCons(spans)) data.spans = Array.from(spans, ({ label, startTime }) => [label, startTime])
  if (parent !== undefined) data.parent = idsOf(parent)
  return Object.keys(data).length === 0 ? undefined : data
}

/** Packs an envelope; undefined if it says nothing. */
export const pack = (
  caller: number,
  data: Data | undefined,
  listens: { readonly traced: boolean; readonly config: boolean },
): Packed | undefined => {
  if (data === undefined && !listens.traced && !listens.config) return caller === DEFAULT_CALLER ? undefined : caller
  return {
    caller,
    ...data,
    ...(listens.traced ? { traced: true } : undefined),
    ...(listens.config ? { config: true } : undefined),
  }
}

/** The envelope that was packed. */
export const unpack = (packed: Packed): Envelope => typeof packed === "number" ? { caller: packed } : packed
