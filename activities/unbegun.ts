import { messageOf } from "../domain/message-of.ts";

/** A fault of ours before the user's program began: nothing of it has run, so it may be tried as often as it takes. */
export class UnbegunError extends Error {
  override readonly name = "UnbegunError";

  constructor(cause: unknown) {
    super(`The program did not begin: ${messageOf(cause)}`, { cause });
  }
}

/**
 * A host lacks what a program needs, until the operator mends that: isolation, a network, an interpreter or an
 * environment. The message is for the caller.
 */
export class UnableError extends Error {
  override readonly name = "UnableError";
}
