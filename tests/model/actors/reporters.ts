/** Machines whose Gs report how far they are, and a host that listens, without a schedule loop around them. */
import {
  allocate,
  append,
  claim,
  DONE,
  doneTail,
  finish,
  G_PARENT,
  G_TASK,
  G_WAITER,
  gw,
  HOST,
  HOST_FREE,
  HOST_HOME,
  HOST_WAKE,
  hostSleeps,
  LOST,
  makeRunnable,
  nextOf,
  release,
  stateOf,
  statusOf,
  sweep,
  takeDone,
  takeOne,
  takeStack,
  wakeWord,
} from "../../../src/internal/scheduler/index.ts"
import { DEATH, EXPECTED, IN_FLIGHT, MODEL, promise, QUEUED, RAN, type Sim, type SimMachine } from "./ghosts.ts"
import { watch } from "./host.ts"
import { started } from "./machines.ts"
import { beginLife, endLife, lookAt, makeReports } from "./progress.ts"
import { end } from "./suspended.ts"

/** Runs what the host queues. */
export function reporter(s: Sim, t: SimMachine): void {
  for (;;) {
    const queued = s.mem[s.ghosts + QUEUED]
    const hint = takeOne(s, s.gq, t.p, t.m)
    if (hint === 0) Atomics.wait(s.mem, s.ghosts + QUEUED, queued)
    else if (claim(s, hint, t.m) !== 0) {
      const g = hint & 0x3fffff
      started(s, g)
      makeReports(s, g, Math.abs(s.mem[gw(s, g) + G_TASK]))
      end(s, t, g)
    }
  }
}

/**
 * The host submits batches of calls, looks how far they are, and submits the next when they have ended. A call is the
 * number of its reports, below 0 if nobody listens.
 */
export function listener(s: Sim, batches: ReadonlyArray<ReadonlyArray<number>>, looks: number): void {
  for (const batch of batches) {
    const hints: Array<number> = []
    for (const task of batch) hints.push(prepare(s, task))
    while (!append(s, s.gq, Int32Array.from(hints), hints.length, HOST)) {
      if (!buried(s)) turn(s)
    }
    queued(s)
    for (let i = 0; i < looks; i++) {
      for (let g = 1; g <= s.capacity; g++) lookAt(s, g)
      turn(s)
    }
    while (s.mem[s.ghosts + IN_FLIGHT] > 0) takeOrSleep(s)
  }
  watch(s)
}

/** The host's turn is over; others may come first. */
function turn(s: Sim): void {
  Atomics.wait(s.mem, s.ghosts + MODEL, -1)
}

function queued(s: Sim): void {
  s.mem[s.ghosts + QUEUED]++
  Atomics.notify(s.mem, s.ghosts + QUEUED)
}

/** HostPool.#put and Deliveries.expect. */
function prepare(s: Sim, task: number): number {
  const g = allocate(s, HOST_FREE, HOST_HOME, HOST)
  const G = gw(s, g)
  s.mem[G + G_TASK] = task
  s.mem[G + G_PARENT] = 0
  s.mem[G + G_WAITER] = 0
  s.mem[s.ghosts + EXPECTED + g] = 1
  s.mem[s.ghosts + RAN + g] = 0
  s.mem[s.ghosts + IN_FLIGHT]++
  beginLife(s, g, task > 0)
  return makeRunnable(s, g)
}

/** Deliveries.listen. */
function takeOrSleep(s: Sim): void {
  if (buried(s)) return
  const seen = wakeWord(s)
  if (!take(s) && hostSleeps(s)) Atomics.wait(s.mem, HOST_WAKE, seen)
}

/** Deliveries.drain. */
function take(s: Sim): boolean {
  let some = false
  const taken = new Int32Array(1)
  const flags = new Int32Array(1)
  for (let m = 0; m < s.machines; m++) {
    const tail = doneTail(s, m)
    while (takeDone(s, m, tail, taken, flags) > 0) {
      deliver(s, taken[0])
      some = true
    }
  }
  for (let g = takeStack(s); g !== 0;) {
    const next = nextOf(s, g)
    deliver(s, g)
    g = next
    some = true
  }
  return some
}

function deliver(s: Sim, g: number): void {
  if (s.mem[s.ghosts + EXPECTED + g] === 0) return
  promise(stateOf(statusOf(s, g)) === DONE, `G${g} was delivered before it was done`)
  endLife(s, g)
  s.mem[s.ghosts + EXPECTED + g] = 0
  s.mem[s.ghosts + IN_FLIGHT]--
  release(s, HOST_FREE, HOST_HOME, g, HOST)
}

/** Burials.bury, if a machine has died. */
function buried(s: Sim): boolean {
  const m = s.mem[s.ghosts + DEATH] - 1
  if (m < 0) return false
  s.mem[s.ghosts + DEATH] = 0
  for (;;) {
    take(s)
    const remains = sweep(s, m, m)
    if (remains !== undefined) {
      for (const g of remains.running) {
        if (finish(s, g, m) !== LOST) deliver(s, g)
      }
      for (const g of remains.done) deliver(s, g)
      queued(s)
      return true
    }
    turn(s)
  }
}
