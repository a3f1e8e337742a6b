/**
 * The layout of a pool's shared memory: one fixed-size buffer seen as 32-bit words.
 *
 * Words written by different threads stand on different 64-byte lines. All offsets are in words unless a name
 * says bytes. Everything a thread needs to attach is in the first line, so a machine gets the buffer and no more.
 *
 * Buffers begin where the runtime likes: on V8, 16 bytes behind a line, where glibc's allocator leaves room for its own
 * notes. So what is used together stands in the first 12 words behind a boundary of 16, which share a line either way.
 *
 * ```
 * header | idle bits | spinning bits | Ps | Ms | global queue | roots queue | marks | homes | tasks | names | Gs | arena
 * ```
 */

/** Words in a cache line. */
export const LINE = 16

const align = (words: number): number => (words + LINE - 1) & ~(LINE - 1)

// ---- header ---------------------------------------------------------------------------------------------------
// line 0: written once by the host before any machine starts
const MAGIC = 0
const PROCS = 1
const MACHINES = 2
const CAPACITY = 3
const ARENA_WORDS = 4
const QUEUE_MODE = 5
const BOUNDED = 6
const SPINS = 7
const MAGIC_VALUE = 0x474d5031 // "GMP1"
/** Pool state: {@link OPEN}, {@link CLOSING} or {@link STOPPING}. Written by the host only. */
export const STATE = LINE
/** Counts cancellations, so that a running G needs one load to learn that there is nothing new. */
export const CANCEL_EPOCH = LINE + 1
/** How many machines have died; written by the host. */
export const DEATHS = 2 * LINE
/** Central list of free G records: lock, head, count, next never-used index, and whether the host waits for one. */
export const SLOTS_LOCK = 3 * LINE
export const SLOTS_FREE = 4 * LINE
export const SLOTS_FRESH = 4 * LINE + 2
export const SLOTS_WANTED = 5 * LINE
/** The host's own list of free G records (head, count). */
export const HOST_FREE = 6 * LINE
/** Completions for the host that found their machine's ring full: a stack through the G records. */
export const HOST_INBOX = 7 * LINE
/** Bumped to wake the host, and whether it sleeps. */
export const HOST_WAKE = 8 * LINE
export const HOST_SLEEPS = 8 * LINE + 1
/** Arena: lock; words in used blocks; free-list heads by order; whether the host waits for room. */
export const ARENA_LOCK = 9 * LINE
export const ARENA_USED = 9 * LINE + 1
export const ARENA_FREE = 10 * LINE
export const ARENA_WANTED = 12 * LINE
/** Task-name table: lock; number of tasks; bytes of names used. */
export const TASKS_LOCK = 13 * LINE
export const TASKS_COUNT = 14 * LINE
export const TASKS_BYTES = 14 * LINE + 1
const HEADER_WORDS = 15 * LINE

/** Most Ps a pool can have: the width of the bitmaps. */
export const MAX_PROCS = 1024
/** The bit of P 0 in the bitmaps; the one before it is kept for `needspinning`. */
export const FIRST_BIT = 1
const BITMAP_WORDS = align(Math.ceil((MAX_PROCS + FIRST_BIT) / 32))
/** Bitmap of Ps whose machine is parked. Whoever clears a bit owns the right and the duty to wake that machine. */
export const IDLE_BITS = HEADER_WORDS
/** Bitmap of Ps whose machine looks for work. Its population count is Go's `nmspinning`. */
export const SPIN_BITS = IDLE_BITS + BITMAP_WORDS
const PS = SPIN_BITS + BITMAP_WORDS

// ---- pool states ----------------------------------------------------------------------------------------------
/** Work is accepted. */
export const OPEN = 0
/** No new work from the host; what runs may end. */
export const CLOSING = 1
/** Machines leave their loop and end. */
export const STOPPING = 2

