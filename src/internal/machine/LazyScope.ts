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

  get #scope(): ScopeMethods {
    return (this.#made ??= Effect.runSync(Scope.make())) as unknown as ScopeMethods
  }

  /** Whether there may be something to finalize. */
  get used(): boolean {
    return this.#made !== undefined
  }

  fork(strategy: ExecutionStrategy.ExecutionStrategy): Effect.Effect<Scope.CloseableScope> {
    return this.#scope.fork(strategy)
  }

  addFinalizer(finalizer: Scope.Scope.Finalizer): Effect.Effect<void> {
    return this.#scope.addFinalizer(finalizer)
  }

  close(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    return this.#made === undefined ? Effect.void : Scope.close(this.#made, exit)
  }

  pipe() {
    return pipeArguments(this, arguments)
  }
}
