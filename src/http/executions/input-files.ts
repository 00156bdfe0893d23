import type { RequestHandler } from "express";
import { findInputFile } from "../../../db/executions/details.ts";
import { isExecutionId } from "../../../domain/ids.ts";
import { isStorable } from "../../../domain/manifest/json-values.ts";
import { authorizeAccount } from "../auth/authorize.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { noLongerKept, sendFile } from "../results/files.ts";

const POSITION = /^\d{1,6}$/;

/**
 * `GET …/executions/:executionId/inputs/:input/:position`: a file that an execution of the account was given. Browsers
 * save it, and never show it as part of our pages: its type is what its caller claimed.
 */
export function createInputFileRoute({ db, storage }: Pick<AppDeps, "db" | "storage">): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "read");
    const { executionId, input, position } = request.params;
    const file =
      isText(executionId) && isExecutionId(executionId) && isText(input) && isText(position) && POSITION.test(position)
        ? await findInputFile(db, { accountId, executionId, input, position: Number(position) })
        : undefined;
    if (file === undefined) {
      throw new ApiError(
        "not_found",
        "There is no execution with this id that was given such a file. The files it was given are in its record, with input and position.",
      );
    }
    if (file.removedAt !== null) throw noLongerKept();
    await sendFile(storage, file, { request, response, show: false });
  };
}

/** A part of the path that the database can be asked for. */
function isText(part: string | readonly string[] | undefined): part is string {
  return typeof part === "string" && isStorable(part);
}
