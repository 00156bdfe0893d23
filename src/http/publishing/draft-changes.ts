import type { Request } from "express";
import { DraftChanges } from "../../../domain/api/drafts.ts";
import { type Threads, toTask } from "../../../system/threads/threads.ts";
import { CHANGES_BYTES_MAX, type ReadChange, readChange } from "../../publish/draft-changes.ts";
import { parseRequest, requireJson } from "../answers/body.ts";
import { ApiError } from "../errors.ts";
import { LARGE_BYTES, parseJsonObject, readBytes } from "../server/json-body.ts";

/** Far above the second that the largest body takes. */
const TIMEOUT_MS = 30_000;

interface ReadChanges {
  readonly version: number;
  readonly changes: readonly ReadChange[];
}

type Reading =
  | ({ readonly ok: true } & ReadChanges)
  | ({ readonly ok: false } & Pick<ApiError, "code" | "message" | "extra">);

/** Reads the changes of a draft from a body. The 30 MB of a whole folder are read beside the event loop, for `owner`. */
export async function receiveChanges(threads: Threads, owner: string, request: Request): Promise<ReadChanges> {
  requireJson(request);
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
