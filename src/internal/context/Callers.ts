/**
 * Who has called Effect tasks, on the host: whose loggers, tracer and config provider what machines tell and ask is for.
 * There is one entry per batch of calls, and none where everything is as by default.
 */
import * as Cause from "effect/Cause"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import { currentServices, liveServices } from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import * as HashMap from "effect/HashMap"
import * as List from "effect/List"
import * as LogLevel from "effect/LogLevel"
import * as LogSpan from "effect/LogSpan"
import * as Tracer from "effect/Tracer"
import { unpackCause } from "../codec/cause.ts"
import { decode, type SharedBuffers, sharedIds } from "../codec/codec.ts"
import type { Job } from "../job/Job.ts"
import { answerConfig } from "./config.ts"
import { dataOf, DEFAULT_CALLER, get, initial, pack, type Packed, parentOf, POOL_CALLER } from "./envelope.ts"
import type { ConfigAnswer, ConfigQuestion, Log, Report, Told } from "./messages.ts"
import { Spans } from "./spans.ts"

class Caller {
  readonly refs: FiberRefs.FiberRefs
  readonly spans: Spans
  over = false

  constructor(refs: FiberRefs.FiberRefs) {
    this.refs = refs
    this.spans = new Spans(Context.get(get(refs, currentServices), Tracer.Tracer), parentOf(refs))
  }
}

/** What the pool does for its callers. */
export interface CallersOwner {
  readonly answer: (answer: ConfigAnswer, m: number) => void
  readonly onStray: (error: unknown) => void
}

const liveTracer = Context.get(liveServices, Tracer.Tracer)
const liveConfig = Context.get(liveServices, ConfigProvider.ConfigProvider)

export class Callers {
  readonly #shared: SharedBuffers
  readonly #owner: CallersOwner
  readonly #callers = new Map<number, Caller>()
  readonly #opener: Caller
  #next = POOL_CALLER + 1
  /** Whether a machine has died. What it had counted may have been lost with it, and nothing must wait for that. */
  #deaths = false
  /** Reports that have come from runs in progress, by run. */
  readonly #heard = new Map<number, number>()
  /** Runs that have ended, of which there are reports on their way: how many in all, and what to do then. */
  readonly #held = new Map<number, { readonly count: number; readonly go: () => void }>()
  /** What a machine does its own work with. */
  readonly ofPool: Packed | undefined

  /** `opener`: the refs of the fiber that opened the pool. What comes too late for its caller is told to it. */
  constructor(shared: SharedBuffers, opener: FiberRefs.FiberRefs, owner: CallersOwner) {
    this.#shared = shared
    this.#owner = owner
    this.#opener = new Caller(opener)
    this.#callers.set(DEFAULT_CALLER, new Caller(FiberRefs.empty()))
    this.#callers.set(POOL_CALLER, this.#opener)
    const { parent: _, ...data } = dataOf(opener) ?? {}
    this.ofPool = pack(POOL_CALLER, data, listensOf(opener))
  }

