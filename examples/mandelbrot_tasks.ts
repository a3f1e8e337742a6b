import { Task } from "../mod.ts"
import { rowBytes } from "./support/png.ts"

const LIMIT = 1000

/** How soon a point escapes, as a number that changes smoothly from point to point; undefined if it never does. */
const escape = (cx: number, cy: number): number | undefined => {
  let x = 0
  let y = 0
  for (let i = 0; i < LIMIT; i++) {
    const xx = x * x
    const yy = y * y
    if (xx + yy > 256) return i + 1 - Math.log2(Math.log2(xx + yy) / 2)
    y = 2 * x * y + cy
    x = xx - yy + cx
  }
  return undefined
}

const shade = (t: number, phase: number): number => Math.round(127.5 - 127.5 * Math.cos(2 * Math.PI * (t + phase)))

/** Paints some rows of the picture. `picture` is all of it, rows as a PNG has them. */
export const paintRows = (picture: Uint8Array, width: number, height: number, from: number, to: number): void => {
  const scale = 3.5 / width
  for (let row = from; row < to; row++) {
    const cy = (row + 0.5 - height / 2) * scale
    let at = row * rowBytes(width) + 1
    for (let column = 0; column < width; column++, at += 3) {
      const i = escape((column + 0.5 - width / 2) * scale - 0.7, cy)
      if (i === undefined) continue // black, as it is
      const t = 0.15 * Math.sqrt(Math.max(0, i))
      picture[at] = shade(t, 0.05)
      picture[at + 1] = shade(t, 0)
      picture[at + 2] = shade(t, -0.12)
    }
  }
}

/** {@link paintRows} as a task: the picture is a view on shared memory, so it is not copied and nothing is returned. */
export const paint = Task.make(import.meta, "paint", paintRows)
