import { createHash } from "node:crypto";
import { addAbortSignal, type Readable } from "node:stream";
import { type PutResult, TooLargeError } from "./storage.ts";

export interface Meter {
  /** The content's bytes, once. Ends by throwing when the content fails, is cut short, is too large, or is aborted. */
  chunks(): AsyncGenerator<Buffer, void>;
  /** What has gone by so far: all of it, when `chunks` has ended without throwing. */
  result(): PutResult;
  /** Why `chunks` threw, undefined when it did not. Kept because a store may report something that came of it. */
  failure(): unknown;
}

/**
 * Counts and hashes content on its way, and stops it at `bytesMax` or at the signal. It owns the content from the
 * moment of the call. It keeps a failure that happens before the first chunk is asked for; otherwise that would end the
 * process. It destroys content that is not read to its end.
 */
export function meter(content: Readable, options: { bytesMax?: number; signal?: AbortSignal } = {}): Meter {
  const { bytesMax = Number.POSITIVE_INFINITY, signal } = options;
  const hash = createHash("sha256");
  let bytes = 0;
  let sha256: string | undefined;
  let failure: unknown;
  let lent = false;

  // Between this call and the first read there may be no other listener, and a client may hang up just then.
  content.on("error", () => undefined);
  if (signal !== undefined) addAbortSignal(signal, content);

  async function* chunks(): AsyncGenerator<Buffer, void> {
    try {
      for await (const chunk of content) {
        const buffer = typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Buffer);
        bytes += buffer.length;
        if (bytes > bytesMax) throw new TooLargeError(`The content is larger than the ${bytesMax} bytes allowed.`);
        hash.update(buffer);
        lent = true;
        yield buffer;
        lent = false;
      }
    } catch (error) {
      // What is thrown while a chunk is lent comes from the reader, which has its own reason to stop.
      if (!lent) failure = error;
      throw error;
    }
  }

  return {
    chunks,
    result() {
      sha256 ??= hash.digest("hex");
      return { bytes, sha256 };
    },
    failure: () => failure,
  };
}
