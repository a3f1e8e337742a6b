/**
 * Chooses the spawner for the runtime that this module runs on.
 */
import { makeBunSpawner } from "./BunSpawner.ts"
import { makeDenoSpawner } from "./DenoSpawner.ts"
import { makeNodeSpawner, type NodeSpawnerOptions } from "./NodeSpawner.ts"
import type { Spawner } from "./Spawner.ts"

/** The spawner for the current runtime. The options are Node's; other runtimes have nothing to do for them. */
export const detectSpawner = (options?: NodeSpawnerOptions): Spawner =>
  "Deno" in globalThis ? makeDenoSpawner() : "Bun" in globalThis ? makeBunSpawner() : makeNodeSpawner(options)
