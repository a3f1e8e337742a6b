/**
 * Spans of machines, made again by the caller's tracer. Those have ids of their own; here is which is which. Spans of
 * one call can come from several machines, so a child can be heard of before its parent: then it waits.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { unpackCause } from "../codec/cause.ts"
import type { SpanIds } from "./envelope.ts"
import type { PackedLink, SpanEnd, SpanStart } from "./messages.ts"

interface Known {
  readonly span: Tracer.Span
  /** The machine that it runs on. */
  readonly m: number
  ended: boolean
}

/** Ended spans are kept, as parents of what outlives them, up to so many. */
const KEPT = 1024

/** The spans of one caller. */
export class Spans {
  readonly #tracer: Tracer.Tracer
  /** The span in which the caller called. */
  readonly #parent: Tracer.AnySpan | undefined
  readonly #known = new Map<string, Known>()
  readonly #waiting = new Map<string, Array<() => void>>()
  #open = 0

  constructor(tracer: Tracer.Tracer, parent: Tracer.AnySpan | undefined) {
    this.#tracer = tracer
    this.#parent = parent
  }

  /** The caller's own span for one of a machine. */
  find(id: string): Tracer.AnySpan | undefined {
    return this.#known.get(id)?.span ?? (id === this.#parent?.spanId ? this.#parent : undefined)
  }

  /** A span has begun on machine `m`. */
  start(told: SpanStart, m: number): void {
    const above = told.parent?.[1]
    if (above !== undefined && this.find(above) === undefined) return this.#await(above, () => this.#start(told, m))
    this.#start(told, m)
  }

  #start({ id, links, name, parent, spanKind, start }: SpanStart, m: number): void {
    const span = this.#tracer.span(
      name,
      Option.fromNullable(parent && (this.find(parent[1]) ?? this.#parent)),
      Context.empty(),
      links.map((link) => this.#link(link)),
      start,
      spanKind as Tracer.SpanKind,
    )
    this.#known.set(id, { span, m, ended: false })
    this.#open++
    this.#release(id)
  }

  /** A span has ended. */
  end(told: SpanEnd): void {
    const known = this.#known.get(told.id)
    if (known === undefined) return this.#await(told.id, () => this.end(told))
    const { span } = known
    for (const [key, value] of told.attributes) span.attribute(key, value)
    for (const [name, time, attributes] of told.events) span.event(name, time, attributes)
    if (told.links.length > 0) span.addLinks(told.links.map((link) => this.#link(link)))
    this.#end(known, told.end, told.cause === undefined ? Exit.void : Exit.failCause(unpackCause(told.cause)))
  }

  #end(known: Known, end: bigint, exit: Exit.Exit<unknown, unknown>): void {
    known.span.end(end, exit)
    known.ended = true
    this.#open--
    if (this.#known.size < 2 * this.#open + KEPT) return
    for (const [id, { ended }] of this.#known) if (ended) this.#known.delete(id)
  }

  /** Ends what ran on a machine that has died. */
  bury(m: number, reason: unknown): void {
    const now = BigInt(Date.now()) * 1_000_000n
    for (const known of this.#known.values()) {
      if (known.m === m && !known.ended) this.#end(known, now, Exit.failCause(Cause.die(reason)))
    }
  }

  /** Whether spans are open, or wait for others. */
  get busy(): boolean {
    return this.#open > 0 || this.#waiting.size > 0
  }

  #await(id: string, go: () => void): void {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) this.#waiting.set(id, [go])
    else waiting.push(go)
  }

  #release(id: string): void {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return
    this.#waiting.delete(id)
    for (const go of waiting) go()
  }

  #link([ids, attributes]: PackedLink): Tracer.SpanLink {
    return { _tag: "SpanLink", span: this.find(ids[1]) ?? external(ids), attributes }
  }
}

/** A span that only its ids are known of. */
export const external = ([traceId, spanId, sampled]: SpanIds): Tracer.ExternalSpan =>
  Tracer.externalSpan({ traceId, spanId, sampled })
