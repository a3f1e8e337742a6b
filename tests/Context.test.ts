import { describe, expect, it, layer as layerOf } from "@effect/vitest"
import {
  Cause,
  ConfigProvider,
  Context,
  Deferred,
  Effect,
  Exit,
  FiberId,
  HashMap,
  List,
  Logger,
  LogLevel,
  Option,
  Tracer,
} from "effect"
import { Pool, type TaskError } from "../mod.ts"
import {
  config,
  exitInSpan,
  fails,
  home,
  log,
  logInChild,
  logLate,
  logNested,
  logs,
  logTimes,
  parent,
  port,
  traced,
  tracedNested,
} from "./fixtures/context/tasks.ts"

type Options = Logger.Logger.Options<unknown>

/** Collects what an Effect logs with a logger of its own. */
const collecting = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const logged: Array<Options> = []
    const logger = Logger.make((options) => void logged.push(options))
    return Effect.as(Effect.provide(effect, Logger.replace(Logger.defaultLogger, logger)), logged)
  })

const messages = (logged: ReadonlyArray<Options>) => logged.map(({ message }) => (message as Array<unknown>)[0])

class TestSpan implements Tracer.Span {
  readonly _tag = "Span"
  readonly traceId: string
  readonly sampled = true
  readonly attributes = new Map<string, unknown>()
  readonly links: Array<Tracer.SpanLink>
  readonly events: Array<readonly [string, Record<string, unknown> | undefined]> = []
  readonly name: string
  readonly spanId: string
  readonly parent: Option.Option<Tracer.AnySpan>
  readonly context: Context.Context<never>
  readonly kind: Tracer.SpanKind
  status: Tracer.SpanStatus
  constructor(
    name: string,
    spanId: string,
    parent: Option.Option<Tracer.AnySpan>,
    context: Context.Context<never>,
    links: ReadonlyArray<Tracer.SpanLink>,
    startTime: bigint,
    kind: Tracer.SpanKind,
  ) {
    this.name = name
    this.spanId = spanId
    this.parent = parent
    this.context = context
    this.kind = kind
    this.links = [...links]
    this.traceId = Option.match(parent, { onNone: () => `trace of ${spanId}`, onSome: ({ traceId }) => traceId })
    this.status = { _tag: "Started", startTime }
  }
  end(endTime: bigint, exit: Tracer.SpanStatus extends infer S ? S extends { exit: infer X } ? X : never : never) {
    this.status = { _tag: "Ended", startTime: this.status.startTime, endTime, exit }
  }
  attribute(key: string, value: unknown) {
    this.attributes.set(key, value)
  }
  event(name: string, _: bigint, attributes?: Record<string, unknown>) {
    this.events.push([name, attributes])
  }
  addLinks(links: ReadonlyArray<Tracer.SpanLink>) {
    this.links.push(...links)
  }
}

/** Runs an Effect with a tracer of its own, and gives the spans by name. */
const tracing = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const spans = new Map<string, TestSpan>()
    const tracer = Tracer.make({
      span: (name, parent, context, links, startTime, kind) => {
        const span = new TestSpan(name, `span ${spans.size}`, parent, context, links, startTime, kind)
        spans.set(name, span)
        return span
      },
      context: (f) => f(),
    })
    return Effect.as(Effect.withTracer(effect, tracer), spans)
  })

const nameOfParent = (span: TestSpan | undefined) =>
  span && Option.getOrUndefined(Option.map(span.parent, (parent) => (parent as TestSpan).name))

const withConfig = (entries: Record<string, string>) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.withConfigProvider(effect, ConfigProvider.fromMap(new Map(Object.entries(entries))))

const kinds = [
  ["real machines", Pool.layer({ procs: 2 })],
  ["simulated machines", Pool.layerDeterministic({ procs: 2, seed: 5 })],
] as const

