import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { contentOf } from "./content.ts";
import type { CallPlan } from "./plan.ts";

const PIECES = 8;

/** The body of a call, and its type. */
export interface Message {
  readonly contentType: string;
  readonly body: string | Readable;
}

/** JSON where there is no file; else a form, sent in pieces over `trickleMs`. */
export function toMessage(call: CallPlan): Message {
  if (call.files.length === 0) return { contentType: "application/json", body: JSON.stringify(call.inputs) };
  const boundary = `chaos-${randomUUID()}`;
  const parts = [
    ...Object.entries(call.inputs).map(([name, value]) =>
      part(boundary, `name="${name}"`, Buffer.from(JSON.stringify(value))),
    ),
    ...call.files.map(({ input, fileName, bytes }, index) =>
      part(boundary, `name="${input}"; filename="${fileName}"`, contentOf(call.token, index, bytes)),
    ),
    Buffer.from(`--${boundary}--\r\n`),
  ];
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: Readable.from(send(Buffer.concat(parts), call.trickleMs)),
  };
}

function part(boundary: string, name: string, content: Buffer): Buffer {
  const head = `--${boundary}\r\nContent-Disposition: form-data; ${name}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), content, Buffer.from("\r\n")]);
}

async function* send(body: Buffer, trickleMs: number): AsyncGenerator<Buffer> {
  const size = Math.ceil(body.length / PIECES);
  for (let start = 0; start < body.length; start += size) {
    if (trickleMs > 0) await sleep(trickleMs / PIECES);
    yield body.subarray(start, start + size);
  }
}
