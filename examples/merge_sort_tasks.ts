import { Task } from "../mod.ts"

/** Merges the sorted runs `from` to `middle` and `middle` to `to` of the data, by way of the scratch memory. */
const merge = (data: Float64Array, scratch: Float64Array, from: number, middle: number, to: number): void => {
  scratch.set(data.subarray(from, middle), from)
  let at = from
  let left = from
  let right = middle
  while (left < middle && right < to) {
    const a = scratch[left]
    const b = data[right]
    if (a <= b) {
      data[at++] = a
      left++
    } else {
      data[at++] = b
      right++
    }
  }
  // What is left of the right run stands where it belongs.
  data.set(scratch.subarray(left, middle), at)
}

/**
 * Sorts `data` from `from` to `to`, in place; no more than `piece` numbers in one piece. Both arrays are views on shared
 * memory, so every child gets a reference and none gets a copy.
 */
export const mergeSort: Task.Task<
  [data: Float64Array, scratch: Float64Array, from: number, to: number, piece: number],
  void
> = Task.make(
  import.meta,
  "mergeSort",
  (data: Float64Array, scratch: Float64Array, from: number, to: number, piece: number): void => {
    if (to - from <= piece) return void data.subarray(from, to).sort()
    const middle = (from + to) >>> 1
    const left = Task.spawn(mergeSort(data, scratch, from, middle, piece))
    const right = Task.spawn(mergeSort(data, scratch, middle, to, piece))
    // The younger first: it is the less likely to have been stolen, and then this is a mere function call.
    right.join()
    left.join()
    merge(data, scratch, from, middle, to)
  },
)
