import type { Model } from "../Model.ts"
import { bufferModels } from "./buffers.ts"
import { callModels } from "./calls.ts"
import { partModels } from "./parts.ts"
import { poolModels } from "./pool.ts"
import { progressModels } from "./progress.ts"
import { queueModels } from "./queues.ts"

/** All models. */
export const models: ReadonlyArray<Model> = [
  ...queueModels,
  ...partModels,
  ...poolModels,
  ...callModels,
  ...progressModels,
  ...bufferModels,
]
