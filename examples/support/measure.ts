import * as Effect from "effect/Effect"

/** Milliseconds that the same work took on this thread alone and on a pool, the best of some rounds each. */
export interface Comparison {
  readonly rounds: number
  readonly alone: number
  readonly pooled: number
}

const milliseconds = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<number, E, R> =>
  Effect.suspend(() => {
    const began = performance.now()
    return Effect.map(work, () => performance.now() - began)
  })

/**
 * Runs work on this thread and on the pool, in turns so that what else the machine does meets both alike. The best
 * round counts: the first ones also compile the code and fill caches, on the machines as well as here.
 */
export const compare = <A, E, R>(
  alone: () => void,
  pooled: Effect.Effect<A, E, R>,
  rounds = 3,
): Effect.Effect<Comparison, E, R> =>
  Effect.gen(function* () {
    let best = { alone: Infinity, pooled: Infinity }
    for (let round = 0; round < rounds; round++) {
      best = {
        alone: Math.min(best.alone, yield* milliseconds(Effect.sync(alone))),
        pooled: Math.min(best.pooled, yield* milliseconds(pooled)),
      }
    }
    return { rounds, ...best }
  })

/** The comparison as a line of text. */
export const speed = ({ alone, pooled, rounds }: Comparison, procs: number): string =>
  `one thread ${alone.toFixed(0)} ms, ${procs} ${procs === 1 ? "worker" : "workers"} ${pooled.toFixed(0)} ms: ` +
  `${(alone / pooled).toFixed(2)} times as fast (best of ${rounds} rounds each, in turns)`
