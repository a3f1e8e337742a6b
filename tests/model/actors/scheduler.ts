/** What actors use of the scheduler: all of it, and the locks. */
export * from "../../../src/internal/scheduler/index.ts"
export * from "../../../src/internal/scheduler/lock.ts"
