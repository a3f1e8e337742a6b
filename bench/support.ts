/** Yardsticks and arithmetic for the benchmarks. */
import { Worker } from "node:worker_threads"
import { Piscina } from "piscina"

/** Name of the runtime. */
export const runtime = "Deno" in globalThis ? "Deno" : "Bun" in globalThis ? "Bun" : "Node"

/** The middle value. */
export const median = (values: ReadonlyArray<number>): number => [...values].sort((a, b) => a - b)[values.length >> 1]

/** Microseconds per call of piscina with `workers` warm workers, all calls submitted at once. */
export const piscinaRate = async (workers: number): Promise<{
  readonly microsPerCall: (calls: number) => Promise<number>
  readonly close: () => Promise<void>
}> => {
  const pool = new Piscina({
    filename: new URL("./piscina_worker.mjs", import.meta.url).href,
    minThreads: workers,
    maxThreads: workers,
  })
  await Promise.all(Array.from({ length: 1000 }, (_, i) => pool.run(i)))
  return {
    microsPerCall: async (calls) => {
      const began = performance.now()
      await Promise.all(Array.from({ length: calls }, (_, i) => pool.run(i)))
      return (performance.now() - began) * 1000 / calls
    },
    close: () => pool.close(),
  }
}

/** The least that a round trip can cost: two words, `Atomics.waitAsync` on this side, `Atomics.wait` on the other. */
export const pingPong = async (): Promise<{
  readonly micros: (trips: number) => Promise<ReadonlyArray<number>>
  readonly close: () => Promise<void>
}> => {
  const words = new Int32Array(new SharedArrayBuffer(256))
  const [PING, PONG] = [0, 32]
  const worker = new Worker(new URL("./pong_worker.mjs", import.meta.url))
  await new Promise<void>((resolve) =>
    worker.on("message", (message) => {
      if (message === "hello") worker.postMessage(words)
      else resolve()
    })
  )
  let n = 0
  return {
    micros: async (trips) => {
      const times: Array<number> = []
      for (let i = 0; i < trips; i++) {
        const began = performance.now()
        Atomics.store(words, PING, ++n)
        Atomics.notify(words, PING)
        while (Atomics.load(words, PONG) !== n) await Atomics.waitAsync(words, PONG, n - 1).value
        times.push((performance.now() - began) * 1000)
      }
      return times
    },
    close: async () => {
      Atomics.store(words, PING, -1)
      Atomics.notify(words, PING)
      await new Promise((resolve) => worker.once("exit", resolve))
    },
  }
}
