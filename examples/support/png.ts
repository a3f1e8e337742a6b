import { deflateSync } from "node:zlib"

const crcTable = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1
  return n
})

const crc32 = (bytes: Uint8Array): number => {
  let crc = 0xffffffff
  for (const byte of bytes) crc = crcTable[(crc ^ byte) & 0xff] ^ (crc >>> 8)
  return ~crc >>> 0
}

/** Length, type, data, and a checksum of the latter two. */
const chunk = (type: string, data: Uint8Array): Uint8Array => {
  const bytes = new Uint8Array(data.length + 12)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, data.length)
  bytes.set(new TextEncoder().encode(type), 4)
  bytes.set(data, 8)
  view.setUint32(data.length + 8, crc32(bytes.subarray(4, data.length + 8)))
  return bytes
}

/** Bytes of a row of an RGB picture: three for each pixel, after one that says that they are stored as they are. */
export const rowBytes = (width: number): number => 1 + 3 * width

/** A PNG file with 8 bits for each of red, green and blue. `rows` are the rows one after another, see {@link rowBytes}. */
export const png = (width: number, height: number, rows: Uint8Array): Uint8Array => {
  const header = new Uint8Array([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0])
  const view = new DataView(header.buffer)
  view.setUint32(0, width)
  view.setUint32(4, height)
  const signature = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const parts = [signature, chunk("IHDR", header), chunk("IDAT", deflateSync(rows)), chunk("IEND", new Uint8Array(0))]
  const file = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    file.set(part, at)
    at += part.length
  }
  return file
}
