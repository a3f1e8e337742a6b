/**
 * A machine's life: look for a G, run it, look again; turn the event loop where something pends on it; sleep when
 * there is nothing to do.
 */
import {
  findRunnable,
  leaveIdle,
  M_PARK,
  mw,
  NOTHING,
  parkBlocking,
  pollRunnable,
  STATE,
  STOP,
  stopLooking,
  STOPPING,
} from "../scheduler/index.ts"
import type { MachineRuntime } from "./MachineRuntime.ts"

/** Looks at the clock once in so many Gs. A prime, so that it does not fall in step with the work (Go). */
const TURN_TICKS = 61
/** Longest time in ms between two turns of the event loop, so that what tasks left on it gets its chance. */
const TURN_MS = 10
/** Continuations of fibers between two looks at the clock. */
const READY_BATCH = 16
/**
 * Steps of the promises' queue that an async function whose calls have ended gets before the next G: from the last of
 * several calls, each made by an async function, to what their caller does next are three.
 */
const PROMISE_HOPS = 3
/** Longest sleep in ms of a machine with nothing on its event loop that we know of. Then it turns it once. */
const PARK_MS = 250
/** Longest sleep in ms of a machine whose event loop goes on meanwhile. */
const ASYNC_PARK_MS = 5000

/** One turn of the event loop: what is ready there runs. */
const turn: () => Promise<void> = typeof setImmediate === "function"
  ? () => new Promise((resolve) => setImmediate(resolve))
  : () => new Promise((resolve) => setTimeout(resolve, 0))

/** Runs until the pool stops. */
export const runLoop = async (r: MachineRuntime): Promise<void> => {
  const { m, p, s, t } = r
  const sleep = makeAsyncSleep(r)
  let ticks = 0
  let turned = performance.now()
  for (;;) {
    // Before it looks at anything: who tells it of news afterwards sets the word again.
    if (r.loading > 0) Atomics.store(s.mem, mw(s, m) + M_PARK, 0)
    const arrived = r.nested.collect()
    r.suspensions.endCancelled()
    // Others rely on one that looks for work; this one has something else to do first.
    if (arrived || !r.ready.isEmpty) stopLooking(s, t)
    if (arrived) { for (let i = 0; i < PROMISE_HOPS; i++) await undefined }
    if (!r.ready.run(READY_BATCH)) {
      if (performance.now() - turned < TURN_MS) continue
      await turn()
      turned = performance.now()
      continue
    }
    // The one may lead to the other: whatever of either is left must keep the machine from sleeping.
    const busy = !r.ready.isEmpty || r.nested.hasArrived
    if (r.loading > 0) {
      // What it would take now would most likely wait for the same module, while other machines could run it.
      if (Atomics.load(s.mem, STATE) === STOPPING) return
      await (busy ? turn() : sleep())
      continue
    }
    // Most likely the messages that tell of the buffers are here, and the Gs can run. What it took first could be long.
    if (r.suspensions.expectsNewsFor(TURN_MS)) {
      await turn()
      turned = performance.now()
      continue
    }
    const g = busy ? pollRunnable(s, t) : findRunnable(s, t)
    if (g === STOP) return
    if (g !== NOTHING) {
      r.run(g)
      // Continuations of promises come between Gs as well, without a turn of the event loop.
      if (r.suspensions.size > 0) await undefined
      if (++ticks < TURN_TICKS && (r.suspensions.size === 0 || performance.now() - turned < TURN_MS)) continue
      ticks = 0
      if (r.suspensions.size === 0 && performance.now() - turned < TURN_MS) continue
      await turn()
    } else if (busy) {
      if (++ticks < TURN_TICKS && performance.now() - turned < TURN_MS) continue
      ticks = 0
      await turn()
    } else if (r.suspensions.size === 0) {
      parkBlocking(s, p, m, PARK_MS)
      leaveIdle(s, t)
      if (performance.now() - turned < PARK_MS) continue
      await turn()
    } else {
      await sleep()
      leaveIdle(s, t)
    }
    turned = performance.now()
  }
}

/**
 * Sleeps without blocking the event loop, until `unpark`, or until something happened on the event loop that the loop
 * should look at. One wait at a time is enough for both: one that is still under way serves the next sleep too.
 */
const makeAsyncSleep = (r: MachineRuntime): () => Promise<void> => {
  const word = mw(r.s, r.m) + M_PARK
  let wake = () => {}
  let waiting = false
  const awake = () => {
    waiting = false
    wake()
  }
  return () =>
    new Promise<void>((resolve) => {
      wake = resolve
      r.poke = resolve
      if (waiting && Atomics.load(r.s.mem, word) === 0) return
      const wait = Atomics.waitAsync(r.s.mem, word, 0, ASYNC_PARK_MS)
      if (!wait.async) return resolve()
      waiting = true
      wait.value.then(awake)
    })
}
