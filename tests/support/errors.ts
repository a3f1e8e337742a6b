import { TaskFailed } from "../../src/index.ts"

/** What was thrown below a chain of calls. */
export const bottomOf = (error: unknown): unknown => error instanceof TaskFailed ? bottomOf(error.error) : error
