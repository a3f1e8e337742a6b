/** Ways to break the scheduler, each of which some model must notice. */
import { type Mutation, mutation } from "./mutation.ts"
import { bufferMutations } from "./mutationsOfBuffers.ts"
import { mailMutations } from "./mutationsOfMail.ts"
import { memoryMutations } from "./mutationsOfMemory.ts"
import { progressMutations } from "./mutationsOfProgress.ts"

const runq = [
  mutation("put publishes the tail before the slot", "runq.ts", [
    "s.mem[P + P_RING + (tail & RING_MASK)] = g // beyond the tail: nobody else reads it yet\n      Atomics.store(s.mem, P + P_TAIL, tail + 1)",
    "Atomics.store(s.mem, P + P_TAIL, tail + 1)\n      s.mem[P + P_RING + (tail & RING_MASK)] = g",
  ]),
  mutation("put takes one more than a full ring", "runq.ts", [
    "(tail - head) >>> 0 < RING)",
    "(tail - head) >>> 0 <= RING)",
  ]),
  mutation("put loses who was next", "runq.ts", ["if (g === 0) return\n", "return\n"]),
  mutation("put swaps next with a load and a store", "runq.ts", [
    "g = Atomics.exchange(s.mem, P + P_NEXT, hint)",
    "g = Atomics.load(s.mem, P + P_NEXT)\n    Atomics.store(s.mem, P + P_NEXT, hint)",
  ]),
  mutation("get moves the head with a store", "runq.ts", [
    "if (Atomics.compareExchange(s.mem, P + P_HEAD, head, (head + 1) | 0) === head) return hint",
    "Atomics.store(s.mem, P + P_HEAD, (head + 1) | 0)\n    return hint",
  ]),
  mutation("overflow moves the head with a store", "runq.ts", [
    "if (Atomics.compareExchange(s.mem, P + P_HEAD, head, head + half) !== head) return false",
    "Atomics.store(s.mem, P + P_HEAD, head + half)",
  ]),
  mutation("overflow copies after it has moved the head", "runq.ts", [
    "for (let i = 0; i < half; i++) spill[i] = s.mem[P + P_RING + ((head + i) & RING_MASK)]\n",
    "",
  ], [
    "!== head) return false\n",
    "!== head) return false\n  for (let i = 0; i < half; i++) spill[i] = s.mem[P + P_RING + ((head + half + i) & RING_MASK)]\n",
  ]),
  mutation("overflow forgets the new one", "runq.ts", ["spill[n++] = hint\n", ""]),
  mutation("overflow passes one more than it moves", "runq.ts", [
    "head, head + half) !==",
    "head, head + half + 1) !==",
  ]),
  mutation("takeNext clears next with a store", "runq.ts", [
    "Atomics.compareExchange(s.mem, at, hint, 0) === hint ?",
    "Atomics.store(s.mem, at, 0) === 0 ?",
  ]),
  mutation("a thief takes one too many", "runq.ts", [
    "const n = size - (size >>> 1)",
    "const n = size === 0 ? 0 : size - (size >>> 1) + 1",
  ]),
  mutation("a thief moves the head with a store", "runq.ts", [
    "if (Atomics.compareExchange(s.mem, V + P_HEAD, head, (head + n) | 0) === head) return n",
    "Atomics.store(s.mem, V + P_HEAD, (head + n) | 0)\n    return n",
  ]),
  mutation("a thief copies after it has moved the head", "runq.ts", [
    "if (Atomics.compareExchange(s.mem, V + P_HEAD, head, (head + n) | 0) === head) return n",
    "if (Atomics.compareExchange(s.mem, V + P_HEAD, head, (head + n) | 0) !== head) continue\n    for (let i = 0; i < n; i++) {\n      s.mem[P + P_RING + ((to + i) & RING_MASK)] = Atomics.load(s.mem, V + P_RING + ((head + i) & RING_MASK))\n    }\n    return n",
  ]),
  mutation("a thief takes next with a store", "runq.ts", [
    "if (Atomics.compareExchange(s.mem, V + P_NEXT, next, 0) !== next) continue",
    "Atomics.store(s.mem, V + P_NEXT, 0)",
  ]),
  mutation("a thief compares indices as signed numbers", "runq.ts", [
    "const size = (tail - head) >>> 0",
    "const size = tail - head",
  ]),
  mutation("a thief publishes what it runs itself", "runq.ts", [
    "if (n > 1) Atomics.store(s.mem, P + P_TAIL, tail + n - 1)\n  return hint",
    "Atomics.store(s.mem, P + P_TAIL, tail + n)\n  return hint",
  ]),
  mutation("isEmpty does not look at the tail again", "runq.ts", [
    "if (tail === Atomics.load(s.mem, P + P_TAIL)) return",
    "return",
  ]),
  mutation("the last look leaves out the last P", "runq.ts", [
    "for (let p = 0; p < s.procs; p++) {\n    if (!isEmpty(s, p)) return true",
    "for (let p = 0; p < s.procs - 1; p++) {\n    if (!isEmpty(s, p)) return true",
  ]),
]

