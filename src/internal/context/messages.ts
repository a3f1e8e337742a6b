/** What machines tell the host about calls in progress, and what they ask it. */
import type { SpanIds } from "./envelope.ts"

/** From a machine: by whose call, and in which run, so that the run's end can wait for it; 0 if it need not. */
export interface Told {
  readonly kind: "told"
  readonly caller: number
  readonly run: number
  /** An encoded {@link Log}, {@link SpanStart} or {@link SpanEnd}: values may be anything. */
  readonly bytes: Uint8Array
}

/** From a machine: a question to the caller's config provider. Answered by {@link ConfigAnswer}. */
export interface ConfigQuestion {
  readonly kind: "config"
  readonly caller: number
  readonly id: number
  readonly path: ReadonlyArray<string>
  /** What is expected there, in words; undefined to ask for the names of its children. */
  readonly expected: string | undefined
  readonly split: boolean
}

/** To a machine. */
export interface ConfigAnswer {
  readonly kind: "config"
  readonly id: number
  readonly values: ReadonlyArray<string>
  readonly error: PackedConfigError | undefined
}

/** A `ConfigError` as data. */
export interface PackedConfigError {
  readonly op: "And" | "Or" | "InvalidData" | "MissingData" | "SourceUnavailable" | "Unsupported"
  readonly path: Array<string>
  readonly message: string
  readonly parts: ReadonlyArray<PackedConfigError>
}

/** A message that was logged. */
export interface Log {
  readonly kind: "log"
  readonly fiber: readonly [id: number, startTimeMillis: number]
  /** The tag of its level. */
  readonly level: string
  readonly message: unknown
  /** A packed cause. */
  readonly cause: unknown
  readonly spans: ReadonlyArray<readonly [string, number]>
  readonly annotations: ReadonlyArray<readonly [string, unknown]>
  /** In ms. */
  readonly date: number
  /** Id of the span in which it was logged. */
  readonly span: string | undefined
}

/** A link of a span. */
export type PackedLink = readonly [span: SpanIds, attributes: Readonly<Record<string, unknown>>]

/** A span that has begun. Times are in ns. */
export interface SpanStart {
  readonly kind: "start"
  readonly id: string
  readonly parent: SpanIds | undefined
  readonly name: string
  readonly spanKind: string
  readonly start: bigint
  readonly links: ReadonlyArray<PackedLink>
}

/** A span that has ended. */
export interface SpanEnd {
  readonly kind: "end"
  readonly id: string
  readonly end: bigint
  /** The packed cause of its failure. */
  readonly cause: unknown
  readonly attributes: ReadonlyArray<readonly [string, unknown]>
  readonly events: ReadonlyArray<readonly [name: string, time: bigint, attributes: Record<string, unknown> | undefined]>
  /** Those that were added since it began. */
  readonly links: ReadonlyArray<PackedLink>
}

export type Report = Log | SpanStart | SpanEnd
