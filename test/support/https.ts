import type { IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Readable } from "node:stream";
import { keepText } from "./kept-text.ts";

export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

/** A self-signed certificate for localhost, the same for a day. What makes it is a large package that is loaded only for that. */
export async function aCertificate(): Promise<TestCertificate> {
  const today = new Date().toISOString().slice(0, 10);
  return JSON.parse(await keepText("certificate", today, async () => JSON.stringify(await make()))) as TestCertificate;
}

async function make(): Promise<TestCertificate> {
  const { generate } = await import("selfsigned");
  const made = await generate([{ name: "commonName", value: "localhost" }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      {
        name: "subjectAltName",
        altNames: [
          { type: 2, value: "localhost" },
          { type: 7, ip: "127.0.0.1" },
        ],
      },
    ],
  });
  return { cert: made.cert, key: made.private };
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  text(): string;
  /** The body, which has to be JSON. */
  json(): Record<string, unknown>;
}

export interface Call {
  readonly method?: string | undefined;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Buffer | Readable | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Hears of each piece of the answer when it comes. */
  readonly onPiece?: () => void;
}

/** Calls one HTTPS server with its own certificate as the only trusted one. Every call has a connection of its own. */
export function createCaller(server: { url: string; cert: string }): (path: string, call?: Call) => Promise<Answer> {
  return (path, call = {}) =>
    new Promise((resolve, reject) => {
      const sent = httpsRequest(
        new URL(path, server.url),
        {
          method: call.method ?? "GET",
          headers: { ...call.headers },
          ca: server.cert,
          agent: false,
          ...(call.signal ? { signal: call.signal } : {}),
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => {
            chunks.push(chunk);
            call.onPiece?.();
          });
          response.on("error", reject);
          response.on("end", () => {
            const bytes = Buffer.concat(chunks);
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              bytes,
              text: () => bytes.toString("utf8"),
              json: () => JSON.parse(bytes.toString("utf8")) as Record<string, unknown>,
            });
          });
        },
      );
      sent.on("error", reject);
      if (call.body === undefined || typeof call.body === "string" || Buffer.isBuffer(call.body)) sent.end(call.body);
      else call.body.pipe(sent);
    });
}

export interface Part {
  readonly name: string;
  readonly content: string | Buffer;
  /** A part with a file name is a file. */
  readonly fileName?: string;
  readonly contentType?: string;
}

/** A multipart body and the headers it needs. */
export function aForm(
  parts: readonly Part[],
  boundary = "----test-boundary",
): { headers: Record<string, string>; body: Buffer } {
  const pieces: (string | Buffer)[] = [];
  for (const part of parts) {
    const file = part.fileName === undefined ? "" : `; filename="${part.fileName}"`;
    const type = part.contentType === undefined ? "" : `Content-Type: ${part.contentType}\r\n`;
    pieces.push(
      `--${boundary}\r\nContent-Disposition: form-data; name="${part.name}"${file}\r\n${type}\r\n`,
      part.content,
      "\r\n",
    );
  }
  pieces.push(`--${boundary}--\r\n`);
  const body = Buffer.concat(pieces.map((piece) => Buffer.from(piece as string)));
  return { headers: { "content-type": `multipart/form-data; boundary=${boundary}` }, body };
}
