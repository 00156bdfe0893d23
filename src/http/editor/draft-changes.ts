import type { Request } from "express";
import { z } from "zod";
import { type Threads, toTask } from "../../../activities/threads/threads.ts";
import { CHANGES_BYTES_MAX, CHANGES_MAX, FileChange, type ReadChange, readChange } from "../../drafts/changes.ts";
import { ApiError } from "../errors.ts";
import { LARGE_BYTES, parseJsonObject, readBytes } from "../json-body.ts";
import { parseRequest } from "../operator/body.ts";
import { demandJson } from "./body.ts";

/** Far above the second that the largest body takes. */
const TIMEOUT_MS = 30_000;

export const DraftChanges = z.strictObject({
  version: z.int().min(0),
  changes: z.array(FileChange).min(1).max(CHANGES_MAX),
});

interface ReadChanges {
  readonly version: number;
  readonly changes: readonly ReadChange[];
}

type Reading =
  | ({ readonly ok: true } & ReadChanges)
  | ({ readonly ok: false } & Pick<ApiError, "code" | "message" | "extra">);

/** Reads the changes of a draft from a body. The 30 MB of a whole folder are read beside the event loop, for `owner`. */
export async function receiveChanges(threads: Threads, owner: string, request: Request): Promise<ReadChanges> {
  demandJson(request);
  const body = await readBytes(request, CHANGES_BYTES_MAX);
  const reading =
    body.length <= LARGE_BYTES ? readChanges(body) : await threads.run(READ, body, { owner, timeoutMs: TIMEOUT_MS });
  if (!reading.ok) throw new ApiError(reading.code, reading.message, reading.extra);
  return reading;
}

/** Reads on the thread that it is called on. Errors of ours do not survive the way between threads. */
export function readChanges(body: Uint8Array): Reading {
  try {
    const { version, changes } = parseRequest(DraftChanges, parseJsonObject(body));
    return { ok: true, version, changes: changes.map(readChange) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { code, message, extra } = error;
    return { ok: false, code, message, extra };
  }
}

const READ = toTask(import.meta.url, readChanges);