const globalq = [
  mutation("append takes no lock", "globalq.ts", [
    "if (!acquire(s, q + Q_LOCK, me)) return false\n  if (sizeOf",
    "if (sizeOf",
  ]),
  mutation("append does not make room", "globalq.ts", ["if (sizeOf(s, q) + n > s.queueMask + 1) compact(s, q)\n", ""]),
  mutation("compaction drops one too many", "globalq.ts", [
    "Atomics.store(s.mem, q + Q_HEAD, to)",
    "Atomics.store(s.mem, q + Q_HEAD, to + 1)",
  ]),
  mutation("compaction does not clear its marks", "globalq.ts", [
    "for (let i = 0; i < words; i++) s.mem[marks + i] = 0\n",
    "",
  ]),
  mutation("compaction keeps stale entries instead of live ones", "globalq.ts", [
    "|| !isLive(s, hint)) continue",
    "|| isLive(s, hint)) continue",
  ]),
  mutation("takeOne does not look again under the lock", "globalq.ts", [
    "if (head !== Atomics.load(s.mem, q + Q_TAIL)) {",
    "{",
  ]),
  mutation("takeBatch publishes one too many", "globalq.ts", ["P + P_TAIL, tail + n - 1)", "P + P_TAIL, tail + n)"]),
  mutation("takeBatch ignores how full the ring is", "globalq.ts", [", BATCH, room + 1)", ", BATCH)"]),
]

const lock = [
  mutation("unlock wakes nobody", "lock.ts", [
    "if ((Atomics.exchange(s.mem, at, 0) & CONTENDED) !== 0) Atomics.notify(s.mem, at, 1)",
    "Atomics.exchange(s.mem, at, 0)",
  ]),
  mutation("who was woken forgets that others sleep", "lock.ts", [
    "at, 0, (me + 1) | CONTENDED) === 0",
    "at, 0, me + 1) === 0",
  ]),
  mutation("the lock is taken with a store", "lock.ts", [
    "Atomics.load(s.mem, at) === 0 && Atomics.compareExchange(s.mem, at, 0, me + 1) === 0) return true",
    "Atomics.load(s.mem, at) === 0 && Atomics.store(s.mem, at, me + 1) !== 0) return true",
  ]),
  mutation("a waiter sleeps without its mark", "lock.ts", [
    "(seen & CONTENDED) !== 0 || Atomics.compareExchange(s.mem, at, seen, seen | CONTENDED) === seen",
    "seen !== 0",
  ], ["Atomics.wait(s.mem, at, seen | CONTENDED, NAP)", "Atomics.wait(s.mem, at, seen, NAP)"]),
]

const idle = [
  mutation("wakep does not look again after needspinning", "idle.ts", [
    "if (anyIdle(s) < 0) return\n    }",
    "return\n    }",
  ]),
  mutation("wakep does not leave needspinning", "idle.ts", [
    "Atomics.or(s.mem, IDLE_BITS, NEED_SPINNING)",
    "Atomics.load(s.mem, IDLE_BITS)",
  ]),
  mutation("wakep does nothing", "idle.ts", ["if (anySpins(s)) return\n", "return\n"]),
  mutation("wakep looks at no other machine when one was taken", "idle.ts", [
    "if (wake(s, p)) return\n",
    "wake(s, p)\n      return\n",
  ]),
  mutation("a waker sets the spinning bit after the claim", "idle.ts", [
    "setBit(s, SPIN_BITS, p)\n  if (clearBit(s, IDLE_BITS, p)) {\n",
    "if (clearBit(s, IDLE_BITS, p)) {\n    setBit(s, SPIN_BITS, p)\n",
  ]),
  mutation("a waker leaves the spinning bit when it lost", "idle.ts", [
    "clearBit(s, SPIN_BITS, p)\n  return false",
    "return false",
  ]),
  mutation("a waker does not unpark", "idle.ts", ["unpark(s, Atomics.load(s.mem, pw(p) + P_M))\n", ""]),
  mutation("wakeEach wakes one", "idle.ts", ["!== 0) wake(s, p)\n", "!== 0) return void wake(s, p)\n"]),
  mutation("wakeAll leaves spinning bits", "idle.ts", [
    "for (let i = 0; i < words(s); i++) Atomics.store(s.mem, SPIN_BITS + i, 0)\n",
    "",
  ]),
  mutation("wakeAll passes over a machine that was told but not woken", "idle.ts", [
    "    Atomics.notify(s.mem, mw(s, m) + M_PARK)\n",
    "",
  ]),
  mutation("a machine forgets on its way to sleep that it was told to look", "idle.ts", [
    "export function announceIdle(s: Sched, p: number): void {\n",
    "export function announceIdle(s: Sched, p: number): void {\n  wokenUp(s, Atomics.load(s.mem, pw(p) + P_M))\n",
  ]),
  mutation("the request of needspinning is not taken", "idle.ts", [
    "return (Atomics.and(s.mem, IDLE_BITS, ~NEED_SPINNING) & NEED_SPINNING) !== 0",
    "return false",
  ]),
  mutation("wakep takes idle machines for busy ones", "idle.ts", [
    "Atomics.load(s.mem, IDLE_BITS) === NEED_SPINNING) return",
    "(Atomics.load(s.mem, IDLE_BITS) & NEED_SPINNING) !== 0) return",
  ]),
]

