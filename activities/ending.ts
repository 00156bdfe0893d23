import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import type { ExecutionWork } from "../db/executions/attempts.ts";
import type { Ending } from "../db/executions/endings.ts";
import { createLedger } from "../db/ledger/ledger.ts";
import type { MicroCredits } from "../domain/credits.ts";
import type { ExecutionResult, PythonOutcome, StoredFile } from "../domain/execution.ts";
import type { ExecutionId } from "../domain/ids.ts";
import type { CreditsDeps } from "./credits.ts";
import { contentTypeOf, folderOf, logKeyOf, logOf, type OutputsDeps, outputKey } from "./outputs.ts";
import { priceOf } from "./price.ts";

export interface EndingDeps extends CreditsDeps, Pick<OutputsDeps, "spool"> {
  readonly processId: string;
  /** Outputs and log of an execution that are larger than this together go to storage first. 0: all are ended step by step. */
  readonly smallBytesMax: number;
}

/**
 * Ends executions in one commit: the outcome of the attempt, its outputs with their bytes, and the charge. For a first attempt that
 * needs no second, with little output. That is how nearly all executions end; the others take the last steps one by one.
 */
export function createEnding(deps: EndingDeps) {
  const ledger = createLedger(deps.db);
  const recording = new Set<ExecutionId>();
  return {
    /** Whether the end of an execution is being recorded here at this moment. */
    isRecording: (executionId: ExecutionId): boolean => recording.has(executionId),

    /** Returns the end of an execution whose only attempt ended so, charged `chargeMax` at most; undefined where it takes several steps. */
    async prepare(work: ExecutionWork, outcome: PythonOutcome, chargeMax: MicroCredits): Promise<Ending | undefined> {
      const spooled = deps.smallBytesMax > 0 ? await deps.spool.readResult(work.executionId) : undefined;
      if (spooled === undefined) return undefined;
      const sources = [...spooled.outputs.map(({ content, path }) => content ?? path), logOf(spooled)];
      const contents = readAll(sources, deps.smallBytesMax);
      if (contents === undefined) return undefined;
      const folder = folderOf(work.executionId, spooled);
      const outputs = spooled.outputs.map((output, index) => {
        return { output, key: outputKey(folder, index), content: contents[index] as Buffer };
      });
      const log = contents[spooled.outputs.length];
      const logKey = log === undefined ? null : logKeyOf(folder);
      const billing = { cpu: work.cpu, secondsMax: work.timeoutSeconds * work.attemptsMax, chargeMax };
      return {
        executionId: work.executionId,
        processId: deps.processId,
        outcome,
        charge: priceOf({ ...billing, processorSeconds: outcome.processorSeconds ?? 0 }, outcome, deps.prices),
        files: outputs.map(
          ({ output, key, content }): StoredFile => ({
            name: output.name,
            fileName: output.fileName,
            storageKey: key,
            bytes: content.length,
            sha256: createHash("sha256").update(content).digest("hex"),
            contentType: contentTypeOf(output.fileName),
          }),
        ),
        logKey,
        logBytes: spooled.logBytes,
        objects: [
          ...outputs.map(({ key, content }) => ({ key, content })),
          ...(log === undefined || logKey === null ? [] : [{ key: logKey, content: log }]),
        ],
      };
    },

    /** Records the end. False: the attempt was given to another worker meanwhile, and this end counts for nothing. */
    async record(work: ExecutionWork, ending: Ending): Promise<boolean> {
      const { executionId } = work;
      recording.add(executionId);
      const finish = await ledger.finish(work.accountId, ending).finally(() => recording.delete(executionId));
      if (finish === "lost") return false;
      deps.onEnded(executionId, finish === "finished" ? toResult(work, ending) : undefined);
      // Its caller has the answer first. What is left is found by the sweep.
      setImmediate(() => void deps.spool.remove(executionId).catch(() => undefined));
      return true;
    },
  };
}

export type ExecutionEnding = ReturnType<typeof createEnding>;

function toResult(work: ExecutionWork, { outcome, charge, files }: Ending): ExecutionResult {
  return {
    status: outcome.status,
    message: outcome.message,
    secondsUsed: outcome.secondsUsed,
    chargeCompute: charge.compute,
    chargeTotal: charge.total,
    // As the record sorts them.
    outputs: files.map(({ name, fileName }) => ({ name, fileName })).sort((a, b) => compareBytes(a.name, b.name)),
    draft: work.draft,
  };
}

const compareBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

/** Returns contents and those of files, each at its place; undefined where they have more than `bytesMax` bytes together. */
function readAll(
  sources: readonly (Buffer | string | undefined)[],
  bytesMax: number,
): (Buffer | undefined)[] | undefined {
  const contents: (Buffer | undefined)[] = [];
  let left = bytesMax;
  for (const source of sources) {
    const content = typeof source === "string" ? readSmall(source, left) : source;
    left -= content?.length ?? 0;
    if ((content === undefined && source !== undefined) || left < 0) return undefined;
    contents.push(content);
  }
  return contents;
}

/**
 * Returns a file that a program has finished writing; undefined where it has more than `bytesMax` bytes. The program may have been
 * hostile, so a link is not followed and a named pipe does not block. Synchronous: the file is small and was just written.
 */
function readSmall(path: string, bytesMax: number): Buffer | undefined {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const info = fstatSync(file);
    if (!info.isFile()) throw new Error(`${path} is not a regular file, so it cannot be stored.`);
    if (info.size > bytesMax) return undefined;
    const content = Buffer.alloc(info.size);
    for (let at = 0; at < info.size; ) {
      const count = readSync(file, content, at, info.size - at, at);
      if (count === 0) throw new Error(`${path} ended while it was read.`);
      at += count;
    }
    return content;
  } finally {
    closeSync(file);
  }
}
