/**
 * A futex mutex with the owner's stamp (after Drepper, "Futexes Are Tricky"). The stamp lets the sweep see that a
 * dead machine holds it. Critical sections here are short, allocate nothing and call no user code.
 *
 * ```
 * 0                   free
 * owner+1             held
 * owner+1 | CONTENDED held, and someone may sleep on it
 * ```
 */
import { HOST, type Sched } from "./layout.ts"

const CONTENDED = 1 << 30
/** Tries before a machine sleeps: about the length of the longest ordinary critical section. */
const TRIES = 100
/** Tries of the host: long enough to outlast any section that runs, too short to be felt. */
const HOST_TRIES = 20_000
/** Longest sleep in ms. A bound, not a need: a lock left by a dead machine is freed by the host. */
const NAP = 10

/**
 * Takes the lock for `me`. A machine waits however long it takes and gets true. The host must not sleep on a lock,
 * because it is the one that learns of dead machines, through its event loop: it gets false after a bounded number of
 * tries, and comes again on a later turn.
 */
export function acquire(s: Sched, at: number, me: number): boolean {
  const tries = me === HOST ? HOST_TRIES : TRIES
  for (let i = 0; i < tries; i++) {
    if (Atomics.load(s.mem, at) === 0 && Atomics.compareExchange(s.mem, at, 0, me + 1) === 0) return true
  }
  if (me === HOST) return false
  for (;;) {
    const seen = Atomics.load(s.mem, at)
    if (seen === 0) {
      // Others may sleep too, and whoever woke us has wiped their mark: keep it.
      if (Atomics.compareExchange(s.mem, at, 0, (me + 1) | CONTENDED) === 0) return true
    } else if ((seen & CONTENDED) !== 0 || Atomics.compareExchange(s.mem, at, seen, seen | CONTENDED) === seen) {
      Atomics.wait(s.mem, at, seen | CONTENDED, NAP)
    }
  }
}

/** Gives the lock back. */
export function unlock(s: Sched, at: number): void {
  if ((Atomics.exchange(s.mem, at, 0) & CONTENDED) !== 0) Atomics.notify(s.mem, at, 1)
}

/** The machine that holds the lock, or -1. */
export function holder(s: Sched, at: number): number {
  return (Atomics.load(s.mem, at) & ~CONTENDED) - 1
}
