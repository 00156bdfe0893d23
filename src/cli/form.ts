import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { Readable } from "node:stream";
import { Refusal } from "./refusal.ts";

export interface Form {
  readonly contentType: string;
  readonly bytes: number;
  readonly body: Readable;
}

interface Part {
  readonly head: string;
  readonly bytes: number;
  readonly content: () => Iterable<Buffer> | AsyncIterable<Buffer>;
}

/** `isJson`: it is JSON and nothing else; without, the service reads it as plain text where that is what the input takes. */
export interface FormText {
  readonly name: string;
  readonly text: string;
  readonly isJson?: boolean;
}

/** A multipart form of texts and files, with its length known and files streamed from disk. Each text is one part as it was written. */
export async function createForm(
  values: readonly FormText[],
  files: readonly { name: string; path: string }[],
  cwd: string,
): Promise<Form> {
  const boundary = `treadle-${randomBytes(16).toString("hex")}`;
  const parts = [
    ...values.map(toTextPart),
    ...(await Promise.all(files.map(({ name, path }) => toFilePart(name, resolve(cwd, path))))),
  ];
  const heads = parts.map((part) => Buffer.from(`--${boundary}\r\n${part.head}\r\n\r\n`));
  const tail = Buffer.from(`--${boundary}--\r\n`);
  const bytes = parts.reduce((sum, part, index) => sum + (heads[index] as Buffer).length + part.bytes + 2, tail.length);
  async function* body(): AsyncIterable<Buffer> {
    for (const [index, part] of parts.entries()) {
      yield heads[index] as Buffer;
      yield* part.content();
      yield Buffer.from("\r\n");
    }
    yield tail;
  }
  return { contentType: `multipart/form-data; boundary=${boundary}`, bytes, body: Readable.from(body()) };
}

function toTextPart({ name, text, isJson = false }: FormText): Part {
  const content = Buffer.from(text);
  const type = isJson ? "\r\nContent-Type: application/json" : "";
  return {
    head: `Content-Disposition: form-data; name="${escape(name)}"${type}`,
    bytes: content.length,
    content: () => [content],
  };
}

async function toFilePart(name: string, path: string): Promise<Part> {
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new Refusal("No such file", `${path} cannot be read (${error.code}).`, { cause: error });
  });
  if (!stats.isFile()) throw new Refusal("No such file", `${path} is not a file.`);
  const head = `Content-Disposition: form-data; name="${escape(name)}"; filename="${escape(basename(path))}"\r\nContent-Type: application/octet-stream`;
  // Never more than was announced: a file that grows meanwhile would break the form.
  const content = () =>
    stats.size === 0 ? [] : (createReadStream(path, { end: stats.size - 1 }) as AsyncIterable<Buffer>);
  return { head, bytes: stats.size, content };
}

/** As browsers do it. */
function escape(text: string): string {
  return text.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}
