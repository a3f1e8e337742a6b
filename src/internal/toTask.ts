/** Tasks as their users see them. */
import { Call } from "../Call.ts"
import type { Task } from "../Task.ts"
import type { TaskDef } from "./registry.ts"

/** The function that makes calls of a task. */
export const toTask = <Args extends ReadonlyArray<unknown>, A, E = never>(def: TaskDef): Task<Args, A, E> =>
  Object.defineProperty((...args: Args) => new Call<A, E>(def, args), "task", { value: def.name }) as Task<Args, A, E>
