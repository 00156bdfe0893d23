import type { RequestHandler } from "express";
import { Script, ScriptFolder } from "../../../domain/api/scripts.ts";
import { readBody, sendAnswer } from "../answers/body.ts";
import { authorizeAccount } from "../auth/authorize.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";

/** The longest text, with each character written out in JSON. */
const BODY_BYTES_MAX = 1_300_000;

/** `POST /scripts`: the files of the workflow that a script makes. Stores nothing. */
export function createScriptRoute({ db, editor }: Pick<AppDeps, "db" | "editor">): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "write");
    const { name, text } = await readBody(request, Script, BODY_BYTES_MAX);
    if (editor.readScript === undefined)
      throw new ApiError(
        "no_capacity",
        "This host has no sandbox to read a script in. Its operator finds out why by doctor.",
      );
    const reading = await editor.readScript({ name, text, owner: accountId });
    if (!reading.ok) throw new ApiError("invalid_request", "The script cannot be read.", { details: reading.problems });
    const { files, notes } = reading;
    sendAnswer(response, ScriptFolder, { files, notes });
  };
}
