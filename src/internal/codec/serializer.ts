/**
 * The runtime's own structured-clone serializer, behind `node:v8` on all three. It is the only candidate that keeps
 * holes, `-0`, lone surrogates, boxed primitives and shared identity (see `bench/codec.ts`).
 *
 * `v8.serialize` is not used on V8: it writes typed arrays as host objects, which splits views that share one
 * buffer, and it reads them back as windows on the whole input. The bare `Serializer` writes them as V8 does for
 * `postMessage`. Bun has no `Serializer`, and its `serialize` is JavaScriptCore's `postMessage` format already.
 */
import * as V8 from "node:v8"

interface Format {
  readonly serialize: (value: unknown) => Uint8Array
  readonly deserialize: (bytes: Uint8Array) => unknown
}

const native: Format = {
  serialize: (value) => {
    const serializer = new V8.Serializer()
    serializer.writeHeader()
    serializer.writeValue(value)
    return serializer.releaseBuffer()
  },
  deserialize: (bytes) => {
    const deserializer = new V8.Deserializer(bytes)
    deserializer.readHeader()
    return deserializer.readValue()
  },
}

const whole: Format = { serialize: V8.serialize, deserialize: V8.deserialize }

export const { deserialize, serialize }: Format = "Bun" in globalThis ? whole : native
