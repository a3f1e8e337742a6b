/**
 * Mailboxes: how a machine learns that Gs have ended which its suspended Gs wait for. As everywhere, an entry is a hint
 * and the status is the truth: a machine knows which Gs it waits for, and takes a hint for one that it does not wait for,
 * or that has not ended, for nothing. So hints may come late or twice, and the finisher touches no record that
 * somebody else may have freed meanwhile.
 *
 * A box has a flag word and {@link MAIL_SLOTS} slots.
 * - slots: finishers CAS 0 to a hint, the owner exchanges it for 0.
 * - flag: finishers set a bit after the hint is in a slot, or {@link LOOK_AT_ALL} if they found no free one; the owner
 *   exchanges it for 0 before it looks at the slots. So a hint is seen by the look that follows the setting of its bit.
 * - The finisher calls {@link unpark} last. A machine clears its park word, then looks at the flag, then sleeps.
 *
 * A finisher that dies before the flag is set has told nobody. The G is DONE with its machine in the status word, and the
 * host, which sweeps up, posts all such Gs again.
 */
import { M_BOX, M_MAIL, MAIL_SLOTS, mw, type Sched } from "./layout.ts"
import { unpark } from "./status.ts"

/** Hints stand in the slots. */
const SOME = 1
/** The slots were full: any G that is waited for may have ended. */
export const LOOK_AT_ALL = 2

/** Slots that a finisher tries. */
const TRIES = 8

/** Tells machine `m` that the G of `hint`, for which it waits, has ended. */
export function post(s: Sched, m: number, hint: number): void {
  const at = mw(s, m)
  let flag = LOOK_AT_ALL
  for (let i = 0; i < TRIES; i++) {
    // Those that come one after the other start at different slots; where does not matter.
    const slot = at + M_BOX + ((hint + i) & (MAIL_SLOTS - 1))
    if (Atomics.compareExchange(s.mem, slot, 0, hint) === 0) {
      flag = SOME
      break
    }
  }
  Atomics.or(s.mem, at + M_MAIL, flag)
  unpark(s, m)
}

/**
 * Empties the box of machine `m`, whose thread the caller is, into `hints`, which has {@link MAIL_SLOTS} entries.
 * Returns how many there are, or -1 if it must look at all Gs that it waits for.
 */
export function takeMail(s: Sched, m: number, hints: Int32Array): number {
  const at = mw(s, m)
  if (Atomics.load(s.mem, at + M_MAIL) === 0) return 0
  const flag = Atomics.exchange(s.mem, at + M_MAIL, 0)
  let n = 0
  for (let i = 0; i < MAIL_SLOTS; i++) {
    const slot = at + M_BOX + i
    if (Atomics.load(s.mem, slot) !== 0) hints[n++] = Atomics.exchange(s.mem, slot, 0)
  }
  return (flag & LOOK_AT_ALL) !== 0 ? -1 : n
}