const find = [
  mutation("a machine stops spinning after its last look", "find.ts", [
    "  stopSpinning(s, t.p)\n  let again: boolean\n",
    "  let again: boolean\n",
  ], ["    again = anyWork(s)\n", "    again = anyWork(s)\n    stopSpinning(s, t.p)\n"]),
  mutation("a spinner takes no last look", "find.ts", ["    again = anyWork(s)\n", "    again = false\n"]),
  mutation("a machine announces itself after its last look", "find.ts", ["  announceIdle(s, t.p)\n", ""], [
    "  if (!again) return true\n",
    "  if (!again) {\n    announceIdle(s, t.p)\n    return true\n  }\n",
  ]),
  mutation("in one shared queue only spinners take a last look", "find.ts", [" || (s.global && anyWork(s))", ""]),
  mutation("a machine of a bounded pool does not look for roots again", "find.ts", [
    "  again ||= s.bounded && t.roots === 0 && sizeOf(s, s.rq) !== 0\n",
    "",
  ]),
  mutation("a bounded machine takes a second root", "find.ts", ["while (t.roots === 0) {", "for (;;) {"]),
  mutation("a machine that was chosen to look goes back without looking", "find.ts", [
    "  wokenUp(s, t.m)\n  if (!revokeIdle(s, t.p)) t.spinning = true",
    "  wokenUp(s, t.m)\n  revokeIdle(s, t.p)",
  ]),
  mutation("a spinner that found work keeps its bit", "find.ts", [
    "  t.spinning = false\n  stopSpinning(s, t.p)\n",
    "  t.spinning = false\n",
  ]),
]

const status = [
  mutation("claim is a load and a store", "status.ts", [
    "return Atomics.compareExchange(s.mem, at, status, pack(generation, m, RUNNING)) === status ? g : 0",
    "Atomics.store(s.mem, at, pack(generation, m, RUNNING))\n  return g",
  ]),
  mutation("claim takes a running G", "status.ts", ["if (stateOf(status) !== RUNNABLE || hintOf", "if (hintOf"]),
  mutation("finish is a load and a store", "status.ts", [
    "if (Atomics.compareExchange(s.mem, at, status, done) === status) {",
    "if (Atomics.store(s.mem, at, done) === done) {",
  ]),
  mutation("putting a G back leaves it running", "status.ts", [
    "if (stateOf(status) !== RUNNING || machineOf(status) !== m) return hintOf(g, generation)",
    "if (status !== 0) return hintOf(g, generation)",
  ]),
  mutation("finish forgets who wants to be woken", "status.ts", [
    "(status & WAKE_BIT) === 0 ? ENDED : ENDED_WAKE",
    "ENDED",
  ]),
  mutation("askForWake asks a G that has ended", "status.ts", [
    "if (state !== RUNNING && state !== WAITING) return false\n    if ((status & WAKE_BIT)",
    "if ((status & WAKE_BIT)",
  ]),
  mutation("cancelQueued is a load and a store", "status.ts", [
    "return Atomics.compareExchange(s.mem, at, runnable, pack(generation, 0, DONE)) === runnable",
    "if (Atomics.load(s.mem, at) !== runnable) return false\n  Atomics.store(s.mem, at, pack(generation, 0, DONE))\n  return true",
  ]),
  mutation("putting a G back wakes nobody", "status.ts", [
    "    if ((status & WAKE_BIT) !== 0) unpark(s, waiter - 1)\n",
    "",
  ]),
  mutation("putting a G back is a load and a store", "status.ts", [
    "if (Atomics.compareExchange(s.mem, at, status, pack(generation, 0, RUNNABLE)) !== status) continue",
    "Atomics.store(s.mem, at, pack(generation, 0, RUNNABLE))",
  ]),
  mutation("unpark does not notify", "status.ts", [
    "if (Atomics.exchange(s.mem, at, 1) === 0) Atomics.notify(s.mem, at)",
    "Atomics.exchange(s.mem, at, 1)",
  ]),
]

