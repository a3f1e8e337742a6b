/** Options of promises, which may have a signal. */
import { kindOf } from "../notACall.ts"
import { type Taken, wrongOptions } from "../options.ts"

const isSignal = (value: unknown): value is AbortSignal => {
  const { aborted, addEventListener } = Object(value) as Partial<AbortSignal>
  return typeof aborted === "boolean" && typeof addEventListener === "function"
}

/** What is wrong with options that may have a signal. */
export const wrongWithSignal = (
  taken: Taken,
  options: { readonly signal?: AbortSignal | undefined } | undefined,
): Error | undefined => {
  if (options === undefined) return undefined
  if (isSignal(options)) return new TypeError(`${taken.of} takes a signal as an option: { signal }`)
  const wrong = wrongOptions(taken, options)
  if (wrong !== undefined) return wrong
  const { signal } = options
  if (signal === undefined || isSignal(signal)) return undefined
  return new TypeError(
    `option "signal" must be an AbortSignal, not ${kindOf(signal)}: pass controller.signal, or AbortSignal.timeout(ms)`,
  )
}
