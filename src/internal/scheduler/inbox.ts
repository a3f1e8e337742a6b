/**
 * Completions: how the host learns that Gs have ended. Each machine has a ring that it alone writes and the host alone
 * reads (Lamport, 1977), so that to tell of an end takes no atomic read-modify-write, and the host, which finds many
 * Gs side by side, can have their records fetched at once instead of each after the other. What finds its ring full
 * goes on a stack through the records (Treiber, 1986): producers push with a CAS, the one consumer takes all with an
 * exchange, so the ABA problem does not arise. A producer wakes the host only if that said that it sleeps.
 */
import {
  DONE_SLOTS,
  G_FLAGS,
  G_NEXT,
  gw,
  HOST_INBOX,
  HOST_SLEEPS,
  HOST_WAKE,
  M_DONE,
  M_DONE_HEAD,
  M_DONE_SEEN,
  M_DONE_TAIL,
  mw,
  type Sched,
} from "./layout.ts"

/**
 * Machine `m` tells the host that `g` has ended. A machine that dies before the tail is stored, or before the CAS, has
 * told nothing: the G is DONE and the sweep delivers it. One that dies between that and the call leaves the host asleep
 * with mail: the host is told of the death and looks.
 */
export function pushHost(s: Sched, m: number, g: number): void {
  if (!pushRing(s, mw(s, m), g)) pushStack(s, g)
  // The host says that it sleeps before its last look, so it sees the tail or we see that it sleeps.
  if (Atomics.load(s.mem, HOST_SLEEPS) === 1 && Atomics.compareExchange(s.mem, HOST_SLEEPS, 1, 0) === 1) {
    ringHost(s)
  }
}

/** False if the ring is full. All words but the head are this machine's own. */
function pushRing(s: Sched, M: number, g: number): boolean {
  const tail = s.mem[M + M_DONE_TAIL]
  if (((tail - s.mem[M + M_DONE_SEEN]) >>> 0) >= DONE_SLOTS) {
    s.mem[M + M_DONE_SEEN] = Atomics.load(s.mem, M + M_DONE_HEAD)
    if (((tail - s.mem[M + M_DONE_SEEN]) >>> 0) >= DONE_SLOTS) return false
  }
  // The host read this slot before it stored the head that we have seen, and reads it again after it sees the new tail.
  s.mem[M + M_DONE + (tail & (DONE_SLOTS - 1))] = g
  Atomics.store(s.mem, M + M_DONE_TAIL, tail + 1)
  return true
}

function pushStack(s: Sched, g: number): void {
  const link = gw(s, g) + G_NEXT
  for (;;) {
    const head = s.mem[HOST_INBOX] // an older one fails the CAS
    s.mem[link] = head // published by the CAS
    if (Atomics.compareExchange(s.mem, HOST_INBOX, head, g) === head) return
  }
}

/** Wakes the host whether it sleeps or is about to: its wait is for an unchanged word. */
export function ringHost(s: Sched): void {
  Atomics.add(s.mem, HOST_WAKE, 1)
  Atomics.notify(s.mem, HOST_WAKE)
}

/** Whether anything has arrived for the host. */
export function hasMail(s: Sched): boolean {
  for (let m = 0; m < s.machines; m++) {
    const M = mw(s, m)
    if (Atomics.load(s.mem, M + M_DONE_TAIL) !== s.mem[M + M_DONE_HEAD]) return true
  }
  return Atomics.load(s.mem, HOST_INBOX) !== 0
}

/** How many Gs have ended and wait in rings for the host to take them. A momentary value. */
export function endedCount(s: Sched): number {
  let n = 0
  for (let m = 0; m < s.machines; m++) {
    const M = mw(s, m)
    n += (Atomics.load(s.mem, M + M_DONE_TAIL) - s.mem[M + M_DONE_HEAD]) >>> 0
  }
  return n
}

/** Where the ring of machine `m` ends now, for {@link takeDone}. */
export function doneTail(s: Sched, m: number): number {
  return Atomics.load(s.mem, mw(s, m) + M_DONE_TAIL)
}

/**
 * Takes Gs out of the ring of machine `m`, up to `tail` and as many as `into` holds, with their `G_FLAGS`, and returns
 * how many. The flags are read here and not where each is used, since a processor fetches lines that are read one after
 * the other at the same time: else the host waits for each record to come from another core.
 */
export function takeDone(s: Sched, m: number, tail: number, into: Int32Array, flags: Int32Array): number {
  const M = mw(s, m)
  const head = s.mem[M + M_DONE_HEAD] // own word
  const n = Math.min((tail - head) >>> 0, into.length)
  for (let i = 0; i < n; i++) {
    const g = s.mem[M + M_DONE + ((head + i) & (DONE_SLOTS - 1))]
    into[i] = g
    flags[i] = s.mem[gw(s, g) + G_FLAGS]
  }
  Atomics.store(s.mem, M + M_DONE_HEAD, head + n)
  return n
}

/** Takes the whole stack: the index of the newest G, linked through {@link nextOf}; 0 if it is empty. */
export function takeStack(s: Sched): number {
  return Atomics.load(s.mem, HOST_INBOX) === 0 ? 0 : Atomics.exchange(s.mem, HOST_INBOX, 0)
}

/** The G after `g` in a taken stack. Must be read before `g` is released. */
export function nextOf(s: Sched, g: number): number {
  return s.mem[gw(s, g) + G_NEXT]
}

/** The value of the wake word. The host reads it before its last look at anything that may ring it. */
export function wakeWord(s: Sched): number {
  return Atomics.load(s.mem, HOST_WAKE)
}

/**
 * The host is about to wait for {@link wakeWord} to change. False if there is mail. The rings and the stack are read
 * after `HOST_SLEEPS` is set, so whoever pushes after that read sees it set and rings.
 */
export function hostSleeps(s: Sched): boolean {
  Atomics.store(s.mem, HOST_SLEEPS, 1)
  if (!hasMail(s)) return true
  Atomics.store(s.mem, HOST_SLEEPS, 0)
  return false
}