for (const [kind, pool] of kinds) {
  describe(`the caller's context on ${kind}`, () => {
    layerOf(pool, { excludeTestServices: true, timeout: 60_000 })((it) => {
      it.effect("brings logs to the caller's loggers, whole, before the call has ended", () =>
        Effect.gen(function* () {
          const logged = yield* logs().pipe(
            Effect.annotateLogs({ by: "caller", list: [1] }),
            Effect.withLogSpan("outer"),
            collecting,
          )
          expect(logged.map(({ logLevel }) => logLevel)).toEqual([LogLevel.Info, LogLevel.Error])
          const [hello, bad] = logged
          expect((hello.message as Array<unknown>).slice(0, 3)).toEqual([
            "hello",
            { list: [1, 2] },
            { _tag: "Point", x: 1 },
          ])
          expect(Object.fromEntries(hello.annotations)).toEqual({ by: "caller", list: [1], on: "machine" })
          expect(List.toArray(hello.spans).map(({ label }) => label)).toEqual(["inner", "outer"])
          expect(FiberId.isFiberId(hello.fiberId)).toBe(true)
          expect(hello.date).toBeInstanceOf(Date)
          expect(Cause.isEmpty(hello.cause)).toBe(true)
          expect(Cause.squash(bad.cause)).toBeInstanceOf(RangeError)
        }))

      it.effect("filters by the caller's minimum level", () =>
        Effect.gen(function* () {
          const all = yield* collecting(Logger.withMinimumLogLevel(logs(), LogLevel.Debug))
          expect(messages(all)).toEqual(["for who wants it", "hello", "bad"])
          const errors = yield* collecting(Logger.withMinimumLogLevel(logs(), LogLevel.Error))
          expect(messages(errors)).toEqual(["bad"])
          expect(yield* collecting(Logger.withMinimumLogLevel(logs(), LogLevel.None))).toEqual([])
        }))

      it.effect("has nothing of a failure that the call ends with, and of others what Effect logs", () =>
        Effect.gen(function* () {
          const debugging = (call: ReturnType<typeof fails>) =>
            collecting(Logger.withMinimumLogLevel(Effect.exit(call), LogLevel.Debug))
          expect(messages(yield* debugging(fails(false)))).toEqual([])
          const [one, ...more] = yield* debugging(fails(true))
          expect([Cause.squash(one.cause), ...more]).toEqual(["of the child"])
        }))

      it.effect("keeps the loggers of callers apart, and the order of each call's logs", () =>
        Effect.gen(function* () {
          const all = yield* Effect.all(
            Array.from({ length: 10 }, (_, i) => collecting(Effect.zip(log(`first ${i}`), logTimes(30)))),
            { concurrency: "unbounded" },
          )
          all.forEach((logged, i) => {
            expect(messages(logged)).toEqual([`first ${i}`, ...Array.from({ length: 30 }, (_, n) => n)])
          })
        }))

      it.effect("reads the context once for a batch", () =>
        Effect.gen(function* () {
          const logged = yield* collecting(
            Effect.annotateLogs(Pool.forEach(["a", "b", "c"], (message) => log(message)), "batch", 1),
          )
          expect(messages(logged).sort()).toEqual(["a", "b", "c"])
          expect(logged.map(({ annotations }) => HashMap.get(annotations, "batch"))).toEqual(
            Array(3).fill(Option.some(1)),
          )
        }))

      it.effect("goes with fibers that the task forks, and with calls that it makes", () =>
        Effect.gen(function* () {
          expect(messages(yield* collecting(logInChild()))).toEqual(["child"])
          const nested = yield* collecting(Effect.annotateLogs(logNested(), "by", "caller"))
          expect(messages(nested)).toEqual(["nested"])
          expect(Object.fromEntries(nested[0].annotations)).toEqual({ by: "caller", outer: true })
        }))

      it.effect("brings spans to the caller's tracer, as children of the caller's span", () =>
        Effect.gen(function* () {
          const spans = yield* tracing(Effect.withSpan(traced(true), "caller"))
          const outer = spans.get("outer")
          const inner = spans.get("inner")
          expect([nameOfParent(inner), nameOfParent(outer)]).toEqual(["outer", "caller"])
          expect(inner?.traceId).toBe(spans.get("caller")?.traceId)
          expect(inner?.kind).toBe("client")
          expect(Object.fromEntries(inner!.attributes)).toMatchObject({ a: 1, list: [1, 2] })
          expect(inner?.events.map(([name]) => name)).toEqual(["event"])
          expect(inner?.status).toMatchObject({ _tag: "Ended", exit: { _tag: "Success" } })
        }))

      it.effect("ends spans with the failure, and begins a trace where the caller has none", () =>
        Effect.gen(function* () {
          const spans = yield* tracing(Effect.flip(traced(false)))
          const { status } = spans.get("inner")!
          if (status._tag !== "Ended" || status.exit._tag !== "Failure") throw new Error("it did not fail")
          expect(Cause.squash(status.exit.cause)).toBe("not ok")
          expect(nameOfParent(spans.get("outer"))).toBeUndefined()
          expect(nameOfParent(spans.get("inner"))).toBe("outer")
        }))

      it.effect("traces through calls within calls", () =>
        Effect.gen(function* () {
          const spans = yield* tracing(Effect.withSpan(tracedNested(), "caller"))
          expect(nameOfParent(spans.get("calling"))).toBe("caller")
          expect(nameOfParent(spans.get("outer"))).toBe("calling")
          expect(nameOfParent(spans.get("inner"))).toBe("outer")
        }))

      it.effect("has the caller's span as parent with any tracer, and none without one", () =>
        Effect.gen(function* () {
          expect(yield* parent()).toBeUndefined()
          const [here, there] = yield* Effect.zip(Effect.currentSpan, parent()).pipe(Effect.withSpan("caller"))
          expect(there).toEqual({ spanId: here.spanId, traceId: here.traceId })
        }))

      it.effect("looks config values up with the caller's provider", () =>
        Effect.gen(function* () {
          const values = yield* config().pipe(withConfig({
            host: "localhost",
            port: "80",
            list: "a,b",
            "indexed[0].n": "1",
            "indexed[1].n": "2",
            "inner.key": "value",
          }))
          expect(values).toEqual({
            host: "localhost",
            port: 80,
            list: ["a", "b"],
            indexed: [1, 2],
            inner: "value",
            missing: "default",
          })
          const nested = ConfigProvider.fromMap(new Map([["APP.HOME", "/"]])).pipe(
            ConfigProvider.nested("app"),
            ConfigProvider.constantCase,
          )
          expect(yield* Effect.withConfigProvider(home("home"), nested)).toBe("/")
        }))

      it.effect("fails as the caller's provider does", () =>
        Effect.gen(function* () {
          const here = Effect.flip(port())
          expect(yield* withConfig({})(here)).toMatchObject({ op: "MissingData" })
          expect(yield* withConfig({ port: "eighty" })(here)).toMatchObject({ op: "InvalidData" })
        }))

      it.effect("reads the environment where the caller's provider is the default one", () =>
        Effect.gen(function* () {
          expect(yield* home("PATH")).toBe(process.env["PATH"])
          expect(yield* home("NO_SUCH_VARIABLE")).toBeUndefined()
        }))
    })
  })
}

