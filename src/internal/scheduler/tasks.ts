/**
 * The task-name table: small numbers for names, so that a G carries one word. Entries are never changed or removed,
 * and one entry is complete before the count covers it, so reading needs no lock.
 */
import { MAX_TASKS, NAME_BYTES, type Sched, TASK_WORDS, TASKS_BYTES, TASKS_COUNT, TASKS_LOCK } from "./layout.ts"
import { acquire, unlock } from "./lock.ts"

const OFFSET = 0
const BYTES = 1

/** {@link addTask}: the table is full. */
export const TABLE_FULL = -1
/** {@link addTask}: the host could not get the lock; try on a later turn. */
export const TABLE_BUSY = -2

/** The number of a task, given the bytes that identify it; the same bytes give the same number on every thread. */
export function addTask(s: Sched, bytes: Uint8Array, me: number): number {
  if (!acquire(s, TASKS_LOCK, me)) return TABLE_BUSY
  const count = Atomics.load(s.mem, TASKS_COUNT)
  let id = 0
  while (id < count && !isTask(s, id, bytes)) id++
  if (id === count) {
    const offset = s.mem[TASKS_BYTES]
    if (count === MAX_TASKS || offset + bytes.length > NAME_BYTES) {
      id = TABLE_FULL
    } else {
      s.u8.set(bytes, s.names * 4 + offset)
      s.mem[s.tasks + id * TASK_WORDS + OFFSET] = offset
      s.mem[s.tasks + id * TASK_WORDS + BYTES] = bytes.length
      s.mem[TASKS_BYTES] = offset + bytes.length
      Atomics.store(s.mem, TASKS_COUNT, count + 1)
    }
  }
  unlock(s, TASKS_LOCK)
  return id
}

function isTask(s: Sched, id: number, bytes: Uint8Array): boolean {
  const entry = s.tasks + id * TASK_WORDS
  if (s.mem[entry + BYTES] !== bytes.length) return false
  const at = s.names * 4 + s.mem[entry + OFFSET]
  for (let i = 0; i < bytes.length; i++) {
    if (s.u8[at + i] !== bytes[i]) return false
  }
  return true
}

/** A copy of the bytes that identify task `id`, which a G named. */
export function taskBytes(s: Sched, id: number): Uint8Array {
  const entry = s.tasks + id * TASK_WORDS
  const at = s.names * 4 + s.mem[entry + OFFSET]
  return s.u8.slice(at, at + s.mem[entry + BYTES])
}
