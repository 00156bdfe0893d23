import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { activityInfo, heartbeat } from "@temporalio/activity";
import { ApplicationFailure } from "@temporalio/common";
import mime from "mime-types";
import type { Db } from "../db/connect.ts";
import { findUpload, insertLog, insertOutputs, type UploadState } from "../db/executions/outputs.ts";
import { loseOutputs } from "../db/executions/stranded.ts";
import type { StoredFile, UploadProgress } from "../domain/execution.ts";
import type { ExecutionId } from "../domain/ids.ts";
import { NoSuchObjectError, type Storage } from "../storage/storage.ts";
import { forEachAtOnce } from "../system/at-once.ts";
import { joinLogs, mergeLogs } from "./log-lines.ts";
import type { Spool, SpooledOutput, SpooledResult } from "./spool.ts";

/** More than this is left to the host's own queue, where an upload may take its time. */
const BRIEF_BYTES_MAX = 64 * 1024 * 1024;
const HEARTBEAT_MS = 5_000;
const MOVES_AT_ONCE = 4;

export interface OutputsDeps {
  readonly db: Db;
  readonly hostId: string;
  readonly storage: Storage;
  readonly spool: Spool;
}

/**
 * Brings outputs from the host's spool to storage. Repeated, it finds what is there and records the same rows. A call
 * whose time ran out still runs, so its retry joins it. Two calls that move the same files would disturb each other.
 */
export function createOutputs(deps: OutputsDeps) {
  const uploading = new Map<ExecutionId, Promise<void>>();

  function join(executionId: ExecutionId, spooled: SpooledResult): Promise<void> {
    const known = uploading.get(executionId);
    if (known) return known;
    const ended = uploadSpooled(deps, executionId, spooled).finally(() => uploading.delete(executionId));
    uploading.set(executionId, ended);
    return ended;
  }

  return {
    /** The same outside of an activity, of any size. */
    async upload(executionId: ExecutionId): Promise<UploadProgress> {
      const spooled = await findSpooled(deps, executionId);
      if (spooled === undefined) return withoutSpool(deps, executionId);
      await join(executionId, spooled);
      return { kind: "uploaded" };
    },

    /**
     * Keeps a copy of the log of an execution that is handed over, or that was ended without its outputs. The log of the end
     * takes its place. Where another host has ended the execution, adds what only this one has: the lines of an attempt that was
     * lost here.
     */
    async keepLog(executionId: ExecutionId): Promise<void> {
      // The log of most executions has been moved by their upload.
      if (!deps.spool.hasLog(executionId)) return;
      const upload = await findUpload(deps.db, executionId);
      if (upload === undefined || upload.logRemoved) return;
      if (upload.hostId !== deps.hostId) return upload.ended ? addToLog(deps, executionId, upload) : undefined;
      if (upload.uploaded) return;
      const log = await deps.spool.readLog(executionId);
      if (log === undefined) return;
      const logKey = logKeyOf(folderOf(executionId, upload));
      const { bytes } = await deps.storage.put(logKey, log);
      await insertLog(deps.db, { executionId, logKey, logBytes: bytes, attempt: upload.attempt });
    },

    /**
     * Deletes from storage what this host stored of an execution that was ended before it could be recorded. A log that was
     * stored so is recorded, and kept as long as others.
     */
    async dropUnrecorded(executionId: ExecutionId): Promise<void> {
      await uploading.get(executionId)?.catch(() => undefined);
      const { db, spool, storage } = deps;
      const spooled = await spool.readResult(executionId);
      if (spooled === undefined) return;
      const upload = await findUpload(db, executionId);
      if (upload === undefined || upload.uploaded || !upload.ended) return;
      const folder = folderOf(executionId, spooled);
      for (const index of spooled.outputs.keys()) await storage.delete(outputKey(folder, index));
      const logKey = logKeyOf(folder);
      const isRecorded = upload.logKey !== null || upload.logRemoved || logOf(spooled) === undefined;
      const stored = isRecorded ? undefined : await storage.head(logKey);
      if (stored !== undefined)
        await insertLog(db, { executionId, logKey, logBytes: stored.bytes, attempt: upload.attempt });
    },

    async uploadOutputs(input: { executionId: ExecutionId; brief: boolean }): Promise<UploadProgress> {
      const { executionId } = input;
      const spooled = await findSpooled(deps, executionId);
      if (spooled === undefined) return withoutSpool(deps, executionId);
      const bytes = spooled.outputs.reduce((sum, output) => sum + output.bytes, spooled.logBytes);
      if (input.brief && bytes > BRIEF_BYTES_MAX) return { kind: "deferred" };

      const beating = activityInfo().isLocal ? undefined : setInterval(() => heartbeat(), HEARTBEAT_MS);
      try {
        await join(executionId, spooled);
      } finally {
        clearInterval(beating);
      }
      return { kind: "uploaded" };
    },
  };
}

/**
 * A run that replaces lost outputs has a folder of its own: the lost host may come back and store the old outputs late.
 */
export const folderOf = (executionId: ExecutionId, { outputsLost = 0 }: Pick<SpooledResult, "outputsLost">): string =>
  `executions/${executionId}${outputsLost === 0 ? "" : `/again-${outputsLost}`}`;

