/** Calls made from a source that is read no further than its results are wanted. */
import { isCall } from "../../Call.ts"
import type { Described } from "../job/Job.ts"
import { itemIsNoCall, kindOf } from "../notACall.ts"
import type { Submitter } from "../poolHost.ts"
import { type Stoppable, unwatch, watch } from "./abort.ts"
import { SingleCall } from "./SingleCall.ts"

/** What is mapped, and how. */
export interface MappingOptions<A> {
  readonly items: Iterable<A> | AsyncIterable<A>
  readonly call: (item: A, index: number) => unknown
  /** Most items that have been read and whose results have not been taken. */
  readonly limit: number
  /** Whether results come in the order of the items; else as they come. */
  readonly ordered: boolean
  readonly signal: AbortSignal | undefined
}

interface Request<B> {
  readonly resolve: (result: IteratorResult<B, undefined>) => void
  readonly reject: (error: unknown) => void
}

type Source<A> = Iterator<A> | AsyncIterator<A>

const DONE = { done: true, value: undefined } as const

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

/** Results as they are asked for. Nothing is read before the first is. */
export class Mapping<A, B> implements AsyncIterableIterator<B, undefined>, AsyncDisposable, Stoppable {
  readonly #pool: Submitter
  readonly #options: MappingOptions<A>
  /** "ending": no result will be given any more, and calls or the source have yet to end. */
  #state: "new" | "running" | "ending" | "ended" = "new"
  #source: Source<A> | undefined
  #async = false
  /** Whether the source has been asked for an item and has not answered. */
  #pulling = false
  /** Whether the source has no more, by its own account. */
  #exhausted = false
  #filling = false
  /** Items read, calls that succeeded, and results taken. */
  #read = 0
  #succeeded = 0
  #taken = 0
  /** Results that have not been taken, by their place in the output. */
  readonly #ready = new Map<number, B>()
  readonly #inProgress = new Set<SingleCall>()
  readonly #requests: Array<Request<B>> = []
  /** What ended it, until somebody has been told. */
  #failure: { readonly error: unknown } | undefined
  #ending: Promise<void> | undefined
  /** Called when no call is in progress any more. */
  #emptied: (() => void) | undefined

