/**
 * Words that the actors and the judge share and the scheduler does not know: who ran, what was delivered. Accesses to
 * them are no steps.
 */
import type { ProgressSlots } from "../../../src/internal/job/progressSlots.ts"
import type { Machine, Sched } from "../../../src/internal/scheduler/index.ts"

/** The memory of a simulated pool. */
export interface Sim extends Sched {
  /** First ghost word. */
  readonly ghosts: number
  readonly progress: ProgressSlots
  /** How many payloads mention each shared buffer. */
  readonly mentions: { readonly words: Int32Array }
}

/** A machine: what find.ts needs, and what else is in its heap. Lists are by G. */
export interface SimMachine extends Machine {
  /** How deep its joins are in helping. */
  helping: number
  seenEpoch: number
  /** Rounds of its loop in which it did not sleep and waited for nothing. */
  vain: number
  /** The hint of a G that is waited for, 0 if it is not. */
  readonly awaited: Array<number>
  /** The hint of an awaited G that has ended here. */
  readonly arrived: Array<number>
  /** What a G that is suspended here waits for, see machines.ts; 0 if none is. */
  readonly suspended: Array<number>
  /** Who has called an awaited G. */
  readonly callers: Array<number>
}

// offsets of ghost words
/** Machine that died, plus 1, until the host took note. */
export const DEATH = 0
/** Machine to start again, plus 1. */
export const REPLACE = 1
/** Calls of the host that were not delivered. */
export const IN_FLIGHT = 2
/** Calls delivered as failed, because their machine died. */
export const FAILED = 3
/** Calls delivered in all. */
export const DELIVERED = 4
/** Gs started. */
export const STARTED = 5
/** Calls that ended as cancelled. */
export const CANCELLED = 6
/** Outcomes of calls that Gs made, as far as they were taken. */
export const COLLECTED = 7
/** Machines that post nothing any more. */
export const SILENT = 8
/** How many Gs must have been started before the event loop of a machine goes on with what waits for it, by machine. */
export const LONG = 24
/** The shared buffers are known everywhere. */
export const KNOWN = 14
/** Free for each model's own use. */
export const MODEL = 16
/** 1: nobody dies, so nothing may be found twice. */
export const STRICT = 15
/** How often a G was started in this life, by G. */
export const RAN = 64
/** Whether the host waits for a G, by G. */
export const EXPECTED = 128
/** Gs of dead machines that run elsewhere, by G. */
export const ORPHANS = 192

/** How often an entry or a record was taken, by G. */
export const TAKEN = 224
/** Blocks that the host could not free yet. */
export const UNFREED = 32
/** How often the host has queued something, for machines without a schedule loop. */
export const QUEUED = 31

// progress, by G
/** One more than the count of writes that was seen last, 0 if nobody listens. */
export const SEEN = 48
/** How many lives of the record have begun. */
export const LIVES = 80
/** Twice the reports that were made in this life; odd while one is being made. */
export const REPORTS = 90
/** The report that was told last. */
export const TOLD = 100

// shared buffers
/** The numbers that were given, and those that have ended, as sets. */
export const GIVEN = 110
export const FORGOTTEN = 111

/** Throws if a promise was broken. */
export function promise(holds: boolean, what: string): void {
  if (!holds) throw new Error(what)
}
