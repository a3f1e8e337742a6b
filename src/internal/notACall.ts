/** What is said to who gives something else where a call belongs. */
import * as Effect from "effect/Effect"
import { isThenable } from "./machine/MachineRuntime.ts"

/** What a value is, in words. */
export const kindOf = (value: unknown): string => {
  if (typeof value === "function") return "task" in value ? `the task "${value.task}" itself` : "a function"
  if (isThenable(value)) return "a promise"
  return Effect.isEffect(value) ? "another Effect" : String(value)
}

/** The error of an item of a list that is no call. */
export const itemIsNoCall = (index: number, value: unknown): TypeError =>
  new TypeError(`item ${index} is not a call, task(...args), but ${kindOf(value)}`)

/** The error of a single call where a list of them belongs. Calls are iterable too, as Effects are for `yield*`. */
export const callIsNoList = (task: string): TypeError =>
  new TypeError(`calls are given as a list or a record: [${task}(...args)], not ${task}(...args)`)
