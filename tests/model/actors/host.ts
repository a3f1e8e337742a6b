/**
 * What the host does, in the composition of HostPool.ts, Deliveries.ts and Burials.ts, without values and promises. Kept close to
 * them, like machines.ts.
 */
import {
  adoptBlock,
  allocate,
  announceCancel,
  append,
  cancelQueued,
  CLOSING,
  DONE,
  doneTail,
  ENDED_WAKE,
  finish,
  FLAG_MAIL,
  FREE,
  freeBlock,
  G_BLOCK,
  G_FLAGS,
  G_PARENT,
  G_TASK,
  G_WAITER,
  generationOf,
  gw,
  hintOf,
  HOST,
  HOST_FREE,
  HOST_HOME,
  HOST_WAKE,
  hostSleeps,
  LOST,
  makeRunnable,
  nextOf,
  post,
  release,
  requestCancel,
  RUNNABLE,
  STATE,
  stateOf,
  statusOf,
  STOPPING,
  sweep,
  takeDone,
  takeStack,
  unpark,
  wakeAll,
  wakeEach,
  wakep,
  wakeWord,
  wantSlots,
} from "../../../src/internal/scheduler/index.ts"
import {
  CANCELLED,
  DEATH,
  DELIVERED,
  EXPECTED,
  FAILED,
  IN_FLIGHT,
  MODEL,
  ORPHANS,
  promise,
  RAN,
  REPLACE,
  type Sim,
  STARTED,
  UNFREED,
} from "./ghosts.ts"
import { endLife } from "./progress.ts"

/** The host's turn is over; others may come first. */
export function turn(s: Sim): void {
  Atomics.wait(s.mem, s.ghosts + MODEL, -1)
}

/** Submits calls one after the other, each task in a batch of its own, and then waits for what comes. */
export function submitEach(s: Sim, tasks: ReadonlyArray<number>): void {
  for (const task of tasks) submit(s, [task])
  listen(s)
}

/** Submits calls in one batch, and then waits for what comes. */
export function submitAll(s: Sim, tasks: ReadonlyArray<number>): void {
  submit(s, tasks)
  listen(s)
}

/** The host has nothing to do but to sweep up after deaths. */
export function watch(s: Sim): void {
  listen(s)
}

/** Submits, cancels everything, and waits. */
export function submitAndCancel(s: Sim, tasks: ReadonlyArray<number>): void {
  submit(s, tasks)
  cancelAll(s)
  listen(s)
}

/** Submits, cancels everything once two Gs have been started, and waits. */
export function cancelStarted(s: Sim, tasks: ReadonlyArray<number>): void {
  submit(s, tasks)
  while (s.mem[s.ghosts + STARTED] < 2 && s.mem[s.ghosts + DEATH] === 0) turn(s)
  cancelAll(s)
  listen(s)
}

/** Submits and closes: HostPool.close without the grace. */
export function submitAndClose(s: Sim, tasks: ReadonlyArray<number>): void {
  submit(s, tasks)
  Atomics.store(s.mem, STATE, CLOSING)
  cancelAll(s)
  while (s.mem[s.ghosts + IN_FLIGHT] > 0) deliverOnce(s)
  Atomics.store(s.mem, STATE, STOPPING)
  wakeAll(s)
}

/** HostPool.#pump, #put and #flush: waits for records where there are none. */
function submit(s: Sim, tasks: ReadonlyArray<number>): void {
  const batch: Array<number> = []
  for (const task of tasks) {
    let g = 0
    while (g === 0) {
      g = allocate(s, HOST_FREE, HOST_HOME, HOST)
      if (g === 0) {
        wantSlots(s)
        g = allocate(s, HOST_FREE, HOST_HOME, HOST)
        if (g === 0) {
          flush(s, batch)
          batch.length = 0
          later(s)
        }
      }
    }
    const G = gw(s, g)
    s.mem[G + G_TASK] = task
    s.mem[G + G_PARENT] = 0
    s.mem[G + G_WAITER] = 0
    promise(s.mem[s.ghosts + EXPECTED + g] === 0, `the record of G${g} was given out while the host waits for it`)
    s.mem[s.ghosts + EXPECTED + g] = 1
    s.mem[s.ghosts + RAN + g] = 0
    s.mem[s.ghosts + IN_FLIGHT]++
    batch.push(makeRunnable(s, g))
  }
  flush(s, batch)
}

/** HostPool.#tryLater: a timer, before which the loop goes on. */
function later(s: Sim): void {
  turn(s)
  drain(s)
}

function flush(s: Sim, batch: ReadonlyArray<number>): void {
  if (batch.length === 0) return
  while (!append(s, s.bounded ? s.rq : s.gq, Int32Array.from(batch), batch.length, HOST)) later(s)
  if (s.bounded) wakeEach(s)
  wakep(s)
}

/** Listener.listen, for ever: with nothing outstanding it waits for a death only. */
function listen(s: Sim): void {
  for (;;) deliverOnce(s)
}

/** One round of Listener.listen, and the events that reach the host's loop. */
function deliverOnce(s: Sim): void {
  const died = s.mem[s.ghosts + DEATH]
  if (died !== 0) {
    s.mem[s.ghosts + DEATH] = 0
    bury(s, died - 1)
    s.mem[s.ghosts + REPLACE] = died
    Atomics.notify(s.mem, s.ghosts + REPLACE)
    return
  }
  const seen = wakeWord(s)
  if (drain(s)) return
  endOrphans(s) // a timer, which here comes at every end of an orphan
  if (s.mem[s.ghosts + IN_FLIGHT] === 0 && !anyOrphan(s)) {
    Atomics.wait(s.mem, s.ghosts + DEATH, 0)
    return
  }
  if (!hostSleeps(s)) return
  Atomics.wait(s.mem, HOST_WAKE, seen)
}

