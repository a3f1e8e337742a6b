import { spawn } from "node:child_process"
import { createRequire } from "node:module"
import process from "node:process"
import { fileURLToPath, pathToFileURL } from "node:url"

export type Runtime = "node" | "deno" | "bun"

/** The runtime that this very module runs on. */
export const currentRuntime: Runtime = "Deno" in globalThis ? "deno" : "Bun" in globalThis ? "bun" : "node"

export interface RunOptions {
  /** Milliseconds after which the child is killed; its code is then null. */
  readonly timeout?: number | undefined
  readonly cwd?: string | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Flags of `deno run`; all permissions unless told. Other runtimes have none and ignore them. */
  readonly denoFlags?: ReadonlyArray<string> | undefined
}

export interface RunResult {
  /** The exit code, or null if a signal ended the child. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const commandLine = (script: string, denoFlags: ReadonlyArray<string>): ReadonlyArray<string> => {
  switch (currentRuntime) {
    case "node":
      if (!script.endsWith(".ts")) return [script]
      // By its address, so that it is found from any working directory. (Vitest has no import.meta.resolve.)
      return ["--import", pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href, script]
    case "deno":
      return ["run", "--no-prompt", ...denoFlags, script]
    case "bun":
      return [script]
  }
}

/** A script that runs. */
export interface RunningScript {
  /** How it ended. */
  readonly result: Promise<RunResult>
  /** The first line that it writes to stdout; rejects if it ends without one. */
  readonly firstLine: Promise<string>
  readonly kill: (signal: NodeJS.Signals) => void
}

/** Starts a script as a process of its own, on the runtime that the test runs on. */
export const startScript = (
  path: string | URL,
  args: ReadonlyArray<string> = [],
  options: RunOptions = {},
): RunningScript => {
  const script = path instanceof URL ? fileURLToPath(path) : path
  const child = spawn(process.execPath, [...commandLine(script, options.denoFlags ?? ["-A"]), ...args], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let stdout = ""
  let stderr = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => stdout += text)
  child.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text)
  const result = new Promise<RunResult>((resolve, reject) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), options.timeout ?? 50_000)
    child.on("error", (error) => {
      clearTimeout(timer)
      reject(error)
    })
    child.on("close", (code) => {
      clearTimeout(timer)
      resolve({ code, stdout, stderr })
    })
  })
  const firstLine = new Promise<string>((resolve, reject) => {
    child.stdout.on("data", () => stdout.includes("\n") && resolve(stdout.slice(0, stdout.indexOf("\n"))))
    result.then(({ stderr }) => reject(new Error(`it ended without a line: ${stderr}`)), reject)
  })
  firstLine.catch(() => {}) // not everybody waits for it
  // Not by `child.kill`, after which Deno reports the signal, whatever the code.
  return { result, firstLine, kill: (signal) => void process.kill(child.pid!, signal) }
}

/** Runs a script as a process of its own, on the runtime that the test runs on. */
export const runScript = (
  path: string | URL,
  args: ReadonlyArray<string> = [],
  options: RunOptions = {},
): Promise<RunResult> => startScript(path, args, options).result
