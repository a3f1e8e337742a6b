/** The scope of a G: few use theirs, so it is made when something is added to it. */
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import type * as Exit from "effect/Exit"
import { pipeArguments } from "effect/Pipeable"
import * as Scope from "effect/Scope"

/** What Effect calls on a scope, and hides in its types. */
interface ScopeMethods extends Scope.Scope {
  readonly fork: (strategy: ExecutionStrategy.ExecutionStrategy) => Effect.Effect<Scope.CloseableScope>
  readonly addFinalizer: (finalizer: Scope.Scope.Finalizer) => Effect.Effect<void>
}

export class LazyScope implements ScopeMethods {
  readonly [Scope.ScopeTypeId]: Scope.ScopeTypeId = Scope.ScopeTypeId
  readonly strategy: ExecutionStrategy.ExecutionStrategy = ExecutionStrategy.sequential
  #made: Scope.CloseableScope | undefined
  /** What it was closed with when nothing had been added. What is added later is finalized at once. */
  #ended: Exit.Exit<unknown, unknown> | undefined

  get #scope(): ScopeMethods {
    return (this.#made ??= this.#make()) as unknown as ScopeMethods
  }

  #make(): Scope.CloseableScope {
    const made = Effect.runSync(Scope.make())
    if (this.#ended !== undefined) Effect.runSync(Scope.close(made, this.#ended))
    return made
  }

  /** Closes it, unless something was added: then {@link close} must. */
  endUnused(exit: Exit.Exit<unknown, unknown>): boolean {
    if (this.#made !== undefined) return false
    this.#ended = exit
    return true
  }

  fork(strategy: ExecutionStrategy.ExecutionStrategy): Effect.Effect<Scope.CloseableScope> {
    return this.#scope.fork(strategy)
  }

  addFinalizer(finalizer: Scope.Scope.Finalizer): Effect.Effect<void> {
    return this.#scope.addFinalizer(finalizer)
  }

  /** Closes it when it is not unused. */
  close(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    return Scope.close(this.#made!, exit)
  }

  pipe() {
    return pipeArguments(this, arguments)
  }
}
