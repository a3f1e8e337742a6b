/** What must hold when everything has come to rest. */
import { GHOSTS, type Setup } from "./Model.ts"
import { BLOCKED, DEAD, FINISHED } from "./Thread.ts"
import { DELIVERED, EXPECTED, IN_FLIGHT } from "./actors/ghosts.ts"

/** Problems found, or undefined. */
export const first = (...checks: ReadonlyArray<() => string | undefined>): string | undefined => {
  for (const check of checks) {
    const problem = check()
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Every lock is free. */
export const locksFree = ({ N, s }: Setup): string | undefined => {
  const { layout, lock } = N
  const locks: ReadonlyArray<readonly [string, number]> = [
    ["of the free records", layout.SLOTS_LOCK],
    ["of the arena", layout.ARENA_LOCK],
    ["of the task names", layout.TASKS_LOCK],
    ["of the global queue", s.gq + layout.Q_LOCK],
    ...(s.bounded ? [["of the roots", s.rq + layout.Q_LOCK] as const] : []),
  ]
  const held = locks.find(([, at]) => lock.holder(s, at) !== -1)
  return held && `the lock ${held[0]} is held by ${lock.holder(s, held[1])}`
}

/** The free lists hold each free record exactly once, their counts are right, and no other record is in them. */
export const recordsAddUp = ({ N, s }: Setup): string | undefined => {
  const { layout, slots, status } = N
  const lists: ReadonlyArray<readonly [string, number]> = [
    ["the central list", layout.SLOTS_FREE],
    ["the host's list", layout.HOST_FREE],
    ...Array.from({ length: s.procs }, (_, p) => [`the list of P${p}`, slots.listOf(p)] as const),
  ]
  const where = new Map<number, string>()
  for (const [name, list] of lists) {
    let length = 0
    for (let g = s.mem[list]; g !== 0; g = s.mem[layout.gw(s, g) + layout.G_NEXT]) {
      if (where.has(g)) return `G${g} is in ${name} and in ${where.get(g)}`
      if (status.stateOf(status.statusOf(s, g)) !== status.FREE) return `G${g} is in ${name} and not free`
      where.set(g, name)
      length++
    }
    if (length !== s.mem[list + 1]) return `${name} holds ${length} records and counts ${s.mem[list + 1]}`
  }
  const used = Math.min(s.capacity, s.mem[layout.SLOTS_FRESH] - 1)
  for (let g = 1; g <= used; g++) {
    if (status.stateOf(status.statusOf(s, g)) === status.FREE && !where.has(g)) return `G${g} is free and in no list`
  }
  return undefined
}

/** No G is left that should have ended. */
export const nothingLeft = ({ N, ghosts, s }: Setup): string | undefined => {
  const { layout, status } = N
  const left = s.mem[ghosts + IN_FLIGHT]
  const states = []
  for (let g = 1; g < s.mem[layout.SLOTS_FRESH]; g++) {
    const state = status.stateOf(status.statusOf(s, g))
    if (state !== status.FREE) states.push(`G${g} is ${["", "RUNNABLE", "RUNNING", "", "WAITING", "", "DONE"][state]}`)
    if (s.mem[ghosts + EXPECTED + g] !== 0) states.push(`the host waits for G${g}`)
  }
  return left === 0 && states.length === 0 ? undefined : `everything rests, and ${states.join(", ")}`
}

/** All calls were delivered. */
export const delivered = (calls: number) => ({ ghosts, s }: Setup): string | undefined => {
  const n = s.mem[ghosts + DELIVERED]
  return n === calls ? undefined : `${n} of ${calls} calls were delivered`
}

/** Machines that sleep have announced it, nobody spins, and nobody is announced that does not sleep. */
export const bitsRight = (machineOf: ReadonlyArray<number | undefined>) => (setup: Setup): string | undefined => {
  const { N, s, world } = setup
  const { layout } = N
  const spin = s.mem[layout.SPIN_BITS]
  if (spin !== 0) return `all rest, and the spinning bits are 0b${spin.toString(2)}`
  const idle = s.mem[layout.IDLE_BITS]
  for (let p = 0; p < s.procs; p++) {
    const announced = (idle & (1 << (p + layout.FIRST_BIT))) !== 0
    const park = layout.mw(s, p) + layout.M_PARK
    const asleep = world.threads.some((thread, i) =>
      thread.state === BLOCKED && thread.at === park && (machineOf[i] === p || machineOf[i] === undefined)
    )
    if (asleep && !announced) return `machine ${p} sleeps and its idle bit is not set: nobody can wake it`
    if (!asleep && announced) return `machine ${p} does not sleep and its idle bit is set`
  }
  return undefined
}

/** Words in used blocks of the arena, and that its books agree. */
export const arenaAddsUp = (wanted: number) => ({ N, s }: Setup): string | undefined => {
  const { arena, layout } = N
  const blocks: ReadonlyArray<{ readonly words: number }> = arena.usedBlocks(s)
  const words = blocks.reduce((sum, block) => sum + block.words, 0)
  if (words !== s.mem[layout.ARENA_USED]) {
    return `the arena has ${words} words in use and counts ${s.mem[layout.ARENA_USED]}`
  }
  if (words !== wanted) return `the arena has ${words} words in use instead of ${wanted}`
  let free = 0
  for (let order = 0; order < 32; order++) {
    for (let block = s.mem[layout.ARENA_FREE + order]; block !== 0; block = s.mem[block + 1]) free += 1 << order
    if (order > 20) break
  }
  return free + words === s.arenaWords ? undefined : `the arena has ${s.arenaWords - free - words} words in no list`
}

/** No thread waits for anything but new work. */
export const nobodyStuck = ({ N, ghosts, s, world }: Setup): string | undefined => {
  const parks = Array.from({ length: s.procs }, (_, m) => N.layout.mw(s, m) + N.layout.M_PARK)
  const fine = new Set([...parks, ghosts + GHOSTS.death, ghosts + GHOSTS.replace])
  const stuck = world.threads.findIndex((thread) =>
    thread.state !== FINISHED && thread.state !== DEAD && !fine.has(thread.at) &&
    // With nothing but orphans left it is their end that it waits for; `nothingLeft` finds those that have ended.
    (thread.at !== N.layout.HOST_WAKE || s.mem[ghosts + IN_FLIGHT] > 0)
  )
  return stuck < 0 ? undefined : `thread ${stuck} waits for word ${world.threads[stuck].at} for ever`
}

/** All checks that hold for a pool at rest. */
export const atRest =
  (machineOf: ReadonlyArray<number | undefined>, ...more: ReadonlyArray<(setup: Setup) => string | undefined>) =>
  (setup: Setup): string | undefined =>
    first(
      () => locksFree(setup),
      () => nothingLeft(setup),
      () => nobodyStuck(setup),
      () => recordsAddUp(setup),
      () => bitsRight(machineOf)(setup),
      ...more.map((check) => () => check(setup)),
    )
