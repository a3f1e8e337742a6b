/** How many calls may be under way at once, by an option that may be missing. */
export const windowOf = (concurrency: number | undefined, otherwise: number): number =>
  concurrency === undefined ? otherwise : concurrency >= 1 ? Math.floor(concurrency) : 1
