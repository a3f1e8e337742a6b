/**
 * Go's M:N scheduler for Deno, Bun and Node, with an Effect API.
 *
 * @module
 */
export * from "./src/index.ts"
