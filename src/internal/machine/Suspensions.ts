/**
 * The Gs of a machine that wait for its event loop: for a promise, in a fiber, for their task's module or for a shared
 * buffer. They stay on this machine, since their continuations are in its heap.
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Packed } from "../context/envelope.ts"
import { INTERRUPTED, NOT_FOUND, setOutcome, UNGUARDED } from "../codec/payload.ts"
import {
  append,
  CANCEL_EPOCH,
  G_PARENT,
  gw,
  setRunning,
  setWaiting,
  unclaim,
  wakeEach,
  wakep,
} from "../scheduler/index.ts"
import { isCancelled } from "./cancel.ts"
import { stopFiber } from "./fibers.ts"
import { Interrupted } from "./Interrupted.ts"
import type { MachineRuntime } from "./MachineRuntime.ts"
import { type Loaded, NotFound } from "./Modules.ts"
import { Running, whenChildless } from "./Running.ts"

/** No cancellation epoch: it counts up from 0, and would have to pass 2^32 to get here. */
const NEVER = -1

export class Suspensions {
  readonly #r: MachineRuntime
  readonly #waiting = new Set<Running>()
  /** Those among them that wait for shared buffers. */
  readonly #unread = new Set<Running>()
  #unreadSince = 0
  /** Whether news of buffers can be expected soon: not if they have not come when they could. */
  #expectsNews = true
  #seenEpoch = 0

  constructor(r: MachineRuntime) {
    this.#r = r
  }

  /** Gs in progress here that need the event loop. */
  get size(): number {
    return this.#waiting.size
  }

  /** A G whose function has returned a promise. */
  await(running: Running, promise: PromiseLike<unknown>): void {
    this.#suspend(running)
    Promise.resolve(promise).then(
      (value) => this.#settle(running, false, value),
      (error) => this.#settle(running, true, error),
    )
  }

  /** A G whose function has come to its end, while calls that it made have not. */
  outlive(running: Running, failed: boolean, value: unknown): void {
    this.#suspend(running)
    this.#settle(running, failed, value)
  }

  /** A G whose function has returned an Effect. */
  fork(running: Running, effect: Effect.Effect<unknown, unknown>, packed: Packed | undefined): void {
    const r = this.#r
    this.#suspend(running)
    running.fiber = r.services.fork(running, running.def, effect, packed, (exit) => {
      running.over = true
      whenChildless(running, Exit.isFailure(exit), () => {
        if (!this.#resume(running)) return
        if (Exit.isSuccess(exit)) r.succeed(running.g, exit.value)
        else r.failCause(running.g, exit.cause)
      })
    })
  }

  /** A claimed G whose task is not known here yet. */
  load(g: number, task: number): void {
    const r = this.#r
    r.loading++
    const running = this.#suspend(new Running(r, g, r.modules.placeholder(task)))
    const settle = (loaded: Loaded) => {
      r.loading--
      if (!this.#resume(running)) return r.poke()
      if (loaded instanceof NotFound) {
        const { module, reason, unguarded } = loaded
        return unguarded ? r.report(g, UNGUARDED, [module]) : r.report(g, NOT_FOUND, [module, reason])
      }
      if (r.s.mem[gw(r.s, g) + G_PARENT] === 0) r.t.roots-- // counted again by run
      setRunning(r.s, g, r.m)
      r.run(g)
    }
    r.modules.load(task).then(settle)
  }

  /**
   * A claimed G whose arguments refer to shared buffers that are not here yet. It has not started, so it is not tied to
   * this machine: once they are here, whoever is free takes it.
   */
  awaitBuffers(running: Running, ids: ReadonlyArray<number>): void {
    this.#suspend(running)
    if (this.#unread.size === 0) this.#unreadSince = performance.now()
    this.#unread.add(running)
    this.#r.shared.whenKnown(ids, () => {
      this.#expectsNews = true
      if (this.#resume(running)) this.#queueAgain(running.g)
    })
  }

  /**
   * Whether Gs wait for shared buffers of which news is expected. If none has come for `ms` it is not: the host, which
   * passes it on, has other things to do.
   */
  expectsNewsFor(ms: number): boolean {
    if (this.#unread.size === 0 || !this.#expectsNews) return false
    return this.#expectsNews = performance.now() - this.#unreadSince < ms
  }

  #queueAgain(g: number): void {
    const { m, s, t } = this.#r
    const root = s.mem[gw(s, g) + G_PARENT] === 0
    if (root) t.roots--
    setRunning(s, g, m)
    t.spill[0] = unclaim(s, g, m)
    append(s, s.bounded && root ? s.rq : s.gq, t.spill, 1, m)
    if (s.bounded) wakeEach(s)
    wakep(s)
  }

  /** Leaves a G to the event loop. */
  #suspend(running: Running): Running {
    const { s, m } = this.#r
    setWaiting(s, running.g, m)
    this.#waiting.add(running)
    // It may have been cancelled before it came here, at an epoch that was looked at already.
    if (isCancelled(s, running.g)) {
      this.#seenEpoch = NEVER
      this.#r.poke()
    }
    return running
  }

  /** False if the G was ended meanwhile. */
  #resume(running: Running): boolean {
    running.over = true
    if (!this.#waiting.delete(running)) return false
    this.#unread.delete(running)
    this.#r.poke()
    return true
  }

  /** The function of a G has come to its end. */
  #settle(running: Running, failed: boolean, value: unknown): void {
    if (running.over) return // given up
    running.over = true
    whenChildless(running, failed, () => {
      if (!this.#resume(running)) return
      if (failed) this.#r.fail(running.g, value)
      else this.#r.succeed(running.g, value)
    })
  }

  /**
   * Ends the Gs waiting here that nobody wants any more. Cheap when nothing was cancelled since the last time. Whether
   * there were any.
   */
  endCancelled(): boolean {
    if (this.#waiting.size === 0) return false
    const { s } = this.#r
    const epoch = Atomics.load(s.mem, CANCEL_EPOCH)
    if (epoch === this.#seenEpoch) return false
    this.#seenEpoch = epoch
    let some = false
    for (const running of this.#waiting) {
      if (running.stopping || !isCancelled(s, running.g)) continue
      this.#stop(running)
      some = true
    }
    return some
  }

  #stop(running: Running): void {
    running.stopping = true
    if (running.over) return this.#r.nested.cancelAll(running)
    // It ends when its finalizers have run.
    if (running.fiber !== undefined) return stopFiber(running.fiber)
    this.#r.nested.cancelAll(running)
    // Who asked for a signal is trusted to end; anything else is given up.
    if (running.controller !== undefined) return running.controller.abort(new Interrupted())
    running.over = true
    whenChildless(running, true, () => {
      if (!this.#resume(running)) return
      setOutcome(this.#r.memory, running.g, INTERRUPTED)
      this.#r.end(running.g)
    })
  }
}
