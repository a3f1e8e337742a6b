/** Thrown into a sync task, by a check or a join, when its caller does not want it any more. */
export class Interrupted extends Error {
  override readonly name = "Interrupted"
  constructor() {
    super("the call was interrupted; let this error pass, after any cleaning up")
  }
}
