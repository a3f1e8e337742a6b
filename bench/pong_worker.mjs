import { parentPort } from "node:worker_threads"

parentPort.once("message", (words) => {
  parentPort.postMessage("ready")
  for (let n = 0; n !== -1;) {
    Atomics.wait(words, 0, n)
    n = Atomics.load(words, 0)
    Atomics.store(words, 32, n)
    Atomics.notify(words, 32)
  }
  process.exit(0)
})
parentPort.postMessage("hello")
