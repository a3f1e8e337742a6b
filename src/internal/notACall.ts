/** What is said to who gives something else where a call belongs. */
import * as Effect from "effect/Effect"
import { isCall } from "../Call.ts"
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

/**
 * Throws if something else is given where a list or a record of calls belongs, such as a single call. That is iterable
 * too, as Effects are for `yield*`.
 */
export const checkCalls = (calls: unknown): void => {
  const must = "calls are given as a list or a record:"
  if (isCall(calls)) throw new TypeError(`${must} [${calls.task}(...args)], not ${calls.task}(...args)`)
  if (typeof calls === "object" && calls !== null && !isThenable(calls)) return
  throw new TypeError(`${must} [task(...args)], not ${kindOf(calls)}`)
}

/** Throws if what is to be a function is none. */
export const checkFunction = (what: string, f: unknown): void => {
  if (typeof f !== "function") throw new TypeError(`${what} must be a function, not ${kindOf(f)}`)
}

/** Throws if items are not given before what is done with them. */
export const checkOrder = (what: string, second: unknown): void => {
  const isList = typeof second === "object" && second !== null && Symbol.iterator in second
  if (isList) throw new TypeError(`the items come first: ${what}`)
}