const inbox = [
  mutation("pushHost looks whether the host sleeps before it pushes", "inbox.ts", [
    "  if (!pushRing(s, mw(s, m), g)) pushStack(s, g)\n",
    "  const asleep = Atomics.load(s.mem, HOST_SLEEPS)\n  if (!pushRing(s, mw(s, m), g)) pushStack(s, g)\n",
  ], ["if (Atomics.load(s.mem, HOST_SLEEPS) === 1 &&", "if (asleep === 1 &&"]),
  mutation("a machine publishes an end before it has written it", "inbox.ts", [
    "  s.mem[M + M_DONE + (tail & (DONE_SLOTS - 1))] = g\n  Atomics.store(s.mem, M + M_DONE_TAIL, tail + 1)\n",
    "  Atomics.store(s.mem, M + M_DONE_TAIL, tail + 1)\n  s.mem[M + M_DONE + (tail & (DONE_SLOTS - 1))] = g\n",
  ]),
  mutation("a ring of ends takes one more than fits", "inbox.ts", [
    "    if (((tail - s.mem[M + M_DONE_SEEN]) >>> 0) >= DONE_SLOTS) return false",
    "    if (((tail - s.mem[M + M_DONE_SEEN]) >>> 0) > DONE_SLOTS) return false",
  ]),
  mutation("what finds its ring full is not pushed", "inbox.ts", [
    "  if (!pushRing(s, mw(s, m), g)) pushStack(s, g)\n",
    "  pushRing(s, mw(s, m), g)\n",
  ]),
  mutation("the host gives slots back before it has read them", "inbox.ts", [
    "  for (let i = 0; i < n; i++) {\n    const g = s.mem[M + M_DONE",
    "  Atomics.store(s.mem, M + M_DONE_HEAD, head + n)\n  for (let i = 0; i < n; i++) {\n    const g = s.mem[M + M_DONE",
  ]),
  mutation("the host looks for ends on the stack only", "inbox.ts", [
    "!== s.mem[M + M_DONE_HEAD]) return true",
    "!== s.mem[M + M_DONE_HEAD]) continue",
  ]),
  mutation("the host looks for ends in the rings only", "inbox.ts", [
    "  return Atomics.load(s.mem, HOST_INBOX) !== 0\n",
    "  return false\n",
  ]),
  mutation("pushStack is a load and a store", "inbox.ts", [
    "if (Atomics.compareExchange(s.mem, HOST_INBOX, head, g) === head) return",
    "Atomics.store(s.mem, HOST_INBOX, g)\n    return",
  ]),
  mutation("pushStack links after it has pushed", "inbox.ts", [
    "    s.mem[link] = head // published by the CAS\n    if (Atomics.compareExchange(s.mem, HOST_INBOX, head, g) === head) return",
    "    if (Atomics.compareExchange(s.mem, HOST_INBOX, head, g) !== head) continue\n    s.mem[link] = head\n    return",
  ]),
  mutation("the host does not look again before it sleeps", "inbox.ts", [
    "export function hostSleeps(s: Sched): boolean {\n  Atomics.store(s.mem, HOST_SLEEPS, 1)\n  if (!hasMail(s)) return true\n",
    "export function hostSleeps(s: Sched): boolean {\n  Atomics.store(s.mem, HOST_SLEEPS, 1)\n  if (s.procs > 0) return true\n",
  ]),
  mutation("the host is notified without a new word", "inbox.ts", ["Atomics.add(s.mem, HOST_WAKE, 1)\n", ""]),
  mutation("the host is not notified", "inbox.ts", ["  Atomics.notify(s.mem, HOST_WAKE)\n", ""]),
]

/** All of them. */
export const mutations: ReadonlyArray<Mutation> = [
  ...runq,
  ...globalq,
  ...lock,
  ...idle,
  ...find,
  ...status,
  ...inbox,
  ...memoryMutations,
  ...mailMutations,
  ...progressMutations,
  ...bufferMutations,
]
