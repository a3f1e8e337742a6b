/** The module that a machine's thread starts with. */
// What the modules of tasks import. Better loaded with the pool than with the first call.
import "../../index.ts"
import * as Cause from "effect/Cause"
import { ofNoCall, strayCause } from "../codec/stray.ts"
import { attach, M_EXITED, M_LIFE, M_READY, mw, stopSpinning } from "../scheduler/index.ts"
import { connect } from "./connect.ts"
import { setCurrentMachine } from "./current.ts"
import { runLoop } from "./loop.ts"
import { MachineRuntime } from "./MachineRuntime.ts"
import type { MachineInit, ToHost, ToMachine } from "./messages.ts"
import { awaitingRunning } from "./Running.ts"
import { SharedTable } from "./SharedTable.ts"

const link = await connect()
const init = link.init as MachineInit
const tell = (message: ToHost): void => link.post(message)

const s = attach(init.memory)
const shared = new SharedTable(init.m + 1, new Int32Array(init.mentions), tell)
for (const { buffer, id } of init.shared) shared.add(id, buffer)
shared.lose(init.lost)
link.onMessage((message) => {
  const told = message as ToMachine
  if (told.kind === "shared") shared.add(told.id, told.buffer)
  else if (told.kind === "forget") shared.forget(told, init.m)
  else if (told.kind === "lost") shared.lose(told.ids)
  else machine.services.questions.answer(told)
})
link.onStray((error) => machine.services.stray(ofNoCall(origin()), strayCause(error)))

const machine = new MachineRuntime(s, init, shared, tell)
setCurrentMachine(machine)
stopSpinning(s, init.p) // a predecessor's, if it died while it looked for work
Atomics.store(s.mem, mw(s, init.m) + M_LIFE, M_READY)
tell({ kind: "ready" })
if (await runs()) await close()
link.exit()

/** Runs Gs until the pool stops. False if it had to end before, as one that died: another takes its place. */
async function runs(): Promise<boolean> {
  try {
    await runLoop(machine)
    return true
  } catch (error) {
    machine.services.stray(`machine ${init.m} ended because of an error of its own`, Cause.die(error))
    return false
  }
}
/** Ends what is left: what was detached, the layers, and pools that tasks have opened. */
async function close(): Promise<void> {
  for (const task of machine.nested.detached()) {
    machine.services.stray(`the pool was closed before the detached call of task "${task}" had ended`, Cause.empty)
  }
  await machine.services.close()
  await closePools()
  Atomics.store(s.mem, mw(s, init.m) + M_LIFE, M_EXITED)
}

/** Ends what tasks have left open: its threads are none of this pool's, and would outlive it. */
async function closePools(): Promise<void> {
  const stuck = await Promise.all([...machine.pools].map((pool) => pool.close()))
  for (const error of stuck.flat()) {
    machine.services.stray("a pool that a task had left open could not be closed", Cause.die(error))
  }
}

/** Whose code an error comes from that was just caught: async functions are known on some runtimes. */
function origin(): string {
  const running = awaitingRunning()
  if (running !== undefined) return `the code of task "${running.def.name}"`
  const [module] = machine.modules.importing
  return module === undefined ? "a task's code" : `a task's code, while ${module} was imported,`
}
