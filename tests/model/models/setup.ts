/** What models have in common. */
import { EXPECTED, IN_FLIGHT, RAN, STRICT } from "../actors/ghosts.ts"
import type { Actor, Setup } from "../Model.ts"

/** A machine that runs the schedule loop. */
export const machine = (setup: Setup, m: number): Actor => part(setup, m, "machines.runMachine")

/** A machine that only uses a part of the scheduler. */
export const part = (setup: Setup, m: number, run: string, ...args: ReadonlyArray<unknown>): Actor => ({
  name: `M${m}`,
  run,
  args: [setup.s, setup.machine(m), ...args],
  machine: m,
})

/** The machine that takes a dead one's place. */
export const replacement = (setup: Setup): Actor => ({
  name: "M'",
  run: "machines.runReplacement",
  args: [setup.s, Array.from({ length: setup.s.procs }, (_, m) => setup.machine(m))],
})

/** The host, which does nothing but to take what arrives and to sweep up. */
export const watcher = (setup: Setup): Actor => ({ name: "host", run: "host.watch", args: [setup.s] })

/** Makes runnable Gs that the host waits for, and returns their hints. They stand in no queue. */
export const calls = ({ N, ghosts, s }: Setup, n: number): Array<number> => {
  const { layout, slots, status } = N
  return Array.from({ length: n }, () => {
    const g = slots.allocate(s, layout.HOST_FREE, slots.HOST_HOME, layout.HOST)
    s.mem[layout.gw(s, g) + layout.G_PARENT] = 0
    s.mem[layout.gw(s, g) + layout.G_WAITER] = 0
    s.mem[ghosts + EXPECTED + g] = 1
    s.mem[ghosts + IN_FLIGHT]++
    return status.makeRunnable(s, g)
  })
}

/** Puts hints into the global queue. */
export const queued = ({ N, s }: Setup, hints: ReadonlyArray<number>): void => {
  N.globalq.append(s, s.gq, Int32Array.from(hints), hints.length, N.layout.HOST)
}

/** Nobody dies in this model, so what is taken twice is wrong. */
export const strict = ({ ghosts, s }: Setup): void => {
  s.mem[ghosts + STRICT] = 1
}

/** Every G was started once, or waits in a queue where it can be found. */
export const accountedFor = ({ N, ghosts, s, world }: Setup): string | undefined => {
  const { layout, runq, status } = N
  const found = new Set<number>()
  const add = (hint: number): void => {
    if (hint !== 0 && status.isLive(s, hint)) found.add(status.indexOf(hint))
  }
  for (const q of s.bounded ? [s.gq, s.rq] : [s.gq]) {
    const head = s.mem[q + layout.Q_HEAD]
    if (N.globalq.sizeOf(s, q) > s.queueMask + 1) return "the head of a queue passed its tail"
    for (let i = 0; i < N.globalq.sizeOf(s, q); i++) add(s.mem[q + layout.Q_SLOTS + ((head + i) & s.queueMask)])
  }
  for (let p = 0; p < s.procs; p++) {
    const P = layout.pw(p)
    add(s.mem[P + layout.P_NEXT])
    for (let i = 0; i < runq.length(s, p); i++) {
      add(s.mem[P + layout.P_RING + ((s.mem[P + layout.P_HEAD] + i) & (layout.RING - 1))])
    }
  }
  for (let g = 1; g < s.mem[layout.SLOTS_FRESH]; g++) {
    const word = status.statusOf(s, g)
    const state = status.stateOf(word)
    const dead = state === status.RUNNING && world.threads.length > 0 && s.mem[ghosts + RAN + g] === 0
    if (dead) return `G${g} is running and was not started`
    if (state === status.RUNNABLE && !found.has(g)) return `G${g} is runnable and in no queue`
  }
  return undefined
}
