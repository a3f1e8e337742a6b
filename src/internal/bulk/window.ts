import { InvalidOptions } from "../../Errors.ts"
import { isConcurrency } from "../options.ts"

/** How many calls may be under way at once, by an option that may be missing. Throws if it is no such number. */
export const windowOf = (concurrency: number | undefined, otherwise: number): number => {
  if (isConcurrency(concurrency)) return concurrency ?? otherwise
  throw new InvalidOptions({
    option: "concurrency",
    value: concurrency,
    expected: "a whole number from 1, or Infinity",
  })
}
