import type { PoolStats } from "../../mod.ts"

/** Lays out rows in columns: the first to the left, numbers to the right, each as wide as its widest cell. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string | number>>): string => {
  const cells = rows.map((row) => row.map((cell) => typeof cell === "number" ? cell.toLocaleString("en-US") : cell))
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)))
  return cells
    .map((row) =>
      row.map((cell, i) => i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i])).join("  ").trimEnd()
    )
    .join("\n")
}

/** What each P of a pool has done since the pool was opened. */
export const workPerP = (stats: PoolStats): string => {
  const rows = stats.ps.map(({ counters: c }) => [
    // A G that its joiner ran as a function call was never taken from a queue.
    c.ticks + c.inlined,
    c.inlined,
    c.spawns,
    c.stealsTried,
    c.stealsWon,
    c.stolen,
    c.globalTakes,
    c.parks,
    c.wakes,
  ])
  const total = rows[0].map((_, column) => rows.reduce((sum, row) => sum + row[column], 0))
  return table([
    ["", "Gs run", "by joiner", "spawned", "steal tries", "won", "Gs stolen", "global takes", "parks", "wakes"],
    ...rows.map((row, p) => [`P${p}`, ...row]),
    ["all", ...total],
  ])
}