// ---- P --------------------------------------------------------------------------------------------------------
/** Slots in a P's run queue, as in Go. */
export const RING = 256
export const RING_MASK = RING - 1
/** The machine that serves this P. */
export const P_M = 0
export const P_HEAD = LINE
export const P_TAIL = 2 * LINE
export const P_NEXT = 3 * LINE
/** Free G records kept by this P (head, count). Touched by the P's machine only. */
export const P_FREE = 4 * LINE
/** Counters, see {@link COUNTERS}. Written by the P's machine only. */
export const P_COUNTERS = 5 * LINE
export const P_RING = 7 * LINE
const P_WORDS = P_RING + RING

/** Names of the per-P counters, in memory order. */
export const COUNTERS = [
  "ticks",
  "stealsTried",
  "stealsWon",
  "stolen",
  "overflows",
  "spins",
  "parks",
  "wakes",
  "globalTakes",
  "spawns",
  "inlined",
] as const
export const C_TICKS = 0
export const C_STEALS_TRIED = 1
export const C_STEALS_WON = 2
export const C_STOLEN = 3
export const C_OVERFLOWS = 4
export const C_SPINS = 5
export const C_PARKS = 6
export const C_WAKES = 7
export const C_GLOBAL_TAKES = 8
export const C_SPAWNS = 9
export const C_INLINED = 10

// ---- M --------------------------------------------------------------------------------------------------------
/** The machine's park word: 0 while it may sleep, 1 when it should look again. */
export const M_PARK = 0
/** Life of the machine: {@link M_NONE}, {@link M_LOADING}, {@link M_READY}, {@link M_EXITED}. */
export const M_LIFE = LINE
/** The machine's mailbox: a flag and slots for hints; see mail.ts. */
export const M_MAIL = 2 * LINE
/** Its completions for the host: where it writes, where it last knew the host to read, where the host reads. */
export const M_DONE_TAIL = 3 * LINE
export const M_DONE_SEEN = 3 * LINE + 1
export const M_DONE_HEAD = 4 * LINE
export const M_BOX = 5 * LINE
export const MAIL_SLOTS = 64
export const M_DONE = M_BOX + MAIL_SLOTS
/** As many as short Gs end on a machine while the host is busy for a millisecond. */
export const DONE_SLOTS = 4096
const M_WORDS = M_DONE + DONE_SLOTS
export const M_NONE = 0
export const M_LOADING = 1
export const M_READY = 2
export const M_EXITED = 3

// ---- queue with a lock ----------------------------------------------------------------------------------------
export const Q_LOCK = 0
export const Q_HEAD = LINE
export const Q_TAIL = LINE + 1
export const Q_SLOTS = 2 * LINE

// ---- G: 128 bytes ---------------------------------------------------------------------------------------------
const G_WORDS = 32
export const G_STATUS = 0
/** {@link FLAG_CANCEL}, {@link FLAG_SYNC}, {@link FLAG_MAIL}, {@link FLAG_CONTEXT}, and the count of {@link TOLD}. */
export const G_FLAGS = 1
/** Index in the task-name table. */
export const G_TASK = 2
/** Link of the list this record stands in: a free list or an inbox, never both. */
export const G_NEXT = 3
/** The G that spawned this one, 0 for the host's. */
export const G_PARENT = 4
/** Who waits for it: 0 the host, m+1 machine m. */
export const G_WAITER = 5
/** How it ended; see codec/payload.ts. */
export const G_OUTCOME = 6
/** Arena block of the payload, 0 when it is inline. */
export const G_BLOCK = 7
/** Kinds of the inline values. */
export const G_TAGS = 8
/** First unjoined child. */
export const G_CHILD = 9
/** Inline payload, 8-byte aligned. One number, the usual one, stands in the line of all that comes before. */
export const G_PAYLOAD = 10
export const G_PAYLOAD_WORDS = 18
/** Bytes of the payload in the arena block. */
export const G_BYTES = 29
/** Unjoined children of one parent form a doubly linked list; touched only by the machine that runs the parent. */
export const G_PREV = 30
export const G_SIBLING = 31

