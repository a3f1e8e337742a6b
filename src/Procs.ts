/**
 * How many machines a pool should have.
 *
 * @since 0.1.0
 */

interface Navigator {
  readonly hardwareConcurrency?: number
}

/**
 * The parallelism that the runtime reports as available: the default number of machines of a pool. At least 1.
 *
 * @since 0.1.0
 * @category utils
 */
export const availableParallelism = (): number => {
  const { navigator } = globalThis as { readonly navigator?: Navigator }
  if (navigator?.hardwareConcurrency !== undefined) return Math.max(1, navigator.hardwareConcurrency)
  // Node 20 has no navigator.
  return Math.max(1, process.getBuiltinModule("node:os").availableParallelism())
}
