/**
 * What fibers on a machine run with: the caller's context as far as it travels, a logger and a tracer that tell the
 * host, a scope that lasts as long as the G, and the services of the task's layer.
 */
import * as Cause from "effect/Cause"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import { currentServices, type DefaultServices, liveServices } from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as List from "effect/List"
import * as LogLevel from "effect/LogLevel"
import * as LogSpan from "effect/LogSpan"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { Questions, remoteConfig } from "../context/config.ts"
import { packStray } from "../codec/stray.ts"
import { tame } from "../codec/unsendable.ts"
import { dataOf, DEFAULT_CALLER, type Envelope, get, pack, type Packed, unpack } from "../context/envelope.ts"
import type { Report } from "../context/messages.ts"
import { encodeReport } from "../context/portable.ts"
import { currentCall, type InCall, remoteLogger, remoteTracer } from "../context/remote.ts"
import { external } from "../context/spans.ts"
import type { Job } from "../job/Job.ts"
import type { TaskDef } from "../registry.ts"
import {
  FLAG_CONTEXT,
  G_FLAGS,
  G_WAITER,
  generationOf,
  gw,
  hintOf,
  type Sched,
  statusOf,
  TOLD,
} from "../scheduler/index.ts"
import { poolTag } from "../tag.ts"
import type { MachineRuntime } from "./MachineRuntime.ts"
import { Layers } from "./layers.ts"
import { LazyScope } from "./LazyScope.ts"
import type { ToHost } from "./messages.ts"
import { NestedPool } from "./nestedPool.ts"
import type { Running } from "./Running.ts"

const nobody = FiberId.runtime(-1, 0)
const noEnvelope: Envelope = { caller: DEFAULT_CALLER }

const set = <A>(refs: FiberRefs.FiberRefs, fiberRef: FiberRef.FiberRef<A>, value: A): FiberRefs.FiberRefs =>
  FiberRefs.updateAs(refs, { fiberId: nobody, fiberRef, value })

const baseRefs = set(FiberRefs.empty(), FiberRef.currentLoggers, HashSet.make(remoteLogger))

/**
 * How the Effect of a call fails is its caller's to handle, and nothing to log for the fiber that ran it. That is told to
 * the fiber once it fails, since fibers that it forks would inherit it, whose failures nobody may look at.
 */
const handled = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.catchAllCause(
    effect,
    (cause) => Effect.zipRight(FiberRef.set(FiberRef.unhandledErrorLogLevel, Option.none()), Effect.failCause(cause)),
  )

/** Takes the envelope off the arguments of a claimed G. */
export const takeEnvelope = (s: Sched, g: number, args: ReadonlyArray<unknown>): Packed | undefined =>
  (s.mem[gw(s, g) + G_FLAGS] & FLAG_CONTEXT) === 0 ? undefined : (args as Array<unknown>).pop() as Packed

/** What travels with calls of Effect tasks that a fiber on a machine makes: its caller is theirs. */
export const packedFor = (job: Job): Packed | undefined => {
  if (job.packed !== null) return job.packed
  const refs = job.owner.caller?.getFiberRefs() ?? FiberRefs.empty()
  const call = get(refs, currentCall)
  const packed = pack(call.caller, dataOf(refs), call)
  if (packed === undefined || call.run === undefined) return job.packed = packed
  return job.packed = { ...(typeof packed === "number" ? { caller: packed } : packed), run: call.run }
}

/** How a G has ended whose finalizers ended with `closed`. */
const withFinalizers = (exit: Exit.Exit<unknown, unknown>, closed: Exit.Exit<void>): Exit.Exit<unknown, unknown> => {
  if (Exit.isSuccess(closed)) return exit
  return Exit.failCause(Exit.isSuccess(exit) ? closed.cause : Cause.sequential(exit.cause, closed.cause))
}

export class MachineServices {
  readonly #r: MachineRuntime
  readonly #tell: (message: ToHost) => void
  readonly #ofPool: Packed | undefined
  readonly questions: Questions
  readonly #config: Context.Context<DefaultServices>
  readonly #layers: Layers