describe("logs that come after their call has ended", () => {
  it.live("go to the loggers of who opened the pool", () =>
    Effect.gen(function* () {
      const late = yield* Deferred.make<unknown>()
      const logger = Logger.make(({ message }) => Deferred.unsafeDone(late, Exit.succeed(message)))
      const caller = yield* Effect.gen(function* () {
        const logged = yield* collecting(logLate())
        expect(yield* Deferred.await(late)).toEqual(["late"])
        return logged
      }).pipe(
        Effect.provide(Pool.layer({ procs: 1 })),
        Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
      )
      expect(caller).toEqual([])
    }), 60_000)
})

describe("a machine that dies", () => {
  it.live("has its spans ended, and fails its call all the same", () =>
    Effect.gen(function* () {
      let error: TaskError | undefined
      const spans = yield* Effect.flip(exitInSpan()).pipe(
        Effect.tap((failure) => Effect.sync(() => error = failure)),
        // Its successor brings spans and logs as it did.
        Effect.zipRight(traced(true)),
        tracing,
        Effect.provide(Pool.layer({ procs: 1 })),
      )
      expect(error?._tag).toBe("MachineExited")
      expect(spans.get("cut short")?.status).toMatchObject({ _tag: "Ended", exit: { _tag: "Failure" } })
      expect(spans.get("inner")?.status).toMatchObject({ _tag: "Ended", exit: { _tag: "Success" } })
    }), 60_000)
})
