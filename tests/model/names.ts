/** Names and meanings of words, for people who read traces. */
import { GHOSTS, type Setup } from "./Model.ts"

const STATES: Readonly<Record<number, string>> = { 0: "FREE", 1: "RUNNABLE", 2: "RUNNING", 4: "WAITING", 6: "DONE" }
const WAKE_BIT = 1 << 15

/** The name of a word, like `P1.head`. */
export function wordName({ N, ghosts, s }: Setup, at: number): string {
  const { layout } = N
  if (at >= ghosts) {
    const offset = at - ghosts
    const known = Object.entries(GHOSTS).find(([, first]) => first === offset)
    return known === undefined ? `model[${offset}]` : `model.${known[0]}`
  }
  const { at: slots } = s.progress.words
  if (at >= slots) return `slot${(at - slots) >> 3}.${SLOT_FIELDS[(at - slots) & 7]}`
  if (at >= s.arena) return `arena[${at - s.arena}]`
  if (at >= s.gs) return `G${Math.floor((at - s.gs) / 32)}.${field(layout, "G_", (at - s.gs) % 32, G_FIELDS)}`
  if (at >= s.homes && at < s.tasks) return `homes[${at - s.homes}]`
  if (at >= s.marks && at < s.homes) return `marks[${at - s.marks}]`
  for (const [name, q] of [["roots", s.rq], ["global", s.gq]]) {
    if (at < q || at >= q + layout.Q_SLOTS + s.queueMask + 1 || (name === "roots" && !s.bounded)) continue
    const offset = at - q
    return `${name}.${
      offset < layout.Q_SLOTS ? field(layout, "Q_", offset, Q_FIELDS) : `slot${offset - layout.Q_SLOTS}`
    }`
  }
  if (at >= s.ms) {
    const size = (s.gq - s.ms) / s.machines
    const offset = (at - s.ms) % size
    const M = `M${Math.floor((at - s.ms) / size)}`
    if (offset >= layout.M_DONE) return `${M}.done${offset - layout.M_DONE}`
    return `${M}.${offset < layout.M_BOX ? field(layout, "M_", offset, M_FIELDS) : `box${offset - layout.M_BOX}`}`
  }
  const firstP = layout.pw(0)
  if (at >= firstP) {
    const size = layout.pw(1) - firstP
    const offset = (at - firstP) % size
    const P = `P${Math.floor((at - firstP) / size)}`
    return `${P}.${offset < layout.P_RING ? field(layout, "P_", offset, P_FIELDS) : `ring${offset - layout.P_RING}`}`
  }
  if (at >= layout.ARENA_FREE && at < layout.ARENA_WANTED) return `arena.free[${at - layout.ARENA_FREE}]`
  return field(layout, "", at, HEADER)
}

const SLOT_FIELDS = ["LISTENED", "COUNT", "DONE", "", "TOTAL"]
const P_FIELDS = ["P_M", "P_HEAD", "P_TAIL", "P_NEXT", "P_FREE"]
const M_FIELDS = ["M_PARK", "M_LIFE", "M_MAIL", "M_DONE_TAIL", "M_DONE_SEEN", "M_DONE_HEAD"]
const Q_FIELDS = ["Q_LOCK", "Q_HEAD", "Q_TAIL"]
const G_FIELDS = [
  "G_STATUS",
  "G_FLAGS",
  "G_TASK",
  "G_NEXT",
  "G_PARENT",
  "G_WAITER",
  "G_OUTCOME",
  "G_BLOCK",
  "G_BYTES",
  "G_PREV",
  "G_SIBLING",
  "G_CHILD",
]
const HEADER = [
  "STATE",
  "CANCEL_EPOCH",
  "SLOTS_LOCK",
  "SLOTS_FREE",
  "SLOTS_FRESH",
  "SLOTS_WANTED",
  "HOST_FREE",
  "HOST_INBOX",
  "HOST_WAKE",
  "HOST_SLEEPS",
  "ARENA_LOCK",
  "ARENA_USED",
  "ARENA_WANTED",
  "IDLE_BITS",
  "SPIN_BITS",
]

const field = (
  layout: Readonly<Record<string, number>>,
  prefix: string,
  offset: number,
  fields: ReadonlyArray<string>,
): string => {
  const exact = fields.find((name) => layout[name] === offset)
  if (exact !== undefined) return exact.slice(prefix.length)
  const before = fields.find((name) => layout[name] === offset - 1)
  return before === undefined ? `word${offset}` : `${before.slice(prefix.length)}+1`
}

/** What a word holds, like `RUNNING m1`. */
export function valueName({ N }: Setup, name: string, value: number): string {
  if (name.endsWith(".STATUS")) {
    const { generationOf, machineOf, stateOf } = N.status
    const state = STATES[stateOf(value)] ?? "?"
    const wake = (value & WAKE_BIT) !== 0 ? " wake" : ""
    return `${state}${state === "FREE" || state === "RUNNABLE" ? "" : ` m${machineOf(value)}`}${wake}@${
      generationOf(value)
    }`
  }
  if (name.endsWith("LOCK")) {
    const owner = (value & ~(1 << 30)) - 1
    const by = owner < 0 ? "free" : owner === N.layout.HOST ? "host" : `m${owner}`
    return (value & (1 << 30)) !== 0 ? `${by}!` : by
  }
  if (/(\.NEXT|\.ring\d+|\.slot\d+|\.box\d+)$/.test(name) && !name.startsWith("G")) {
    return value === 0 ? "-" : `G${N.status.indexOf(value)}@${value >>> 22}`
  }
  if (name.startsWith("IDLE_BITS") || name.startsWith("SPIN_BITS")) return `0b${(value >>> 0).toString(2)}`
  return String(value)
}
