/**
 * Completions: a stack of ended Gs through their records, one for each waiter (Treiber, 1986). Producers push with a
 * CAS, the one consumer takes all with an exchange, so the ABA problem does not arise. A producer wakes the consumer
 * only if that said that it sleeps, so completions arrive in batches.
 */
import { G_NEXT, gw, HOST_INBOX, HOST_SLEEPS, HOST_WAKE, type Sched } from "./layout.ts"

/**
 * Pushes an ended G on the host's inbox. A producer that dies before the CAS has pushed nothing: the G is DONE and
 * the sweep delivers it. One that dies between the CAS and the call leaves the host asleep with mail: the host is
 * told of the death and looks.
 */
export function pushHost(s: Sched, g: number): void {
  const link = gw(s, g) + G_NEXT
  for (;;) {
    const head = s.mem[HOST_INBOX] // an older one fails the CAS
    s.mem[link] = head // published by the CAS
    if (Atomics.compareExchange(s.mem, HOST_INBOX, head, g) === head) break
  }
  if (Atomics.load(s.mem, HOST_SLEEPS) === 1 && Atomics.compareExchange(s.mem, HOST_SLEEPS, 1, 0) === 1) {
    ringHost(s)
  }
}

/** Wakes the host whether it sleeps or is about to: its wait is for an unchanged word. */
export function ringHost(s: Sched): void {
  Atomics.add(s.mem, HOST_WAKE, 1)
  Atomics.notify(s.mem, HOST_WAKE)
}

/** Whether something is in the host's inbox. */
export function hasMail(s: Sched): boolean {
  return Atomics.load(s.mem, HOST_INBOX) !== 0
}

/** Takes the whole inbox: the index of the newest G, linked through {@link nextOf}; 0 if it is empty. */
export function takeHost(s: Sched): number {
  return !hasMail(s) ? 0 : Atomics.exchange(s.mem, HOST_INBOX, 0)
}

/** The G after `g` in a taken inbox. Must be read before `g` is released. */
export function nextOf(s: Sched, g: number): number {
  return s.mem[gw(s, g) + G_NEXT]
}

/** The value of the wake word. The host reads it before its last look at anything that may ring it. */
export function wakeWord(s: Sched): number {
  return Atomics.load(s.mem, HOST_WAKE)
}

/**
 * The host is about to wait for {@link wakeWord} to change. False if there is mail. The inbox is read after
 * `HOST_SLEEPS` is set, so whoever pushes after that read sees it set and rings.
 */
export function hostSleeps(s: Sched): boolean {
  Atomics.store(s.mem, HOST_SLEEPS, 1)
  if (!hasMail(s)) return true
  Atomics.store(s.mem, HOST_SLEEPS, 0)
  return false
}
