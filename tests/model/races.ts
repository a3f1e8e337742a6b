/**
 * Which plain accesses race: two accesses of different threads to one word, one of them a write, one of them plain, and
 * no chain of atomic operations that puts one before the other. In JavaScript's memory model only those can see
 * something else than an interleaving would show; everything else is sequentially consistent.
 *
 * Vector clocks: an atomic operation takes over the clock that the last atomic write of its word left there.
 */
import type { Run } from "./explore.ts"
import { wordName } from "./names.ts"
import { Op, opNames } from "./ops.ts"

/** One end of a race. */
export interface Access {
  readonly thread: string
  readonly op: string
  readonly place: string
}

type Clock = ReadonlyArray<number>

interface Seen {
  /** By thread: its clock at its last access of a kind, and where that was. */
  readonly at: Array<number>
  readonly by: Array<Access | undefined>
  readonly plain: Array<boolean>
}

const join = (a: Clock, b: Clock): Clock => a.map((x, i) => Math.max(x, b[i]))

const isWrite = (op: number): boolean => op === Op.write || (op >= Op.store && op <= Op.compareExchange)

/** Watches one run. */
export class Races {
  readonly #run: Run
  readonly #found: Map<string, readonly [Access, Access]>
  readonly #clocks: Array<Clock>
  readonly #released = new Map<number, Clock>()
  readonly #reads = new Map<number, Seen>()
  readonly #writes = new Map<number, Seen>()

  constructor(run: Run, found: Map<string, readonly [Access, Access]>) {
    this.#run = run
    this.#found = found
    const n = run.actors.length
    this.#clocks = Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => (i === j ? 1 : 0)))
  }

  /** A thread ended: whoever learns of it comes after everything that it did. */
  died(): void {
    const all = this.#clocks.reduce(join)
    this.#run.actors.forEach(({ run }, i) => {
      // The host starts the machine that takes its place after that.
      if (/^(host\.|parts\.canceller|parts\.hostSection|reporters\.listener|machines\.runReplacement)/.test(run)) {
        this.#clocks[i] = join(this.#clocks[i], all.map((x, j) => (this.#run.actors[j].machine === undefined ? 0 : x)))
      }
    })
  }

  readonly access = (thread: number, op: number, at: number, before: number, after: number): void => {
    const { setup, world } = this.#run
    if (at >= setup.ghosts || op === Op.wait) return
    if (op === Op.notify) return
    const plain = op === Op.read || op === Op.write
    if (!plain) {
      const released = this.#released.get(at)
      if (released !== undefined && op !== Op.store) this.#clocks[thread] = join(this.#clocks[thread], released)
    }
    const failed = op === Op.compareExchange && before === after
    const writes = isWrite(op) && !failed
    const frames = world.running
    const top = frames[frames.length - 1]
    const access: Access = {
      thread: this.#run.actors[thread].name,
      op: opNames[op],
      place: top === undefined ? "" : world.program.codes[top[0] as number].name,
    }
    this.#compare(this.#writes, thread, at, plain, access)
    if (writes) this.#compare(this.#reads, thread, at, plain, access)
    const seen = writes ? this.#writes : this.#reads
    let mine = seen.get(at)
    if (mine === undefined) seen.set(at, mine = { at: [], by: [], plain: [] })
    mine.at[thread] = this.#clocks[thread][thread]
    mine.by[thread] = access
    mine.plain[thread] = plain
    if (plain || !writes) return
    this.#released.set(at, this.#clocks[thread])
    this.#clocks[thread] = this.#clocks[thread].map((x, i) => (i === thread ? x + 1 : x))
  }

  #compare(others: ReadonlyMap<number, Seen>, thread: number, at: number, plain: boolean, access: Access): void {
    const seen = others.get(at)
    if (seen === undefined) return
    const clock = this.#clocks[thread]
    for (let i = 0; i < clock.length; i++) {
      if (i === thread || seen.at[i] === undefined || seen.at[i] <= clock[i] || !(plain || seen.plain[i])) continue
      const word = wordName(this.#run.setup, at).replace(/\d+/g, "#")
      const other = seen.by[i]!
      const ends = [`${other.op} in ${other.place}`, `${access.op} in ${access.place}`].sort()
      const key = `${word}: ${ends.join(" · ")}`
      if (!this.#found.has(key)) this.#found.set(key, [other, access])
    }
  }
}
