import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Response } from "express";
import type { z } from "zod";
import type { Sent } from "../../../domain/api/fields.ts";
import { type Task, type Threads, toTask } from "../../../system/threads/threads.ts";
import { type CommitFile, toBuffer } from "../../publish/git-objects.ts";
import { checkText } from "../answers/answer-check.ts";
import { toFileDocument } from "./file-document.ts";

/** Contents that are written as JSON on the event loop. */
const INLINE_BYTES_MAX = 65_536;
/** Sent at a time: encrypting it takes less than a millisecond. */
const PIECE_BYTES = 262_144;
/** Far above the seconds that the largest commit takes. */
const TIMEOUT_MS = 30_000;

interface Recipient {
  readonly threads: Threads;
  /** The account that the work of a thread counts for. */
  readonly owner: string;
  readonly response: Response;
}

interface FilesAnswer<Document extends object = object> {
  /** Its `files` are empty, and keep their place. */
  readonly document: Document;
  /** The name of the part of the document that has the files; the document itself unless given. */
  readonly part?: string;
  readonly files: readonly CommitFile[];
}

/**
 * Sends a document whose `files` are these. A commit's 20 MB are written as JSON beside the event loop, for `owner`,
 * and sent piece by piece.
 */
export async function sendFiles<Schema extends z.ZodObject>(
  to: Recipient,
  schema: Schema,
  answer: FilesAnswer<Sent<z.output<Schema>>>,
): Promise<void> {
  const bytes = answer.files.reduce((sum, { content }) => sum + content.length, 0);
  await sendLarge<FilesAnswer>(to, schema, { task: WRITE, input: answer, bytes, write: writeFiles });
}

/** Sends the JSON that a task writes; on the event loop when `bytes`, those of its input, are few. */
export async function sendLarge<Input>(
  { threads, owner, response }: Recipient,
  schema: z.ZodType,
  {
    task,
    input,
    bytes,
    write,
  }: {
    readonly task: Task<Input, Uint8Array>;
    readonly input: Input;
    readonly bytes: number;
    readonly write: (input: Input) => Uint8Array;
  },
): Promise<void> {
  const isSmall = bytes <= INLINE_BYTES_MAX;
  const json = isSmall ? write(input) : await threads.run(task, input, { owner, timeoutMs: TIMEOUT_MS });
  checkText(response, schema, json);
  response.type("application/json");
  await sendBytes(response, toBuffer(json));
}

/** Sends these bytes, piece by piece. A caller that goes away meanwhile gets no more. */
export async function sendBytes(response: Response, bytes: Buffer): Promise<void> {
  response.set("Content-Length", String(bytes.length));
  await pipeline(Readable.from(toPieces(bytes)), response).catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
  });
}

function* toPieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

/** Writes on the thread that it is called on. */
export function writeFiles({ document, part, files: copies }: FilesAnswer): Uint8Array {
  const files = copies.map((file) => toFileDocument({ ...file, content: toBuffer(file.content) }));
  if (part === undefined) return writeJson({ ...document, files });
  return writeJson({ ...document, [part]: { ...(document as Record<string, object>)[part], files } });
}

/** Returns a document as JSON, in memory of its own, so that a thread can hand it over. */
export function writeJson(document: object): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(document));
}

const WRITE = toTask(import.meta.url, writeFiles);