/** Deliveries.drain. True if something was delivered: then the pool looks whether it can submit. */
export function drain(s: Sim): boolean {
  let some = false
  const taken = new Int32Array(3)
  const flags = new Int32Array(3)
  for (let m = 0; m < s.machines; m++) {
    const tail = doneTail(s, m)
    for (;;) {
      const n = takeDone(s, m, tail, taken, flags)
      if (n === 0) break
      for (let i = 0; i < n; i++) deliver(s, taken[i])
      some = true
    }
  }
  for (let g = takeStack(s); g !== 0;) {
    const next = nextOf(s, g)
    deliver(s, g)
    g = next
    some = true
  }
  for (let g = 1; g <= s.capacity; g++) {
    const block = s.mem[s.ghosts + UNFREED + g]
    if (block !== 0 && freeBlock(s, block, HOST)) s.mem[s.ghosts + UNFREED + g] = 0
  }
  return some
}

/** Burials.#endOrphans. True if there are some left. */
function endOrphans(s: Sim): boolean {
  let left = false
  for (let g = 1; g <= s.capacity; g++) {
    if (s.mem[s.ghosts + ORPHANS + g] !== 0) {
      if (discard(s, g)) s.mem[s.ghosts + ORPHANS + g] = 0
      else left = true
    }
  }
  return left
}

function anyOrphan(s: Sim): boolean {
  for (let g = 1; g <= s.capacity; g++) {
    if (s.mem[s.ghosts + ORPHANS + g] !== 0) return true
  }
  return false
}

/** Deliveries.deliver and #settle. */
function deliver(s: Sim, g: number): void {
  if (s.mem[s.ghosts + EXPECTED + g] === 0) return
  promise(stateOf(statusOf(s, g)) === DONE, `G${g} was delivered before it was done`)
  freePayload(s, g)
  s.mem[s.ghosts + DELIVERED]++
  forget(s, g)
}

/** Deliveries.freePayload. */
function freePayload(s: Sim, g: number): void {
  const G = gw(s, g)
  const block = s.mem[G + G_BLOCK]
  if (block === 0) return
  adoptBlock(s, block, HOST)
  Atomics.store(s.mem, G + G_BLOCK, 0)
  if (!freeBlock(s, block, HOST)) s.mem[s.ghosts + UNFREED + g] = block
}

/** Deliveries.#forget. */
function forget(s: Sim, g: number): void {
  endLife(s, g)
  s.mem[s.ghosts + EXPECTED + g] = 0
  s.mem[s.ghosts + IN_FLIGHT]--
  release(s, HOST_FREE, HOST_HOME, g, HOST)
}

/** HostPool.cancel: Deliveries.stop and #wakeForCancel. */
function cancelAll(s: Sim): void {
  for (let g = 1; g <= s.capacity; g++) {
    if (s.mem[s.ghosts + EXPECTED + g] === 0) continue
    if (!cancelQueued(s, g, generationOf(statusOf(s, g)))) continue
    promise(s.mem[s.ghosts + RAN + g] === 0, `G${g} was cancelled as not started, and had started`)
    s.mem[s.ghosts + CANCELLED]++
    freePayload(s, g)
    forget(s, g)
  }
  let running = false
  for (let g = 1; g <= s.capacity; g++) {
    if (s.mem[s.ghosts + EXPECTED + g] === 0) continue
    requestCancel(s, g)
    running = true
  }
  if (!running) return
  announceCancel(s)
  wakeAll(s)
}

/** Burials.bury. */
export function bury(s: Sim, m: number): void {
  for (;;) {
    drain(s)
    const remains = sweep(s, m, m)
    if (remains !== undefined) {
      for (const g of remains.running) fail(s, g, m)
      for (const g of remains.done) {
        if (s.mem[s.ghosts + EXPECTED + g] !== 0) deliver(s, g)
        else postAgain(s, g, m)
      }
      for (const g of remains.orphans) s.mem[s.ghosts + ORPHANS + g] = 1
      if (endOrphans(s)) announceCancel(s)
      wakeAll(s)
      return
    }
    turn(s)
  }
}

/** Burials.#fail. */
function fail(s: Sim, g: number, m: number): void {
  const waiter = s.mem[gw(s, g) + G_WAITER]
  freePayload(s, g)
  const ended = finish(s, g, m)
  if (ended === LOST) return
  if (waiter === 0) {
    s.mem[s.ghosts + FAILED]++
    deliver(s, g)
  } else if (ended === ENDED_WAKE && waiter !== m + 1) {
    unpark(s, waiter - 1)
  } else {
    postAgain(s, g, m)
  }
}

/** Burials.#post. */
function postAgain(s: Sim, g: number, dead: number): void {
  const waiter = s.mem[gw(s, g) + G_WAITER]
  if (waiter === 0 || waiter === dead + 1 || (s.mem[gw(s, g) + G_FLAGS] & FLAG_MAIL) === 0) return
  post(s, waiter - 1, hintOf(g, generationOf(statusOf(s, g))))
}

/** Burials.#discard. */
function discard(s: Sim, g: number): boolean {
  const status = statusOf(s, g)
  const state = stateOf(status)
  if (state === FREE) return true
  if (state === DONE || (state === RUNNABLE && cancelQueued(s, g, generationOf(status)))) {
    freePayload(s, g)
    release(s, HOST_FREE, HOST_HOME, g, HOST)
    return true
  }
  requestCancel(s, g)
  return false
}
