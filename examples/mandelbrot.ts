/**
 * The Mandelbrot set as a PNG file, its rows painted on all cores.
 *
 *     deno run --allow-read=. --allow-write=. examples/mandelbrot.ts [OUT.png] [WIDTH] [HEIGHT]
 *     bun examples/mandelbrot.ts [OUT.png] [WIDTH] [HEIGHT]
 *     npx tsx examples/mandelbrot.ts [OUT.png] [WIDTH] [HEIGHT]
 *
 * What it shows: tasks that write into one picture in shared memory, which goes to them by reference; work whose parts
 * differ a lot, and that is balanced nevertheless; and the speed against one thread, which paints the same picture.
 *
 * @module
 */
import * as Effect from "effect/Effect"
import { writeFileSync } from "node:fs"
import process from "node:process"
import { availableParallelism, isMain, Pool } from "../mod.ts"
import { paint, paintRows } from "./mandelbrot_tasks.ts"
import { compare, speed } from "./support/measure.ts"
import { png, rowBytes } from "./support/png.ts"
import { workPerP } from "./support/table.ts"

/** Rows of one G. */
const ROWS = 4

const main = (path: string, width: number, height: number) =>
  Effect.gen(function* () {
    const size = rowBytes(width) * height
    const picture = new Uint8Array(new SharedArrayBuffer(size))
    const tops = Array.from({ length: Math.ceil(height / ROWS) }, (_, i) => i * ROWS)
    const paintAll = Pool.forEach(
      tops,
      (top) => paint(picture, width, height, top, Math.min(height, top + ROWS)),
      { discard: true },
    )

    const { procs } = yield* Pool
    yield* paintAll
    const stats = yield* Pool.stats
    const alone = new Uint8Array(size)
    const result = yield* compare(() => paintRows(alone, width, height, 0, height), paintAll)

    // Zlib does not take shared memory.
    const file = png(width, height, picture.slice())
    writeFileSync(path, file)
    const same = alone.every((byte, i) => byte === picture[i])
    console.log(`${path}: ${width} x ${height}, ${file.length.toLocaleString("en-US")} bytes`)
    console.log(`${same ? "the same" : "NOT THE SAME"} as painted by one thread`)
    console.log(workPerP(stats))
    console.log(speed(result, procs))
    return same ? 0 : 1
  }).pipe(Effect.provide(Pool.layer({ procs: availableParallelism() })))

if (isMain(import.meta)) {
  const [path = "mandelbrot.png", w = "1200", h = String(Math.round(Number(w) * 2 / 3))] = process.argv.slice(2)
  const [width, height] = [Number(w), Number(h)]
  if ([width, height].every((n) => Number.isInteger(n) && n >= 1 && n <= 16_384)) {
    process.exitCode = await Effect.runPromise(main(path, width, height))
  } else {
    console.error("usage: mandelbrot [OUT.png] [WIDTH] [HEIGHT]")
    process.exitCode = 2
  }
}
