/** A fault of ours before the user's program began: nothing of it has run, so it may be tried as often as it takes. */
export class UnbegunError extends Error {
  override readonly name = "UnbegunError";

  constructor(cause: unknown) {
    super(`The program did not begin: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/**
 * A host lacks what a program needs, and goes on lacking it until somebody mends that: isolation, a network, an interpreter, an
 * environment. The message is for the caller.
 */
export class UnableError extends Error {
  override readonly name = "UnableError";
}
