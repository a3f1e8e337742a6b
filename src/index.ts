/**
 * Go's M:N scheduler for Deno, Bun and Node, with an Effect API.
 *
 * @module
 */
export { type AllError, type AllOptions, type AllValue, type CallSuccess, type ForEachOptions } from "./Bulk.ts"
export { Call, isCall } from "./Call.ts"
export { registerErrorClass } from "./ErrorClass.ts"
export * from "./Errors.ts"
export { isMain } from "./isMain.ts"
export { type PoolOptions, type ResourceLimits } from "./Options.ts"
export { type DeterministicOptions, Pool, type PoolService } from "./Pool.ts"
export { availableParallelism } from "./Procs.ts"
export { type RangeBody, type RangeBounds, type RangeReduceBody, type RangeTask } from "./Range.ts"
export { type Reduction } from "./Reduce.ts"
export { runOn, type RunOnOptions } from "./RunOn.ts"
export {
  type NotSendable,
  type Sendable,
  type SendableArgs,
  type SendableFunction,
  type SendableResult,
} from "./Sendable.ts"
export { type EffectOptions, type MachineLayer, type ServedEffect, type ServiceMissing } from "./Services.ts"
export { type PoolStats, type ProcStats } from "./Stats.ts"
export * as Task from "./Task.ts"