/** Where storage keeps an output, and the log. */
export const outputKey = (folder: string, index: number): string => `${folder}/outputs/${index}`;
export const logKeyOf = (folder: string): string => `${folder}/log.ndjson`;

async function addToLog(
  { db, spool, storage }: OutputsDeps,
  executionId: ExecutionId,
  { logKey, outputsLost }: Pick<UploadState, "logKey" | "outputsLost">,
): Promise<void> {
  const nothing = Readable.from([]);
  const open = async () =>
    [logKey === null ? nothing : await storage.get(logKey), (await spool.readLog(executionId)) ?? nothing] as const;
  let hasMore = false;
  for await (const { isAdded } of mergeLogs(...(await open()))) hasMore ||= isAdded;
  if (!hasMore) return;
  const key = logKey ?? logKeyOf(folderOf(executionId, { outputsLost }));
  const { bytes } = await storage.put(key, joinLogs(...(await open())));
  await insertLog(db, { executionId, logKey: key, logBytes: bytes, attempt: null, isLate: true });
}

/** What waits here of the last attempt. Of an earlier one, which was handed over or lost, nothing may reach storage any more. */
async function findSpooled(
  { db, spool, hostId }: OutputsDeps,
  executionId: ExecutionId,
): Promise<SpooledResult | undefined> {
  const spooled = await spool.readResult(executionId);
  if (spooled === undefined) return undefined;
  const upload = await findUpload(db, executionId);
  const isLast = upload?.hostId === hostId && (spooled.attempt ?? upload.attempt) === upload.attempt;
  return isLast ? spooled : undefined;
}

async function uploadSpooled(deps: OutputsDeps, executionId: ExecutionId, spooled: SpooledResult): Promise<void> {
  const { logBytes, outputs, attempt } = spooled;
  const folder = folderOf(executionId, spooled);
  const log = logOf(spooled);
  const logKey = log === undefined ? null : logKeyOf(folder);
  const files: StoredFile[] = [];
  const moves = outputs.map((output, index) => async (): Promise<void> => {
    files[index] = await keep(deps, output, outputKey(folder, index));
  });
  if (log !== undefined && logKey !== null) moves.push(async () => void (await moveOnce(deps.storage, logKey, log)));
  // Most of the time of a small file is waiting for the disk.
  await forEachAtOnce(moves, MOVES_AT_ONCE, (move) => move());
  if (await insertOutputs(deps.db, { executionId, files, logKey, logBytes, attempt })) return;
  throw new Error(`The outputs of ${executionId} are void: they were given up while this host was away.`);
}

/** Nothing waits here: it was uploaded before, or another host has it. */
async function withoutSpool(deps: OutputsDeps, executionId: ExecutionId): Promise<UploadProgress> {
  const upload = await findUpload(deps.db, executionId);
  if (upload === undefined) throw ApplicationFailure.nonRetryable(`${executionId} is not in the record.`, "internal");
  // It is cancelled with what earlier attempts have used. The sweep keeps its log.
  if (upload.uploaded || upload.ended || upload.isCutOff) return { kind: "uploaded" };
  const { hostId, attempt } = upload;
  if (hostId !== deps.hostId || attempt === null) return { kind: "deferred" };
  if (upload.isLost || (await loseOutputs(deps.db, { id: executionId, attempt })))
    throw new Error(`The outputs of ${executionId} are lost, and its program is run again.`);
  throw ApplicationFailure.nonRetryable(
    `The outputs of ${executionId} are no longer on the host that made them.`,
    "internal",
  );
}

/** Returns the content of a spooled log, or its path; undefined where the program wrote nothing. */
export function logOf({ logText, logPath }: Pick<SpooledResult, "logText" | "logPath">): Buffer | string | undefined {
  return logText === undefined ? logPath : Buffer.from(logText);
}

async function keep(deps: OutputsDeps, output: SpooledOutput, storageKey: string): Promise<StoredFile> {
  const { bytes, sha256 } = await moveOnce(deps.storage, storageKey, output.content ?? output.path);
  const { name, fileName } = output;
  return { name, fileName, storageKey, bytes, sha256, contentType: contentTypeOf(fileName) };
}

/** The media type of an output, by the end of its name. */
export function contentTypeOf(fileName: string): string {
  return mime.contentType(mime.lookup(fileName) || "application/octet-stream") || "application/octet-stream";
}

/** Moves a file or a content to storage; when an earlier call has moved the file already, reads back what that call stored. */
async function moveOnce(
  storage: Storage,
  key: string,
  from: Buffer | string,
): Promise<{ bytes: number; sha256: string }> {
  if (typeof from !== "string") return storage.put(key, Readable.from([from]));
  const path = from;
  const here = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (here !== undefined) return storage.putFile(key, path);
  const content = await storage.get(key).catch((error: unknown) => {
    if (!(error instanceof NoSuchObjectError)) throw error;
    throw ApplicationFailure.nonRetryable(`${key} is neither in the spool nor in storage.`, "internal");
  });
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of content) {
    hash.update(chunk as Buffer);
    bytes += (chunk as Buffer).length;
  }
  return { bytes, sha256: hash.digest("hex") };
}
