/** A fault of ours before the user's program began: nothing of it has run, so it may be tried as often as it takes. */
export class UnbegunError extends Error {
  override readonly name = "UnbegunError";

  constructor(cause: unknown) {
    super(`The program did not begin: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}
