/** Config values of the caller, looked up from a machine: one question and one answer for each. */
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as ConfigProvider from "effect/ConfigProvider"
import * as PathPatch from "effect/ConfigProviderPathPatch"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as HashSet from "effect/HashSet"
import type { ConfigAnswer, ConfigQuestion, PackedConfigError } from "./messages.ts"

const packError = (error: ConfigError.ConfigError): PackedConfigError => {
  switch (error._op) {
    case "And":
    case "Or":
      return { op: error._op, path: [], message: "", parts: [packError(error.left), packError(error.right)] }
    default:
      return { op: error._op, path: error.path, message: error.message, parts: [] }
  }
}

const unpackError = ({ message, op, parts, path }: PackedConfigError): ConfigError.ConfigError => {
  switch (op) {
    case "And":
      return ConfigError.And(unpackError(parts[0]), unpackError(parts[1]))
    case "Or":
      return ConfigError.Or(unpackError(parts[0]), unpackError(parts[1]))
    case "InvalidData":
      return ConfigError.InvalidData(path, message)
    case "MissingData":
      return ConfigError.MissingData(path, message)
    case "SourceUnavailable":
      return ConfigError.SourceUnavailable(path, message, Cause.empty)
    case "Unsupported":
      return ConfigError.Unsupported(path, message)
  }
}

const textOf = (description: string) =>
  Config.primitive(description, (text) => Either.right(text)) as Config.Config.Primitive<string>

/** A path as the provider changes it: upper case, say, or within another. Only a load tells what it makes of it. */
const patched = (path: ReadonlyArray<string>, flat: ConfigProvider.ConfigProvider.Flat) =>
  Effect.suspend(() => {
    let seen = path
    const spy = ConfigProvider.fromFlat(ConfigProvider.makeFlat({
      load: (path, config) => {
        seen = path
        return Effect.map(Effect.suspend(() => config.parse("")), (value) => [value])
      },
      enumerateChildren: () => Effect.succeed(HashSet.empty()),
      patch: flat.patch,
    }))
    const config = path.reduceRight<Config.Config<string>>((inner, name) => Config.nested(inner, name), textOf(""))
    return Effect.map(spy.load(config), () => seen)
  })

/** Looks up what a machine has asked for. */
export const answerConfig = (
  provider: ConfigProvider.ConfigProvider,
  { expected, id, path, split }: ConfigQuestion,
): Effect.Effect<ConfigAnswer> => {
  const flat = provider.flattened
  return Effect.flatMap(
    patched(path, flat),
    (path): Effect.Effect<ReadonlyArray<string>, ConfigError.ConfigError> =>
      expected === undefined
        ? Effect.map(flat.enumerateChildren(path), (names) => Array.from(names))
        : flat.load(path, textOf(expected), split),
  ).pipe(Effect.match({
    onSuccess: (values): ConfigAnswer => ({ kind: "config", id, values, error: undefined }),
    onFailure: (error): ConfigAnswer => ({ kind: "config", id, values: [], error: packError(error) }),
  }))
}

/** The questions of a machine that were not answered yet. */
export class Questions {
  readonly #ask: (question: ConfigQuestion) => void
  readonly #open = new Map<number, (answer: ConfigAnswer) => void>()
  #next = 1

  constructor(ask: (question: ConfigQuestion) => void) {
    this.#ask = ask
  }

  /** An answer has come. */
  answer(answer: ConfigAnswer): void {
    const resume = this.#open.get(answer.id)
    this.#open.delete(answer.id)
    resume?.(answer)
  }

  /** Asks the config provider of the caller that `caller` tells, for values or, without `expected`, for names. */
  ask(
    caller: Effect.Effect<number>,
    path: ReadonlyArray<string>,
    expected: string | undefined,
    split: boolean,
  ): Effect.Effect<ReadonlyArray<string>, ConfigError.ConfigError> {
    return Effect.flatMap(caller, (caller) =>
      Effect.async((resume) => {
        const id = this.#next++
        this.#open.set(id, ({ error, values }) => {
          resume(error === undefined ? Effect.succeed(values) : Effect.fail(unpackError(error)))
        })
        this.#ask({ kind: "config", caller, id, path, expected, split })
        return Effect.sync(() => this.#open.delete(id))
      }))
  }
}

/** A config provider that asks the host. */
export const remoteConfig = (questions: Questions, caller: Effect.Effect<number>): ConfigProvider.ConfigProvider =>
  ConfigProvider.fromFlat(ConfigProvider.makeFlat({
    load: (path, config, split) =>
      Effect.flatMap(
        questions.ask(caller, path, config.description, split),
        (texts) =>
          Effect.forEach(texts, (text) => Effect.mapError(config.parse(text), ConfigError.prefixed([...path]))),
      ),
    enumerateChildren: (path) => Effect.map(questions.ask(caller, path, undefined, true), HashSet.fromIterable),
    patch: PathPatch.empty,
  }))
