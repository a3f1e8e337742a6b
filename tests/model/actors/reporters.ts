/** Machines whose Gs report how far they are, and a host that listens, without a schedule loop around them. */
import {
  allocate,
  append,
  claim,
  G_PARENT,
  G_TASK,
  G_WAITER,
  gw,
  HOST,
  HOST_FREE,
  HOST_HOME,
  HOST_WAKE,
  hostSleeps,
  makeRunnable,
  takeOne,
  wakeWord,
} from "../../../src/internal/scheduler/index.ts"
import { DEATH, EXPECTED, IN_FLIGHT, QUEUED, RAN, type Sim, type SimMachine } from "./ghosts.ts"
import { bury, drain, turn, watch } from "./host.ts"
import { started } from "./machines.ts"
import { beginLife, lookAt, makeReports } from "./progress.ts"
import { end } from "./suspended.ts"

/** Runs what the host queues. */
export function reporter(s: Sim, t: SimMachine): void {
  for (;;) {
    const queued = s.mem[s.ghosts + QUEUED]
    const hint = takeOne(s, s.gq, t.p, t.m)
    const g = hint === 0 ? 0 : claim(s, hint, t.m)
    if (hint === 0) Atomics.wait(s.mem, s.ghosts + QUEUED, queued)
    else if (g !== 0) {
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

/** Listener.listen. */
function takeOrSleep(s: Sim): void {
  if (buried(s)) return
  const seen = wakeWord(s)
  if (!drain(s) && hostSleeps(s)) Atomics.wait(s.mem, HOST_WAKE, seen)
}

/** Burials.bury, if a machine has died. */
function buried(s: Sim): boolean {
  const m = s.mem[s.ghosts + DEATH] - 1
  if (m < 0) return false
  s.mem[s.ghosts + DEATH] = 0
  bury(s, m)
  queued(s)
  return true
}