/** Its caller does not want it any more. */
export const FLAG_CANCEL = 1
/** Spawned by a function that joins without an event loop: it must end when its function returns. */
export const FLAG_SYNC = 2
/** Its waiter, a machine, is told of its end through its mailbox. */
export const FLAG_MAIL = 4
/** Behind its arguments stands what its caller's context consists of. */
export const FLAG_CONTEXT = 8
/** One message to the host that its end must wait for. They are counted from this bit up. */
export const TOLD = 16
export const TOLD_SHIFT = 4

/** Most Gs a pool can hold: the width of the index in a hint. Index 0 is never used. */
export const MAX_CAPACITY = (1 << 22) - 2
/** Machine index that stands for the host in locks and stamps. */
export const HOST = 2047
export const MAX_MACHINES = 2046

/** Tasks a pool can name, and bytes for their names, modules and inline sources. */
export const MAX_TASKS = 8192
export const TASK_WORDS = 4
export const NAME_BYTES = 4 * 1024 * 1024

/** What a pool's memory is made for. */
export interface Config {
  /** Number of Ps, 1 to {@link MAX_PROCS}. */
  readonly procs: number
  /** Number of M records: the Ps' machines and those that replace dead ones. */
  readonly machines: number
  /** Number of Gs that can exist at once. */
  readonly capacity: number
  /** Bytes for payloads; rounded up to a power of two. */
  readonly arena: number
  /** One shared queue instead of local ones. */
  readonly global: boolean
  /** A machine takes a new root only when it has none in progress (the classic bounded pool). */
  readonly bounded: boolean
  /** Polls of a spinning machine before it gives up; 0: none. */
  readonly spins: number
  /** Where the free-running queue indices start; for tests of their wrapping. */
  readonly startIndex: number
}

/** A pool's memory as one thread sees it. Immutable; every field but the views is a word offset or a size. */
export interface Sched {
  readonly mem: Int32Array
  readonly f64: Float64Array
  readonly u8: Uint8Array
  readonly u16: Uint16Array
  readonly procs: number
  readonly machines: number
  readonly capacity: number
  readonly global: boolean
  readonly bounded: boolean
  readonly spins: number
  readonly ms: number
  /** The global run queue. */
  readonly gq: number
  /** Roots of a bounded pool. */
  readonly rq: number
  readonly queueMask: number
  /** One bit per G, used while a queue is compacted. Under that queue's lock; one set per queue. */
  readonly marks: number
  /** By G: which free list it stood in last (see slots.ts). Beside the records, as it hardly ever changes. */
  readonly homes: number
  readonly tasks: number
  readonly names: number
  readonly gs: number
  readonly arena: number
  readonly arenaWords: number
}

const powerOfTwo = (n: number): number => {
  let size = 1
  while (size < n) size *= 2
  return size
}

interface Regions extends Omit<Sched, "mem" | "f64" | "u8" | "u16"> {
  readonly words: number
}

/** Words of a bitmap with one bit per G. */
export const markWords = (capacity: number): number => align((capacity + 32) >>> 5)

const regions = (c: Config): Regions => {
  // Twice the capacity: after a compaction at most one hint per G is left, so there is always room for the rest.
  const queueSize = powerOfTwo(2 * (c.capacity + 1))
  const ms = PS + c.procs * P_WORDS
  const gq = ms + c.machines * M_WORDS
  const rq = gq + Q_SLOTS + queueSize
  const marks = rq + Q_SLOTS + (c.bounded ? queueSize : 0)
  const homes = marks + 2 * markWords(c.capacity)
  const tasks = homes + align(c.capacity + 1)
  const names = tasks + MAX_TASKS * TASK_WORDS
  // records on 128-byte boundaries: one G never shares a line with another
  const gs = (names + NAME_BYTES / 4 + G_WORDS - 1) & ~(G_WORDS - 1)
  const arena = gs + (c.capacity + 1) * G_WORDS
  const arenaWords = powerOfTwo(Math.max(c.arena, 4096) / 4)
  return {
    procs: c.procs,
    machines: c.machines,
    capacity: c.capacity,
    global: c.global,
    bounded: c.bounded,
    spins: c.spins,
    ms,
    gq,
    rq,
    queueMask: queueSize - 1,
    marks,
    homes,
    tasks,
    names,
    gs,
    arena,
    arenaWords,
    words: arena + arenaWords,
  }
}

