import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { describe, expect, it } from "vitest"
import { explore } from "./model/explore.ts"
import { justified } from "./model/justified.ts"
import { programFor } from "./model/Model.ts"
import { models } from "./model/models/index.ts"
import { here, patched, schedulerDir } from "./model/modules.ts"
import { mutations } from "./model/mutations.ts"
import { runRandom } from "./model/random.ts"
import { currentRuntime } from "./support/run.ts"
import { describe as write, replay, shortest, spelledOut } from "./model/trace.ts"

/** States per model. What is left over is for `npm run check:model`; the checker does the same on every runtime. */
const STATES = currentRuntime === "node" ? 12_000 : 4000
const RANDOM = 10

const modelNamed = (name: string) => models.find((model) => model.name === name)!
const mutationNamed = (name: string) => mutations.find((mutation) => mutation.name === name)!

describe("The scheduler keeps its promises in every explored interleaving of", () => {
  for (const model of models) {
    it(`${model.name}: ${model.shows}`, async () => {
      const program = await programFor(model)
      const report = explore(model, program, { maxStates: model.fast ? STATES : STATES / 6 })
      expect(report.failure && write(model, program, report.failure)).toBe(undefined)
      const random = runRandom(model, program, 1000, RANDOM)
      expect(random.failure && write(model, program, random.failure)).toBe(undefined)
      expect([...random.races.keys()].filter((race) => !justified.has(race))).toEqual([])
    })
  }
})

describe("The checker", () => {
  it("catches a thief that moves the head with a plain store, and its shortest schedule fails again", async () => {
    const model = modelNamed("ring")
    const { patches } = mutationNamed("a thief moves the head with a store")
    const program = await programFor(model, { patches })
    const { failure } = explore(model, program)
    const short = shortest(model, program, failure!)
    expect(replay(model, program, short)).toBe(short.message)
    expect(replay(model, program, spelledOut(model, program, short))).toBe(short.message)
    expect(write(model, program, short)).toMatch(/store +P0\.HEAD/)
  })

  it("catches a lost wake-up", async () => {
    const model = modelNamed("completions")
    const { patches } = mutationNamed("the host does not look again before it sleeps")
    const { failure } = explore(model, await programFor(model, { patches }))
    expect(failure?.message).toMatch(/neither free nor runnable/)
  })

  it("catches a sweep that forgets a lock", async () => {
    const model = modelNamed("global queue, with a death")
    const { patches } = mutationNamed("the sweep leaves the queue locked")
    // The host tries to get the lock again and again: no state is the last one, and only a fair schedule tells.
    const { failure } = runRandom(model, await programFor(model, { patches }), 1, 200)
    expect(failure?.message).toMatch(/run for ever/)
  })

  it("explores a space whole and the same way each time", async () => {
    const model = modelNamed("next against a thief")
    const program = await programFor(model)
    const one = explore(model, program)
    const two = explore(model, program)
    expect(one.cut).toBe(false)
    expect([two.states, two.schedules]).toEqual([one.states, one.schedules])
  })

  it("has mutations that all fit the code as it is", () => {
    for (const { name, patches } of mutations) {
      for (const { file } of patches) {
        const paths = [schedulerDir, resolve(schedulerDir, "../job"), resolve(here, "actors")].map((dir) =>
          join(dir, file)
        )
        const source = readFileSync(paths.find((path) => existsSync(path))!, "utf8")
        expect(() => patched(file, source, patches), name).not.toThrow()
      }
    }
  })
})