  /** What travels with calls that are made with these refs, and what to do when the last of them has ended. */
  #open(refs: FiberRefs.FiberRefs): { readonly packed: Packed | undefined; readonly close: (() => void) | undefined } {
    const data = dataOf(refs)
    const asByDefault = data?.parent === undefined && get(refs, currentServices) === liveServices &&
      get(refs, FiberRef.currentLoggers) === initial(FiberRef.currentLoggers)
    if (asByDefault) return { packed: pack(DEFAULT_CALLER, data, nobody), close: undefined }
    const number = this.#next++
    const caller = new Caller(refs)
    this.#callers.set(number, caller)
    const close = () => {
      caller.over = true
      if (!caller.spans.busy) this.#callers.delete(number)
    }
    return { packed: pack(number, data, listensOf(refs)), close }
  }

  /** What travels with a job's calls of Effect tasks. Read once for all of them. */
  packedFor(job: Job): Packed | undefined {
    if (job.packed !== null) return job.packed
    const { close, packed } = this.#open(job.owner.caller?.getFiberRefs() ?? FiberRefs.empty())
    job.close = close
    return job.packed = packed
  }

  /** A machine tells something. */
  onTold({ bytes, caller, run }: Told, m: number): void {
    try {
      this.#report(decode(bytes, this.#shared)[0] as Report, caller, m)
    } catch (error) {
      this.#owner.onStray(error) // of a user's logger or tracer
    }
    this.#shared.unmention(sharedIds(bytes))
    if (run === 0) return
    const heard = (this.#heard.get(run) ?? 0) + 1
    this.#heard.set(run, heard)
    const held = this.#held.get(run)
    if (held === undefined || held.count > heard) return
    this.#forget(run)
    held.go()
  }

  /**
   * Whether all `count` reports of a run that has ended have come. If not, `go` is called when they have: messages and
   * outcomes go different ways, and a caller should have seen the logs of a call when that ends.
   */
  mayEnd(run: number, count: number, go: () => void): boolean {
    if (!this.#deaths && (this.#heard.get(run) ?? 0) < count) {
      this.#held.set(run, { count, go })
      return false
    }
    this.#forget(run)
    return true
  }

  #forget(run: number): void {
    this.#heard.delete(run)
    this.#held.delete(run)
  }

  /** Machine `m` has died: what it had not told will not come any more. */
  bury(m: number, reason: unknown): void {
    this.#deaths = true
    for (const { spans } of this.#callers.values()) spans.bury(m, reason)
    const held = [...this.#held]
    for (const [run, { go }] of held) {
      this.#forget(run)
      go()
    }
  }

  /** A machine asks for config values. */
  onQuestion(question: ConfigQuestion, m: number): void {
    const { refs } = this.#callers.get(question.caller) ?? this.#opener
    const provider = Context.get(get(refs, currentServices), ConfigProvider.ConfigProvider)
    answerConfig(provider, question).pipe(
      Effect.map((answer) => this.#owner.answer(answer, m)),
      Effect.catchAllCause((cause) => Effect.sync(() => this.#owner.onStray(Cause.squash(cause)))),
      Effect.runFork,
    )
  }

  #report(report: Report, number: number, m: number): void {
    const caller = this.#callers.get(number) ?? this.#opener
    switch (report.kind) {
      case "log":
        return log(report, caller)
      case "start":
        return caller.spans.start(report, m)
      case "end":
        caller.spans.end(report)
        if (caller.over && !caller.spans.busy) this.#callers.delete(number)
    }
  }
}

const nobody = { traced: false, config: false }

/** Whether the caller has a tracer and a config provider of its own. */
const listensOf = (refs: FiberRefs.FiberRefs): { readonly traced: boolean; readonly config: boolean } => {
  const services = get(refs, currentServices)
  return {
    traced: get(refs, FiberRef.currentTracerEnabled) && Context.get(services, Tracer.Tracer) !== liveTracer,
    config: Context.get(services, ConfigProvider.ConfigProvider) !== liveConfig,
  }
}

/** Logs with the caller's loggers what was logged on a machine. */
const log = (told: Log, { refs, spans }: Caller): void => {
  const fiberId = FiberId.runtime(told.fiber[0], told.fiber[1])
  const span = told.span === undefined ? undefined : spans.find(told.span)
  const options = {
    fiberId,
    logLevel: LogLevel.fromLiteral(told.level as LogLevel.Literal),
    message: told.message,
    cause: told.cause === undefined ? Cause.empty : unpackCause(told.cause),
    // Some loggers write into the span in which was logged.
    context: span === undefined ? refs : FiberRefs.updateAs(refs, {
      fiberId,
      fiberRef: FiberRef.currentContext,
      value: Context.add(get(refs, FiberRef.currentContext), Tracer.ParentSpan, span) as Context.Context<never>,
    }),
    spans: List.fromIterable(told.spans.map(([label, startTime]) => LogSpan.make(label, startTime))),
    annotations: HashMap.fromIterable(told.annotations),
    date: new Date(told.date),
  }
  for (const logger of get(refs, FiberRef.currentLoggers)) logger.log(options)
}
