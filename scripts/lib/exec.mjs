import { spawn } from "node:child_process"
import process from "node:process"

/**
 * Runs a command with our own stdio, and resolves with its exit code. With `timeout` (milliseconds) the command gets
 * a process group of its own, of which nothing survives: not after the timeout, nor after the command's own end.
 */
export const exec = (command, args, { cwd, env = {}, timeout } = {}) =>
  new Promise((resolve) => {
    const group = timeout !== undefined && process.platform !== "win32"
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "inherit", "inherit"],
      detached: group,
    })
    const kill = (signal) => {
      try {
        if (group) process.kill(-child.pid, signal)
        else child.kill(signal)
      } catch {
        // Already gone, which is what we want.
      }
    }
    let received
    const forward = (signal) => {
      received = signal
      kill(signal)
    }
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"]
    for (const signal of signals) process.on(signal, forward)
    const timer = timeout && setTimeout(() => {
      console.error(`no end after ${timeout / 1000} s: ${command} ${args.join(" ")}`)
      kill("SIGKILL")
    }, timeout)
    const done = (code) => {
      clearTimeout(timer)
      for (const signal of signals) process.off(signal, forward)
      if (group) kill("SIGKILL")
      // Told to stop, and with the child gone: stop, and do not go on to the next command.
      if (received !== undefined) process.kill(process.pid, received)
      resolve(code)
    }
    child.on("error", (error) => {
      console.error(`${command}: ${error.message}`)
      done(1)
    })
    child.on("exit", (code) => done(code ?? 1))
  })
