/**
 * The state of a simulated pool: its memory, and threads that are stopped before their next access to a shared word.
 * A step performs one thread's access and runs that thread up to its next one. States can be taken back, and are told
 * apart by a 64-bit hash that is kept up to date with every write.
 */
import type { Code, Frame, Program, Stepper } from "./compile.ts"
import { cloned, hashValue, isConstant, mix1, mix2 } from "./values.ts"
import { Op } from "./ops.ts"
import { BLOCKED, DEAD, FINISHED, READY, type Thread } from "./Thread.ts"

/** How words are seen; see {@link World}. */
export interface Words {
  /** Words that only judge and drive a model: never a step, no one else sees when they change. */
  readonly ghosts: number
  /** Counters that nothing depends on. */
  readonly ignored: (at: number) => boolean
  /** The word that the host waits for while other events may reach it too. */
  readonly hostWake: number
  /** Ghost word that tells the host of a death: machine + 1. */
  readonly death: number
}

/** A broken promise of the code under check. */
export class Violation extends Error {}

/** Steps without a shared access after which a thread is taken to run for ever. */
const MAX_LOCAL = 20_000
const NO_FRAMES: ReadonlyArray<Frame> = []

/** Everything that changes while a schedule is run. */
export class World implements Stepper {
  readonly program: Program
  readonly mem: Int32Array
  readonly words: Words
  threads: ReadonlyArray<Thread> = []
  /** Blocked threads in the order in which they blocked. */
  waiting: ReadonlyArray<number> = []
  h1 = 0
  h2 = 0
  /** Words changed, and what they held before. */
  readonly #log: Array<number> = []
  readonly #ignored: Uint8Array
  /** By word: the threads that have read it, and that have written it, in any schedule so far. */
  readonly readers: Uint8Array
  readonly writers: Uint8Array
  /** Another word turned out to be shared: what was explored before that may lack switches. */
  sharingChanged = false
  /** Treats every word as shared. */
  allShared = false
  /** Is told of every access, once it was performed. */
  onAccess: ((thread: number, op: number, at: number, before: number, after: number) => void) | undefined

  /** By thread: accesses to words of the scheduler so far. */
  readonly counts: Array<number> = []

  // the thread that runs now
  r: unknown = undefined
  #stack: Array<Frame> = []
  /** Frames from here on up are this run's own. */
  #owned = 0
  #me = 0
  #pending = false
  /** Accesses and calls since the last shared access. */
  #local = 0
  #op = 0
  #at = 0
  #a = 0
  #b = 0

  constructor(program: Program, mem: Int32Array, words: Words) {
    this.program = program
    this.mem = mem
    this.words = words
    this.readers = new Uint8Array(mem.length)
    this.writers = new Uint8Array(mem.length)
    this.#ignored = Uint8Array.from(mem, (_, at) => (words.ignored(at) ? 1 : 0))
  }

  /** The frames of the thread that runs now. */
  running: ReadonlyArray<Frame> = NO_FRAMES