  constructor(r: MachineRuntime, tell: (message: ToHost) => void, ofPool: Packed | undefined) {
    this.#r = r
    this.#tell = tell
    this.#ofPool = ofPool
    this.questions = new Questions(tell)
    const caller = Effect.map(FiberRef.get(currentCall), (call) => call.caller)
    this.#config = Context.add(
      liveServices,
      ConfigProvider.ConfigProvider,
      remoteConfig(this.questions, caller),
    )
    this.#layers = new Layers((effect, scope) =>
      Runtime.runFork(this.#runtime(undefined, this.#ofPool, new Map()), effect, { scheduler: r.ready, scope })
    )
  }

  /**
   * Runs the Effect that the function of a G has returned. `onExit` may be called before this returns. The scope is
   * closed when the Effect has ended, and so have the fibers that it had forked.
   */
  fork(
    running: Running,
    def: TaskDef,
    effect: Effect.Effect<unknown, unknown>,
    packed: Packed | undefined,
    onExit: (exit: Exit.Exit<unknown, unknown>) => void,
  ): Fiber.RuntimeFiber<unknown, unknown> | undefined {
    const scope = new LazyScope()
    const options = { scheduler: this.#r.ready }
    const services = new Map<string, unknown>([[poolTag.key, new NestedPool(running)], [Scope.Scope.key, scope]])
    const runtime = this.#runtime(running, packed, services)
    const provided = def.layer === undefined ? effect : this.#layers.provide(def.layer, effect)
    let fiber: Fiber.RuntimeFiber<unknown, unknown>
    try {
      fiber = Runtime.runFork(runtime, handled(provided), options)
    } catch (error) {
      // Effect itself broke on what it met, as it does on a revoked proxy.
      scope.endUnused(Exit.void)
      return void onExit(Exit.die(tame(error)))
    }
    fiber.addObserver((exit) => {
      if (scope.endUnused(exit)) return onExit(exit)
      Runtime.runFork(runtime, Effect.exit(scope.close(exit)), options).addObserver((closed) => {
        onExit(withFinalizers(exit, Exit.flatten(closed)))
      })
    })
    return fiber
  }

  #runtime(
    running: Running | undefined,
    packed: Packed | undefined,
    context: Map<string, unknown>,
  ): Runtime.Runtime<never> {
    const envelope = packed === undefined ? noEnvelope : unpack(packed)
    const { annotations, caller, config = false, level, parent, spans, traced = false } = envelope
    const run = running === undefined || running.g === 0 ? undefined : this.#runOf(running.g) ?? envelope.run
    const call: InCall = { caller, run, config, traced, tell: this.#teller(running, caller, run) }
    let fiberRefs = set(baseRefs, currentCall, call)
    if (level !== undefined) fiberRefs = set(fiberRefs, FiberRef.currentMinimumLogLevel, LogLevel.fromLiteral(level))
    if (annotations !== undefined) {
      fiberRefs = set(fiberRefs, FiberRef.currentLogAnnotations, HashMap.fromIterable(annotations))
    }
    if (spans !== undefined) {
      const logSpans = List.fromIterable(spans.map(([label, startTime]) => LogSpan.make(label, startTime)))
      fiberRefs = set(fiberRefs, FiberRef.currentLogSpan, logSpans)
    }
    let services = config ? this.#config : liveServices
    if (traced) services = Context.add(services, Tracer.Tracer, remoteTracer(call.tell))
    if (services !== liveServices) fiberRefs = set(fiberRefs, currentServices, services)
    if (parent !== undefined) context.set(Tracer.ParentSpan.key, external(parent))
    return Runtime.make({
      context: Context.unsafeMake(context),
      fiberRefs,
      runtimeFlags: Runtime.defaultRuntime.runtimeFlags,
    })
  }

  /** What names a call of the host; undefined for a call within calls. */
  #runOf(g: number): number | undefined {
    const { s } = this.#r
    return s.mem[gw(s, g) + G_WAITER] === 0 ? hintOf(g, generationOf(statusOf(s, g))) : undefined
  }

  /**
   * Tells the host. What is told before a G ends is counted in its record; a caller on a machine adds the count to its
   * own, and the host waits for all that a call of its own counts in the end.
   */
  #teller(running: Running | undefined, caller: number, run: number | undefined): InCall["tell"] {
    const { s, shared } = this.#r
    return (report: Report) => {
      const bytes = encodeReport(report, shared)
      const counts = running !== undefined && !running.over && run !== undefined
      if (counts) Atomics.add(s.mem, gw(s, running.g) + G_FLAGS, TOLD)
      this.#tell({ kind: "told", caller, run: counts ? run : 0, bytes })
    }
  }

  /** Has the log of who opened the pool told of what no call fails with. */
  stray(text: string, cause: Cause.Cause<unknown>): void {
    this.#tell({ kind: "stray", error: packStray({ text, cause }) })
  }

  /** Runs the finalizers of this machine's layers, as the last thing it does. */
  async close(): Promise<void> {
    const { ready } = this.#r
    if (!this.#layers.used) return
    let exit: Exit.Exit<unknown, unknown> | undefined
    let wake = () => {}
    this.#r.poke = () => wake()
    const fiber = Runtime.runFork(this.#runtime(undefined, this.#ofPool, new Map()), this.#layers.close, {
      scheduler: ready,
    })
    fiber.addObserver((ended) => {
      exit = Exit.flatten(ended as Exit.Exit<Exit.Exit<unknown, unknown>>)
      wake()
    })
    while (exit === undefined) {
      const asleep = new Promise<void>((resolve) => wake = resolve)
      ready.run(BATCH)
      if (ready.isEmpty && exit === undefined) await asleep
    }
    if (Exit.isFailure(exit)) {
      this.stray(`a finalizer failed of the layers ${this.#layers.names.join(", ")}`, exit.cause)
    }
  }
}

/** Continuations that are run at once while finalizers run. */
const BATCH = 1024
