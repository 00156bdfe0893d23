import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Request, Response } from "express";
import { ZipFile } from "yazl";
import { listOutputFiles } from "../../../db/executions/executions.ts";
import type { StoredFile } from "../../../domain/execution.ts";
import type { Storage } from "../../../storage/storage.ts";
import { contentDisposition } from "../answers/content-disposition.ts";
import { authorizeExecution } from "../auth/authenticate.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { toArchiveNames } from "./archive-names.ts";
import { noLongerKept } from "./files.ts";

/** `GET` and `HEAD` of all output files of an execution, as one zip. Who may read one file may read it. */
export function createArchiveRoute(deps: Pick<AppDeps, "db" | "storage" | "keyUses">) {
  return async (request: Request, response: Response): Promise<void> => {
    const { execution } = await authorizeExecution(deps, request, "read");
    if (execution.filesRemovedAt !== null) throw noLongerKept();
    const files = await listOutputFiles(deps.db, execution.id);
    if (files.length === 0) throw new ApiError("not_found", "This execution has no output files.");
    response.set({
      "Content-Disposition": contentDisposition("attachment", `${execution.id}.zip`),
      "Content-Security-Policy": "default-src 'none'; sandbox",
      "Cache-Control": "private, no-cache",
      "X-Content-Type-Options": "nosniff",
    });
    response.setHeader("Content-Type", "application/zip");
    if (request.method === "HEAD") return void response.end();
    await pipeline(packFiles(deps.storage, files, execution.finishedAt ?? execution.createdAt), response);
  };
}

/**
 * Streams a zip of stored files. It opens one file at a time, and reads it as fast as the caller takes it: memory holds a piece of
 * one file. Nothing is compressed, so a caller cannot make it costly. Ends with an error when storage does not have a file any more.
 */
function packFiles(storage: Pick<Storage, "get">, files: readonly StoredFile[], mtime: Date): Readable {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  const names = toArchiveNames(files.map(({ fileName }) => fileName));
  let current: Readable | undefined;
  for (const [at, { storageKey, bytes }] of files.entries()) {
    const name = names[at] ?? "";
    if (bytes === 0) zip.addBuffer(Buffer.alloc(0), name, { mtime, compress: false });
    else {
      zip.addReadStreamLazy(name, { mtime, compress: false, size: bytes }, (begin) => {
        storage.get(storageKey).then(
          (content) => {
            current = content;
            content.once("error", (error) => output.destroy(error));
            begin(null, content);
          },
          (error: Error) => output.destroy(error),
        );
      });
    }
  }
  zip.on("error", (error) => output.destroy(error as Error));
  // A caller that hangs up would leave the file open.
  output.once("close", () => current?.destroy());
  zip.end();
  return output;
}
