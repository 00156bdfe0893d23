import { Readable } from "node:stream";
import type { Context } from "./command.ts";

/** Less is sent before anybody could read how far it is. */
const SHOWN_BYTES_MIN = 1_000_000;
const MEGABYTE = 1_000_000;

/** Returns the same body, which shows on a terminal how much of it was sent. `bytes`: of the whole, as far as known. */
export function showUpload(context: Pick<Context, "status">, body: Readable, bytes: number): Readable {
  if (bytes < SHOWN_BYTES_MIN) return body;
  async function* counted(): AsyncIterable<Buffer> {
    let sent = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      yield chunk;
      sent += chunk.length;
      const percent = Math.min(100, Math.floor((100 * sent) / bytes));
      context.status.show(`Sending  ${toMegabytes(sent)} of ${toMegabytes(bytes)} MB (${percent} %)`);
    }
    context.status.clear();
  }
  return Readable.from(counted());
}

function toMegabytes(bytes: number): string {
  return (bytes / MEGABYTE).toFixed(1);
}
