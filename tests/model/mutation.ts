/** What a mutation is. */
import type { Patch } from "./modules.ts"

/** One way to break it. */
export interface Mutation {
  readonly name: string
  /** The models that are the likeliest to notice: these are asked first. */
  readonly likely: RegExp
  readonly patches: ReadonlyArray<Patch>
}

/** Which models are about what a file does. */
const LIKELY: Readonly<Record<string, RegExp>> = {
  "runq.ts": /ring|overflow|steal|thief|empty/,
  "globalq.ts": /global|compaction|unclaim|full ring/,
  "lock.ts": /^lock/,
  "idle.ts": /wake|spin|help|close|bounded|^death/,
  "find.ts": /wake|spin|help|close|bounded|shared/,
  "status.ts": /start|suspend|put back|join|second life/,
  "inbox.ts": /completions/,
  "slots.ts": /records/,
  "arena.ts": /arena|arguments/,
  "sweep.ts": /death/,
  "mail.ts": /^mail/,
  "progressSlots.ts": /^progress/,
  "mentions.ts": /^buffers/,
  // of the actors
  "suspended.ts": /^mail|call|cancelled/,
  "machines.ts": /^mail|call|cancelled/,
  "host.ts": /death/,
  "progress.ts": /^progress/,
  "reporters.ts": /^progress/,
  "buffers.ts": /^buffers/,
}

/** Makes one. */
export const mutation = (
  name: string,
  file: string,
  ...changes: ReadonlyArray<readonly [string, string]>
): Mutation => ({
  name,
  likely: LIKELY[file],
  patches: changes.map(([find, replace]) => ({ file, find, replace })),
})