const view = (buffer: ArrayBufferLike, r: Regions): Sched => ({
  mem: new Int32Array(buffer),
  f64: new Float64Array(buffer),
  u8: new Uint8Array(buffer),
  u16: new Uint16Array(buffer),
  procs: r.procs,
  machines: r.machines,
  capacity: r.capacity,
  global: r.global,
  bounded: r.bounded,
  spins: r.spins,
  ms: r.ms,
  gq: r.gq,
  rq: r.rq,
  queueMask: r.queueMask,
  marks: r.marks,
  homes: r.homes,
  tasks: r.tasks,
  names: r.names,
  gs: r.gs,
  arena: r.arena,
  arenaWords: r.arenaWords,
})

/**
 * Lays out a pool's memory. `allocate` gets the size in bytes, a multiple of 8, and returns zeroed memory: a
 * `SharedArrayBuffer` for real machines, an `ArrayBuffer` for simulated ones.
 */
export function create(c: Config, allocate: (bytes: number) => ArrayBufferLike): Sched {
  const r = regions(c)
  const s = view(allocate(r.words * 4), r)
  const mem = s.mem
  mem[PROCS] = c.procs
  mem[MACHINES] = c.machines
  mem[CAPACITY] = c.capacity
  mem[ARENA_WORDS] = r.arenaWords
  mem[QUEUE_MODE] = c.global ? 1 : 0
  mem[BOUNDED] = c.bounded ? 1 : 0
  mem[SPINS] = c.spins
  for (let p = 0; p < c.procs; p++) {
    mem[pw(p) + P_M] = p
    mem[pw(p) + P_HEAD] = c.startIndex
    mem[pw(p) + P_TAIL] = c.startIndex
  }
  for (let m = 0; m < c.machines; m++) {
    for (const word of [M_DONE_TAIL, M_DONE_SEEN, M_DONE_HEAD]) mem[mw(s, m) + word] = c.startIndex
  }
  for (const q of [s.gq, s.rq]) {
    mem[q + Q_HEAD] = c.startIndex
    mem[q + Q_TAIL] = c.startIndex
  }
  mem[SLOTS_FRESH] = 1
  mem[MAGIC] = MAGIC_VALUE
  return s
}

/** Sees memory that another thread has laid out. */
export function attach(buffer: ArrayBufferLike): Sched {
  const mem = new Int32Array(buffer)
  if (mem[MAGIC] !== MAGIC_VALUE) throw new Error("this memory was not laid out by the same version of runon")
  return view(
    buffer,
    regions({
      procs: mem[PROCS],
      machines: mem[MACHINES],
      capacity: mem[CAPACITY],
      arena: mem[ARENA_WORDS] * 4,
      global: mem[QUEUE_MODE] === 1,
      bounded: mem[BOUNDED] === 1,
      spins: mem[SPINS],
      startIndex: 0,
    }),
  )
}

/** First word of P `p`. */
export function pw(p: number): number {
  return PS + p * P_WORDS
}

/** First word of M `m`. */
export function mw(s: Sched, m: number): number {
  return s.ms + m * M_WORDS
}

/** First word of G `g`. */
export function gw(s: Sched, g: number): number {
  return s.gs + g * G_WORDS
}
