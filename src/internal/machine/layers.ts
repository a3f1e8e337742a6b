/**
 * Layers of a machine: each is built once, when a task first needs it, and lives until the machine ends.
 *
 * Effect's own memo map keeps what failed. This one forgets it, so that the next call tries again; and it builds in
 * fibers of its own, so that nobody's interruption is another's.
 */
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import type * as FiberRefsPatch from "effect/FiberRefsPatch"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { MachineLayer } from "../../Services.ts"

type AnyLayer = Layer.Layer<never, unknown, unknown>

/** What a layer has built: changes of fiber refs, and services. */
type Built = readonly [FiberRefsPatch.FiberRefsPatch, Context.Context<never>]

/** What `Layer` calls on a memo map, and hides in its types. */
interface MemoMap extends Layer.MemoMap {
  readonly getOrElseMemoize: (layer: AnyLayer, scope: Scope.Scope) => Effect.Effect<Context.Context<never>, unknown>
}

type Fork = (build: Effect.Effect<unknown>, scope: Scope.Scope) => Effect.Effect<unknown>

const isFresh = (layer: AnyLayer): boolean => (layer as unknown as { readonly _op_layer: string })._op_layer === "Fresh"

export class Layers {
  readonly #building = new Map<AnyLayer, Deferred.Deferred<Built, unknown>>()
  readonly #names = new Set<string>()
  #scope: Scope.CloseableScope | undefined
  readonly #memo: MemoMap = {
    [Layer.MemoMapTypeId]: Layer.MemoMapTypeId,
    getOrElseMemoize: (layer, scope) =>
      isFresh(layer)
        ? Layer.buildWithMemoMap(layer, this.#memo, scope) as Effect.Effect<Context.Context<never>, unknown>
        : Effect.flatMap(this.#get(layer, (build, scope) => Effect.forkIn(build, scope)), applied),
  }
  readonly #fork: (effect: Effect.Effect<unknown>, scope: Scope.Scope) => void

  /** `fork` runs what is built for the machine, not for the call that happens to be the first. */
  constructor(fork: (effect: Effect.Effect<unknown>, scope: Scope.Scope) => void) {
    this.#fork = fork
  }

  /** Runs an Effect with the services of a layer, and with the changes that it makes to fiber refs. */
  provide<A, E>(
    { layer, name }: MachineLayer<never, unknown>,
    effect: Effect.Effect<A, E>,
  ): Effect.Effect<A, unknown> {
    this.#names.add(name)
    return Effect.flatMap(
      Effect.flatMap(this.#get(layer, (build, scope) => Effect.sync(() => this.#fork(build, scope))), applied),
      (services) => Effect.provide(effect, services),
    )
  }

  #get(layer: AnyLayer, fork: Fork): Effect.Effect<Built, unknown> {
    return Effect.suspend(() => {
      const known = this.#building.get(layer)
      if (known !== undefined) return Deferred.await(known)
      const built = Deferred.unsafeMake<Built, unknown>(FiberId.none)
      this.#building.set(layer, built)
      return Effect.zipRight(this.#build(layer, built, fork), Deferred.await(built))
    })
  }

  /** Begins to build a layer. */
  #build(layer: AnyLayer, built: Deferred.Deferred<Built, unknown>, fork: Fork): Effect.Effect<unknown> {
    const scope = this.#scope ??= Effect.runSync(Scope.make())
    return Effect.uninterruptible(Effect.gen(this, function* () {
      const own = yield* Scope.fork(scope, ExecutionStrategy.sequential)
      const leaf = (yield* Layer.makeMemoMap) as MemoMap
      const memo: MemoMap = {
        [Layer.MemoMapTypeId]: Layer.MemoMapTypeId,
        // A layer that is not made of others asks for itself.
        getOrElseMemoize: (other, scope) => (other === layer ? leaf : this.#memo).getOrElseMemoize(other, scope),
      }
      const build = Layer.buildWithMemoMap(layer, memo, own).pipe(
        Effect.diffFiberRefs,
        Effect.interruptible,
        Effect.onExit((exit) => {
          if (Exit.isSuccess(exit)) return Effect.void
          this.#building.delete(layer)
          return Scope.close(own, exit)
        }),
        Effect.intoDeferred(built),
      )
      yield* fork(build as Effect.Effect<unknown>, scope)
    }))
  }

  /** Names of the layers that tasks have asked for. */
  get names(): ReadonlyArray<string> {
    return [...this.#names]
  }

  /** Whether there may be anything to finalize. */
  get used(): boolean {
    return this.#scope !== undefined
  }

  /** Stops what is being built and runs the finalizers, those of the layer that was built last first. */
  get close(): Effect.Effect<Exit.Exit<void, never>> {
    return this.#scope === undefined ? Effect.succeed(Exit.void) : Effect.exit(Scope.close(this.#scope, Exit.void))
  }
}

/** Applies the changes of fiber refs. */
const applied = ([patch, services]: Built): Effect.Effect<Context.Context<never>> =>
  Effect.as(Effect.patchFiberRefs(patch), services)
