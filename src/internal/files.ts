/**
 * The modules that machines start with. The built package has the others of this folder in one file, right in here, so
 * that machines have fewer to load: their addresses are therefore told by this one.
 */

// Published as JavaScript, they are JavaScript too.
const extension = import.meta.url.endsWith(".ts") ? "ts" : "js"

/** What a machine runs. */
export const machineEntry = new URL(`./machine/main.${extension}`, import.meta.url)

/** What a thread loads first on Deno. */
export const denoBoot = new URL(`./machine/denoBoot.${extension}`, import.meta.url)
