/** Logger and tracer of a machine: they tell the host. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import { globalValue } from "effect/GlobalValue"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { packCause } from "../codec/cause.ts"
import { get, idsOf } from "./envelope.ts"
import type { PackedLink, Report } from "./messages.ts"
import { portable } from "./portable.ts"

/** In whose name code of a fiber on a machine logs and traces. */
export interface InCall {
  readonly caller: number
  /** The call of the host that this is part of, if it waits for what is told. */
  readonly run: number | undefined
  readonly traced: boolean
  readonly config: boolean
  readonly tell: (report: Report) => void
}

const nowhere: InCall = { caller: 0, run: undefined, traced: false, config: false, tell: () => {} }

/** Inherited by the fibers that a task's fiber forks. */
export const currentCall: FiberRef.FiberRef<InCall> = globalValue(
  Symbol.for("runon/currentCall"),
  () => FiberRef.unsafeMake(nowhere),
)

const portableEntries = (entries: Iterable<readonly [string, unknown]>): Array<readonly [string, unknown]> =>
  Array.from(entries, ([key, value]) => [key, portable(value)])

const portableRecord = (record: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(portableEntries(Object.entries(record)))

/** The only logger of a machine. What is below the caller's level does not come here. */
export const remoteLogger: Logger.Logger<unknown, void> = Logger.make(
  ({ annotations, cause, context, date, fiberId, logLevel, message, spans }) => {
    const span = Option.getOrUndefined(Context.getOption(get(context, FiberRef.currentContext), Tracer.ParentSpan))
    const [fiber] = FiberId.toSet(fiberId)
    get(context, currentCall).tell({
      kind: "log",
      fiber: fiber === undefined ? [0, 0] : [fiber.id, fiber.startTimeMillis],
      level: logLevel._tag,
      message: Array.isArray(message) ? message.map(portable) : portable(message),
      cause: cause === undefined || Cause.isEmptyType(cause) ? undefined : packCause(cause),
      spans: Array.from(spans, ({ label, startTime }) => [label, startTime]),
      annotations: portableEntries(annotations),
      date: date.getTime(),
      span: span?.spanId,
    })
  },
)

const hex = "0123456789abcdef"
const randomHex = (length: number): string => {
  let id = ""
  for (let i = 0; i < length; i++) id += hex[Math.floor(Math.random() * 16)]
  return id
}

const packLinks = (links: Iterable<Tracer.SpanLink>): Array<PackedLink> =>
  Array.from(links, ({ attributes, span }) => [idsOf(span), portableRecord(attributes)])

/** A span that is told to the host when it begins and when it ends. */
class RemoteSpan implements Tracer.Span {
  readonly _tag = "Span"
  readonly name: string
  readonly parent: Option.Option<Tracer.AnySpan>
  readonly context: Context.Context<never>
  readonly kind: Tracer.SpanKind
  readonly spanId: string = randomHex(16)
  readonly traceId: string
  readonly sampled: boolean
  readonly attributes: Map<string, unknown> = new Map()
  readonly links: Array<Tracer.SpanLink>
  readonly #events: Array<readonly [string, bigint, Record<string, unknown> | undefined]> = []
  readonly #linksAtStart: number
  readonly #tell: InCall["tell"]
  status: Tracer.SpanStatus

  constructor(
    tell: InCall["tell"],
    name: string,
    parent: Option.Option<Tracer.AnySpan>,
    context: Context.Context<never>,
    links: Iterable<Tracer.SpanLink>,
    startTime: bigint,
    kind: Tracer.SpanKind,
  ) {
    const above = Option.getOrUndefined(parent)
    this.#tell = tell
    this.name = name
    this.parent = parent
    this.context = context
    this.kind = kind
    this.traceId = above?.traceId ?? randomHex(32)
    this.sampled = above?.sampled ?? true
    this.links = Array.from(links)
    this.#linksAtStart = this.links.length
    this.status = { _tag: "Started", startTime }
    tell({
      kind: "start",
      id: this.spanId,
      parent: above && idsOf(above),
      name,
      spanKind: kind,
      start: startTime,
      links: packLinks(this.links),
    })
  }

  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    this.status = { _tag: "Ended", startTime: this.status.startTime, endTime, exit }
    this.#tell({
      kind: "end",
      id: this.spanId,
      end: endTime,
      cause: Exit.isFailure(exit) ? packCause(exit.cause) : undefined,
      attributes: portableEntries(this.attributes),
      events: this.#events,
      links: packLinks(this.links.slice(this.#linksAtStart)),
    })
  }

  attribute(key: string, value: unknown): void {
    this.attributes.set(key, value)
  }

  event(name: string, startTime: bigint, attributes?: Record<string, unknown>): void {
    this.#events.push([name, startTime, attributes && portableRecord(attributes)])
  }

  addLinks(links: ReadonlyArray<Tracer.SpanLink>): void {
    this.links.push(...links)
  }
}

/** A tracer whose spans are told to the host. */
export const remoteTracer = (tell: InCall["tell"]): Tracer.Tracer =>
  Tracer.make({
    span: (name, parent, context, links, startTime, kind) =>
      new RemoteSpan(tell, name, parent, context, links, startTime, kind),
    context: (f) => f(),
  })
