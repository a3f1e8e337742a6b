/** What always works: the end of sentences. */
export const INSTEAD = "or use Task.make in a module"