  /** Adds a thread that stops before its first shared access. */
  spawn(name: string, args: ReadonlyArray<unknown>): void {
    const code = this.program.byName.get(name)
    if (code === undefined) throw new Error(`there is no state machine ${name}`)
    this.#me = this.threads.length
    this.counts[this.#me] = 0
    this.#stack = []
    this.#owned = 0
    this.enter(code.index, args)
    this.threads = [...this.threads, this.#run()]
  }

  // ---- memory -------------------------------------------------------------------------------------------------

  /** Writes a word so that it can be taken back. */
  poke(at: number, value: number): void {
    const old = this.mem[at]
    this.mem[at] = value
    const now = this.mem[at]
    if (old === now) return
    this.#log.push(at, old)
    this.h1 ^= mix1(at, old) ^ mix1(at, now)
    this.h2 ^= mix2(at, old) ^ mix2(at, now)
  }

  /** Position in the log, for {@link undo}. */
  get mark(): number {
    return this.#log.length
  }

  undo(mark: number): void {
    const log = this.#log
    while (log.length > mark) {
      const old = log.pop()!
      this.mem[log.pop()!] = old
    }
  }

  /** Forgets how to go back, to save memory on a way that is not taken back. */
  forget(): void {
    this.#log.length = 0
  }

  #perform(op: number, at: number, a: number, b: number): void {
    const { mem } = this
    const before = mem[at]
    this.r = before
    if (at < this.words.ghosts || op === Op.notify) this.counts[this.#me]++
    switch (op) {
      case Op.read:
      case Op.load:
        break
      case Op.write:
      case Op.store:
        this.poke(at, a)
        this.r = a
        break
      case Op.add:
        this.poke(at, before + a)
        break
      case Op.sub:
        this.poke(at, before - a)
        break
      case Op.and:
        this.poke(at, before & a)
        break
      case Op.or:
        this.poke(at, before | a)
        break
      case Op.exchange:
        this.poke(at, a)
        break
      case Op.compareExchange:
        if (before === (a | 0)) this.poke(at, b)
        break
      case Op.notify:
        this.r = this.#notify(at, a)
        break
      default:
        throw new Error(`operation ${op} is not performed here`)
    }
    if (this.onAccess !== undefined) this.onAccess(this.#me, op, at, before, mem[at])
  }

  #notify(at: number, limit: number): number {
    let left = limit === 0 ? Infinity : limit // no count was given
    let count = 0
    for (const i of this.waiting) {
      if (this.threads[i].at !== at || left === 0) continue
      this.#wake(i, "ok")
      left--
      count++
    }
    return count
  }

  #wake(i: number, how: string): void {
    this.waiting = this.waiting.filter((other) => other !== i)
    const { a, at, b, frames, op } = this.threads[i]
    this.threads = this.threads.with(i, this.#thread(READY, frames, op, at, a, b, how))
  }

  // ---- the stepper of the running thread ----------------------------------------------------------------------

  access(op: number, at: number, a: number, b: number): boolean {
    const { words } = this
    if (!(at >= 0 && at < this.mem.length)) throw new Violation(`access to word ${at}, which is outside of memory`)
    if (++this.#local > MAX_LOCAL) throw new Violation("a thread runs for ever without a shared access")
    if (op !== Op.wait && op !== Op.notify) {
      if (at >= words.ghosts) {
        this.#perform(op, at, a, b)
        return false
      }
      if (this.#ignored[at] === 1) {
        this.r = 0
        return false
      }
      if (!this.allShared && !this.#isShared(op, at)) {
        this.#perform(op, at, a, b)
        return false
      }
    }
    this.#pending = true
    this.#op = op
    this.#at = at
    this.#a = a
    this.#b = b
    return true
  }

  /** Whether any other thread could tell when this access happens. */
  #isShared(op: number, at: number): boolean {
    const me = 1 << this.#me
    const writes = op !== Op.read && op !== Op.load
    const { readers, writers } = this
    if (writes ? (writers[at] & me) === 0 : (readers[at] & me) === 0) {
      if (writes) writers[at] |= me
      else readers[at] |= me
      if (op >= Op.add) readers[at] |= me
      const all = writers[at] | readers[at]
      if (writers[at] !== 0 && (all & (all - 1)) !== 0) this.sharingChanged = true
    }
    return (writers[at] & ~me) !== 0 || (writes && (readers[at] & ~me) !== 0)
  }

  enter(fn: number, args: ReadonlyArray<unknown>): void {
    const { slots } = this.program.codes[fn]
    const frame: Frame = new Array(slots)
    frame[0] = fn
    frame[1] = 0
    for (let i = 0; i < args.length; i++) frame[i + 2] = args[i]
    this.#stack.push(frame)
  }

  leave(value: unknown): void {
    this.#stack.pop()
    this.r = value
    const top = this.#stack.length - 1
    if (top >= this.#owned || top < 0) return
    this.#stack[top] = this.#copyFrame(this.#stack[top], undefined)
    this.#owned = top
  }

  /** Runs the current stack up to the next shared access. */
  #run(): Thread {
    const { codes } = this.program
    const stack = this.#stack
    this.#pending = false
    this.#local = 0
    while (!this.#pending && stack.length > 0) {
      if (++this.#local > MAX_LOCAL) throw new Violation("a thread runs for ever without a shared access")
      const frame = stack[stack.length - 1]
      codes[frame[0] as number].step(this, frame)
    }
    if (!this.#pending) return this.#idle(FINISHED)
    return this.#thread(READY, stack, this.#op, this.#at, this.#a, this.#b, undefined)
  }

  #idle(state: number): Thread {
    return this.#thread(state, NO_FRAMES, 0, 0, 0, 0, undefined)
  }

  #thread(
    state: number,
    frames: ReadonlyArray<Frame>,
    op: number,
    at: number,
    a: number,
    b: number,
    woken: string | undefined,
  ): Thread {
    let h1 = mix1(state, op) ^ mix1(at, a)
    let h2 = mix2(state, op) ^ mix2(b, woken === undefined ? 0 : woken.length)
    let heap = false
    for (const frame of frames) {
      const code: Code = this.program.codes[frame[0] as number]
      const pc = frame[1] as number
      h1 = mix1(h1, (code.index << 10) + pc)
      h2 = mix2(h2, (code.index << 10) + pc)
      const live = code.live[pc]
      for (let i = 0; i < live.length; i++) {
        const value = frame[live[i]]
        let hash: number
        if (typeof value === "number") hash = value
        else {
          hash = hashValue(value)
          if (typeof value === "object" && value !== null && !isConstant(value)) heap = true
        }
        h1 = mix1(h1, hash)
        h2 = mix2(h2, hash)
      }
    }
    return { state, frames, op, at, a, b, woken, heap, h1, h2 }
  }

  /** A copy of a frame to run on, with only the variables that still matter. */
  #copyFrame(frame: Frame, copies: Map<object, unknown> | undefined): Frame {
    const code = this.program.codes[frame[0] as number]
    const copy: Frame = new Array(code.slots)
    copy[0] = frame[0]
    copy[1] = frame[1]
    const live = code.live[frame[1] as number]
    for (let i = 0; i < live.length; i++) {
      const value = frame[live[i]]
      copy[live[i]] = copies === undefined ? value : cloned(value, copies)
    }
    return copy
  }

  /** Prepares to go on with a thread. Frames below the top are copied when they become the top, if nothing forbids. */
  #unfreeze({ frames, heap }: Thread): void {
    const copies = heap ? new Map<object, unknown>() : undefined
    const stack = heap ? frames.map((frame) => this.#copyFrame(frame, copies)) : frames.slice()
    const top = stack.length - 1
    if (!heap) stack[top] = this.#copyFrame(stack[top], undefined)
    this.#stack = stack
    this.#owned = heap ? 0 : top
  }

  // ---- choices ------------------------------------------------------------------------------------------------

  /** Lets thread `i` perform its access, and run up to the next. */
  step(i: number): void {
    const thread = this.threads[i]
    this.#me = i
    this.running = thread.frames
    if (thread.op === Op.wait && thread.woken === undefined) {
      if (this.mem[thread.at] === thread.a) {
        const event = thread.at === this.words.hostWake && this.mem[this.words.death] !== 0
        if (!event) {
          const { a, at, b, frames, op } = thread
          this.threads = this.threads.with(i, this.#thread(BLOCKED, frames, op, at, a, b, undefined))
          this.waiting = [...this.waiting, i]
          this.onAccess?.(i, Op.wait, thread.at, this.mem[thread.at], this.mem[thread.at])
          return
        }
        this.r = "event"
      } else {
        this.r = "not-equal"
      }
      this.onAccess?.(i, Op.wait, thread.at, this.mem[thread.at], this.mem[thread.at])
    } else if (thread.op === Op.wait) {
      this.r = thread.woken
    } else {
      this.#perform(thread.op, thread.at, thread.a, thread.b)
    }
    this.#unfreeze(thread)
    this.running = this.#stack
    const next = this.#run()
    this.threads = this.threads.with(i, next)
  }

  /** The wait of thread `i` ends by itself. */
  timeOut(i: number): void {
    this.#wake(i, "timed-out")
  }

  /** Thread `i`, machine `m`, stops for ever; the host's event loop is told. */
  kill(i: number, m: number): void {
    this.waiting = this.waiting.filter((other) => other !== i)
    this.threads = this.threads.with(i, this.#idle(DEAD))
    this.poke(this.words.death, m + 1)
    const { death, hostWake } = this.words
    const host = this.waiting.find((other) => this.threads[other].at === hostWake || this.threads[other].at === death)
    if (host !== undefined) this.#wake(host, "event")
  }

  /** Hash of the whole state: two words. */
  hash(out: Int32Array): void {
    let h1 = this.h1
    let h2 = this.h2
    for (let i = 0; i < this.threads.length; i++) {
      h1 ^= mix1(i + 1, this.threads[i].h1)
      h2 ^= mix2(i + 1, this.threads[i].h2)
    }
    for (let i = 0; i < this.waiting.length; i++) h1 ^= mix2(-1 - i, this.waiting[i])
    out[0] = h1
    out[1] = h2
  }
}