  constructor(pool: Submitter, options: MappingOptions<A>) {
    this.#pool = pool
    this.#options = options
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<B, undefined>> {
    return new Promise((resolve, reject) => {
      this.#requests.push({ resolve, reject })
      if (this.#state === "new") this.#start()
      this.#serve()
      this.#fill()
    })
  }

  async return(): Promise<IteratorResult<B, undefined>> {
    if (this.#state === "new") this.#state = "ended"
    else await this.#end(undefined)
    this.#failure = undefined
    return DONE
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  stop(reason: unknown): void {
    this.#fail(reason)
  }

  #start(): void {
    const { items, signal } = this.#options
    this.#state = "running"
    if (signal?.aborted === true) return this.#fail(signal.reason)
    try {
      this.#source = this.#open(items as Partial<Iterable<A> & AsyncIterable<A>> | undefined | null)
    } catch (error) {
      return this.#fail(error)
    }
    if (signal !== undefined) watch(signal, this)
  }

  #open(items: Partial<Iterable<A> & AsyncIterable<A>> | undefined | null): Source<A> {
    const open = items?.[Symbol.asyncIterator]
    this.#async = typeof open === "function"
    if (this.#async) return open!.call(items)
    if (typeof items?.[Symbol.iterator] !== "function") throw new TypeError(`${kindOf(items)} is no iterable of items`)
    return items[Symbol.iterator]!()
  }

  /** Reads items and submits their calls, as far as the look-ahead allows. */
  #fill(): void {
    // A call may end while it is submitted, which comes round to here.
    if (this.#filling) return
    this.#filling = true
    while (this.#hasRoom) this.#pull()
    this.#filling = false
  }

  get #hasRoom(): boolean {
    return this.#state === "running" && !this.#exhausted && !this.#pulling &&
      this.#read - this.#taken < this.#options.limit
  }

  #pull(): void {
    let result: IteratorResult<A> | Promise<IteratorResult<A>>
    try {
      result = this.#source!.next()
    } catch (error) {
      return this.#failFromSource(error)
    }
    if (!this.#async) return this.#accept(result as IteratorResult<A>)
    this.#pulling = true
    Promise.resolve(result).then(
      (result) => {
        this.#pulling = false
        this.#accept(result)
        this.#fill()
      },
      (error) => {
        this.#pulling = false
        this.#failFromSource(error)
      },
    )
  }

  #accept(result: IteratorResult<A>): void {
    // Too late for what came after the end.
    if (this.#state !== "running") return
    let item: A | undefined
    try {
      if (Object(result) !== result) throw new TypeError(`the source gave ${kindOf(result)} in place of a result`)
      if (result.done === true) this.#exhausted = true
      else item = result.value
    } catch (error) {
      return this.#failFromSource(error)
    }
    if (this.#exhausted) return this.#serve()
    const index = this.#read++
    let call: unknown
    try {
      call = this.#options.call(item as A, index)
      if (!isCall(call)) throw itemIsNoCall(index, call)
    } catch (error) {
      return this.#fail(error)
    }
    // The function that makes calls may have ended all this.
    if (this.#state === "running") this.#submit(call as Described, index)
  }

  #submit(described: Described, index: number): void {
    const call = new SingleCall(
      this.#pool,
      described,
      (value) => {
        this.#remove(call)
        if (this.#state !== "running") return
        this.#ready.set(this.#options.ordered ? index : this.#succeeded, value as B)
        this.#succeeded++
        this.#serve()
        this.#fill()
      },
      (error) => {
        this.#remove(call)
        this.#fail(error)
      },
    )
    this.#inProgress.add(call)
    try {
      call.submit()
    } catch (error) {
      this.#remove(call)
      this.#fail(error)
    }
  }

  #remove(call: SingleCall): void {
    this.#inProgress.delete(call)
    if (this.#inProgress.size === 0) this.#emptied?.()
  }

  /** Answers as many requests as can be. */
  #serve(): void {
    while (this.#requests.length > 0) {
      if (this.#state === "running" && this.#ready.has(this.#taken)) {
        const value = this.#ready.get(this.#taken)!
        this.#ready.delete(this.#taken++)
        this.#requests.shift()!.resolve({ done: false, value })
        continue
      }
      if (this.#state === "running" && this.#exhausted && this.#taken === this.#read) this.#finish()
      if (this.#state !== "ended") return
      const { reject, resolve } = this.#requests.shift()!
      const failure = this.#failure
      this.#failure = undefined
      if (failure === undefined) resolve(DONE)
      else reject(failure.error)
    }
  }

  #finish(): void {
    this.#state = "ended"
    if (this.#options.signal !== undefined) unwatch(this.#options.signal, this)
  }

  #failFromSource(error: unknown): void {
    this.#exhausted = true
    this.#fail(error)
  }

  /** Ends it with an error, which the next request gets. */
  #fail(error: unknown): void {
    if (this.#state !== "running") return
    this.#failure = { error }
    // The first error is the one that counts, as with a loop's body and the `return` of its iterator.
    this.#end(error).catch(() => {})
  }

  /** Cancels what is in progress, and resolves when all of it and the source have ended. */
  #end(reason: unknown): Promise<void> {
    if (this.#state === "running") {
      this.#state = "ending"
      this.#ready.clear()
      if (this.#options.signal !== undefined) unwatch(this.#options.signal, this)
      this.#ending = this.#windUp(reason)
    }
    return this.#ending ?? Promise.resolve()
  }

  async #windUp(reason: unknown): Promise<void> {
    // The newest first, as those that wait for room would get that of the others.
    for (const call of [...this.#inProgress].reverse()) call.stop(reason)
    const emptied = new Promise<void>((resolve) => this.#inProgress.size === 0 ? resolve() : this.#emptied = resolve)
    const [closed] = await Promise.allSettled([this.#closeSource(), emptied])
    this.#state = "ended"
    this.#serve()
    if (closed.status === "rejected") throw closed.reason
  }

  /** Tells the source that no more is wanted. */
  async #closeSource(): Promise<void> {
    if (this.#exhausted) return
    const closed = this.#source?.return?.()
    // One that waits for an item hears of it only when that has come, which may be now, or never.
    await (this.#pulling ? Promise.race([closed, turn()]) : closed)
  }
}
