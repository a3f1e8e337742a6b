/** Causes of Effect tasks as plain values, for their way to another thread. */
import * as Cause from "effect/Cause"
import * as FiberId from "effect/FiberId"

/** A cause as data: what happened, and how the parts relate. */
type Packed =
  | { readonly kind: "empty" }
  | { readonly kind: "fail" | "die"; readonly error: unknown }
  | { readonly kind: "interrupt"; readonly fibers: ReadonlyArray<readonly [id: number, startTimeMillis: number]> }
  | { readonly kind: "sequential" | "parallel"; readonly left: Packed; readonly right: Packed }

/** A cause as a value that the codec can encode, if it can encode the errors in it. */
export const packCause = (cause: Cause.Cause<unknown>): Packed =>
  Cause.match(cause, {
    onEmpty: { kind: "empty" } as Packed,
    onFail: (error): Packed => ({ kind: "fail", error }),
    onDie: (error): Packed => ({ kind: "die", error }),
    onInterrupt: (id): Packed => ({
      kind: "interrupt",
      fibers: Array.from(FiberId.toSet(id), ({ id, startTimeMillis }) => [id, startTimeMillis] as const),
    }),
    onSequential: (left, right): Packed => ({ kind: "sequential", left, right }),
    onParallel: (left, right): Packed => ({ kind: "parallel", left, right }),
  })

/** The cause that was packed. */
export const unpackCause = (value: unknown): Cause.Cause<unknown> => {
  const packed = value as Packed
  switch (packed.kind) {
    case "empty":
      return Cause.empty
    case "fail":
      return Cause.fail(packed.error)
    case "die":
      return Cause.die(packed.error)
    case "interrupt":
      return Cause.interrupt(
        packed.fibers.reduce<FiberId.FiberId>(
          (all, [id, startTimeMillis]) => FiberId.combine(all, FiberId.runtime(id, startTimeMillis)),
          FiberId.none,
        ),
      )
    case "sequential":
      return Cause.sequential(unpackCause(packed.left), unpackCause(packed.right))
    case "parallel":
      return Cause.parallel(unpackCause(packed.left), unpackCause(packed.right))
  }
}
