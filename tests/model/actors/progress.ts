/**
 * How far Gs are: those who report it, and who listens, in the composition of ProgressWatch.ts. Whoever listens begins
 * before the G is queued and ends before its record is given back, as Deliveries.ts and Nested.ts do.
 */
import { closeSlot, openSlot, readSlot, report } from "../../../src/internal/job/progressSlots.ts"
import { LIVES, promise, REPORTS, SEEN, type Sim, TOLD } from "./ghosts.ts"

/** What the two numbers of a report differ by. */
const APART = 1000

/** A G makes its reports: each says whose it is, in which of the record's lives, and its number. */
export function makeReports(s: Sim, g: number, reports: number): void {
  const whose = whoseIs(s, g)
  for (let n = 1; n <= reports; n++) {
    s.mem[s.ghosts + REPORTS + g]++
    report(s.progress, g, whose + n, whose + n + APART)
    s.mem[s.ghosts + REPORTS + g]++
  }
}

function whoseIs(s: Sim, g: number): number {
  return (s.mem[s.ghosts + LIVES + g] * 8 + g) * 10
}

/** A record begins a life. `listens`: ProgressWatch.begin. */
export function beginLife(s: Sim, g: number, listens: boolean): void {
  s.mem[s.ghosts + LIVES + g]++
  s.mem[s.ghosts + REPORTS + g] = 0
  s.mem[s.ghosts + TOLD + g] = 0
  s.mem[s.ghosts + SEEN + g] = 0
  if (!listens) return
  openSlot(s.progress, g)
  s.mem[s.ghosts + SEEN + g] = 1
}

/** ProgressWatch.end, if anybody listens. */
export function endLife(s: Sim, g: number): void {
  if (s.mem[s.ghosts + SEEN + g] === 0) return
  lookAt(s, g)
  // Who died in the midst of a report leaves nothing to read.
  const made = s.mem[s.ghosts + REPORTS + g]
  promise(made % 2 === 1 || s.mem[s.ghosts + TOLD + g] * 2 === made, `the last report of G${g} was not told`)
  closeSlot(s.progress, g)
  s.mem[s.ghosts + SEEN + g] = 0
}

/** ProgressWatch.#lookAt, if anybody listens. */
export function lookAt(s: Sim, g: number): void {
  if (s.mem[s.ghosts + SEEN + g] === 0) return
  const pair = { done: 0, total: 0 }
  const seen = s.mem[s.ghosts + SEEN + g] - 1
  const count = readSlot(s.progress, g, seen, pair)
  if (count === seen) return
  s.mem[s.ghosts + SEEN + g] = count + 1
  promise(pair.total === pair.done + APART, `a report of G${g} was told with the total of another`)
  const n = pair.done - whoseIs(s, g)
  promise(n > 0 && n < 10, `G${g} was told to be as far as another`)
  promise(n > s.mem[s.ghosts + TOLD + g], `a report of G${g} was told twice, or after a later one`)
  promise(2 * n <= s.mem[s.ghosts + REPORTS + g], `a report of G${g} was told before it was made`)
  s.mem[s.ghosts + TOLD + g] = n
}
