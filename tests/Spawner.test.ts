import { readdirSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { detectSpawner } from "../src/internal/host/detect.ts"
import type { NodeSpawnerOptions } from "../src/internal/host/NodeSpawner.ts"
import type { MachineExit, MachineHandle } from "../src/internal/host/Spawner.ts"
import { runScript } from "./support/run.ts"

const runtime = detectSpawner().runtime
const [onDeno, onBun, onNode] = [runtime === "deno", runtime === "bun", runtime === "node"]

const fixture = (name: string): URL => new URL(`./fixtures/spawner/${name}`, import.meta.url)

interface Observed {
  readonly machine: MachineHandle
  readonly messages: ReadonlyArray<unknown>
  readonly exits: ReadonlyArray<MachineExit>
  /** The next message that has not been taken yet. */
  readonly next: () => Promise<unknown>
  readonly exit: Promise<MachineExit>
}

/** Keeps the process alive while it waits, as a machine does not. */
const bounded = <A>(what: string, promise: Promise<A>): Promise<A> => {
  let timer: ReturnType<typeof setTimeout>
  return Promise.race([
    promise,
    new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${what} did not happen`)), 30_000)
    }),
  ]).finally(() => clearTimeout(timer))
}

const start = (entry: string, init?: unknown, options?: NodeSpawnerOptions): Observed => {
  const messages: Array<unknown> = []
  const exits: Array<MachineExit> = []
  let taken = 0
  let wake = (): void => {}
  let ended: (exit: MachineExit) => void
  const exit = new Promise<MachineExit>((resolve) => {
    ended = resolve
  })
  const machine = detectSpawner(options).spawn(fixture(entry), "test machine", init, {
    onMessage: (message) => {
      if (exits.length > 0) throw new Error("a message was reported after the exit")
      messages.push(message)
      wake()
    },
    onExit: (exit) => {
      exits.push(exit)
      ended(exit)
    },
  })
  const next = async (): Promise<unknown> => {
    while (taken === messages.length) {
      await bounded(
        "a message",
        new Promise<void>((resolve) => {
          wake = resolve
        }),
      )
    }
    return messages[taken++]
  }
  return { machine, messages, exits, next, exit: bounded("the exit", exit) }
}

/** Starts the echo machine, and waits until it has connected. */
const startEcho = async (init?: unknown, options?: NodeSpawnerOptions): Promise<Observed> => {
  const observed = start("echo.ts", init, options)
  expect(await observed.next()).toEqual({ ready: init })
  return observed
}

const act = async (observed: Observed, what: string): Promise<void> => {
  observed.machine.post(what)
  expect(await observed.next()).toEqual({ doing: what })
}

const eventually = async (what: string, holds: () => boolean): Promise<void> => {
  const end = Date.now() + 30_000
  while (!holds()) {
    if (Date.now() > end) throw new Error(`${what} never came true`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const onLinux = process.platform === "linux"
const threads = (): number => readdirSync("/proc/self/task").length

describe("Spawner", () => {
  it("hands init to the machine and carries messages both ways, in order", async () => {
    const observed = await startEcho({ list: [1, 2, 3], map: new Map([["a", 1]]) })
    for (let i = 0; i < 100; i++) observed.machine.post(i)
    for (let i = 0; i < 100; i++) expect(await observed.next()).toEqual({ echo: i })
    observed.machine.post("exit")
    await observed.exit
  })

  it("holds messages back while the machine loads, and keeps their order", async () => {
    const observed = start("slow.ts", "init")
    const first = { value: 1 }
    observed.machine.post(first)
    first.value = 2
    observed.machine.post("two")
    expect(await observed.next()).toEqual({ ready: "init" })
    expect(await observed.next()).toEqual({ echo: { value: 1 } })
    expect(await observed.next()).toEqual({ echo: "two" })
    observed.machine.post("exit")
    await observed.exit
  })

  it("shares memory in init", async () => {
    const words = new Int32Array(new SharedArrayBuffer(4))
    const observed = await startEcho({ words })
    observed.machine.post("share")
    expect(await observed.next()).toEqual({ doing: "share" })
    await eventually("the write", () => Atomics.load(words, 0) === 42)
    observed.machine.post("exit")
    await observed.exit
  })

  it("transfers what is to be transferred, before and after the machine has connected", async () => {
    const observed = start("echo.ts")
    const early = new Uint8Array([1, 2, 3]).buffer
    observed.machine.post(early, [early])
    expect(early.byteLength).toBe(0)
    expect(await observed.next()).toEqual({ ready: undefined })
    expect(await observed.next()).toEqual({ echo: new Uint8Array([1, 2, 3]).buffer })
    const late = new Uint8Array([4]).buffer
    observed.machine.post(late, [late])
    expect(late.byteLength).toBe(0)
    expect(await observed.next()).toEqual({ echo: new Uint8Array([4]).buffer })
    observed.machine.post("exit")
    await observed.exit
  })

  it("throws at the caller what cannot be cloned, and goes on", async () => {
    expect(() => start("echo.ts", () => {})).toThrow()
    const observed = start("echo.ts")
    expect(() => observed.machine.post(() => {})).toThrow()
    expect(await observed.next()).toEqual({ ready: undefined })
    expect(() => observed.machine.post(() => {})).toThrow()
    observed.machine.post("exit")
    await observed.exit
  })

  it("reports the exit once, after every message of a machine that ended itself", async () => {
    const observed = await startEcho()
    observed.machine.post("exit with mail")
    const exit = await observed.exit
    expect(exit.error).toBeUndefined()
    // Bun can lose what is sent just before the end of a thread.
    if (!onBun) expect(observed.messages.slice(-20)).toEqual(Array.from({ length: 20 }, (_, i) => i))
    observed.machine.post("ignored")
    observed.machine.terminate()
    const again = await startEcho()
    again.machine.post("exit")
    await again.exit
    expect(observed.exits).toHaveLength(1)
  })

  for (const how of ["process.exit", ...(onDeno ? ["Deno.exit", "self.close"] : [])]) {
    it(`reports the exit of a machine that calls ${how}`, async () => {
      const observed = await startEcho()
      observed.machine.post(how)
      expect(await observed.exit).toEqual({ code: onDeno ? undefined : 3, error: undefined })
    })
  }

  for (const what of ["throw", "reject"]) {
    it(`reports the exit of a machine that does not catch: ${what}`, async () => {
      const observed = await startEcho()
      observed.machine.post(what)
      const exit = await observed.exit
      expect(exit.error).toBeInstanceOf(Error)
      expect((exit.error as Error).message).toContain(what === "throw" ? "thrown in a timer" : "rejected")
    })
  }

  it("hands stray errors and rejections to the link's handler, and the machine goes on", async () => {
    const observed = await startEcho()
    await act(observed, "catch strays")
    await act(observed, "throw")
    expect(await observed.next()).toEqual({ stray: "thrown in a timer" })
    await act(observed, "reject")
    expect(await observed.next()).toEqual({ stray: "rejected" })
    await act(observed, "throw 42")
    expect(await observed.next()).toEqual({ stray: 42 })
    observed.machine.post("still here")
    expect(await observed.next()).toEqual({ echo: "still here" })
    observed.machine.post("exit")
    await observed.exit
  })

  it("reports an entry that does not exist, or throws while it loads, by its exit", async () => {
    const missing = await start("missing.ts").exit
    expect((missing.error as Error).message).toContain("missing.ts")
    const throws = await start("throws.ts").exit
    expect((throws.error as Error).message).toContain("thrown while loading")
  })

  it("ends a machine that never finishes loading", async () => {
    const observed = start("never.ts")
    observed.machine.terminate()
    await observed.exit
    expect(observed.messages).toEqual([])
  })

  it("drops a termination that was asked for while loading, if the machine ends by itself", async () => {
    const observed = start("throws.ts")
    observed.machine.terminate()
    await observed.exit
    expect(observed.exits).toHaveLength(1)
  })

  it("terminates a machine at any moment of its start", async () => {
    for (let delay = 0; delay < 40; delay += 4) {
      const observed = start("echo.ts")
      await new Promise((resolve) => setTimeout(resolve, delay))
      observed.machine.terminate()
      observed.machine.terminate()
      await observed.exit
    }
  })

  it("terminates a machine that idles in its event loop", async () => {
    const observed = await startEcho()
    observed.machine.terminate()
    await observed.exit
  })

  it.skipIf(!detectSpawner().canTerminate)("terminates a machine that is busy or parked", async () => {
    for (const what of ["spin", "park"]) {
      const observed = await startEcho()
      await act(observed, what)
      observed.machine.terminate()
      await observed.exit
    }
  })

  it.skipIf(!onNode)("reports an exhausted heap", async () => {
    const observed = await startEcho(undefined, { resourceLimits: { maxOldGenerationSizeMb: 32 } })
    observed.machine.post("exhaust heap")
    expect(await observed.exit).toMatchObject({ error: { code: "ERR_WORKER_OUT_OF_MEMORY" } })
  })

  it("works when the host is itself a machine", async () => {
    const observed = start("nested.ts")
    expect(await observed.next()).toEqual({ inner: { ready: "inner init" } })
    await observed.exit
    // Bun can lose what is sent just before the end of a thread.
    if (!onBun) expect(observed.messages.slice(1)).toEqual([{ inner: { doing: "exit" } }, "inner is gone"])
  })

  it.skipIf(!onLinux)("leaves no thread", async () => {
    const settle = async () => {
      const observed = await startEcho()
      observed.machine.post("exit")
      await observed.exit
    }
    // The runtime's own helpers start with the first machines.
    for (let i = 0; i < 3; i++) await settle()
    const before = threads()
    for (let i = 0; i < 5; i++) {
      await Promise.all([
        settle(),
        startEcho().then((observed) => {
          observed.machine.terminate()
          return observed.exit
        }),
        start("throws.ts").exit,
      ])
    }
    await eventually("the former number of threads", () => threads() <= before)
  })
})

describe("A host process", () => {
  for (const doing of ["idle", "park", "spin"]) {
    for (const [ending, code] of [["reaches its end", 0], ["throws", 1], ["exits", 7]] as const) {
      it(`ends with ${code} when it ${ending}, whatever its machine does: ${doing}`, async () => {
        const { code: actual, stderr, stdout } = await runScript(fixture("host.ts"), [doing, ending])
        const output = stdout + stderr
        expect(output).not.toContain("the machine ended before its host")
        expect({ code: actual, output: code === 1 ? "" : output }).toEqual({ code, output: "" })
        if (code === 1) expect(output).toContain("the host throws")
      })
    }
  }
})
