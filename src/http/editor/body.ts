import type { Request } from "express";
import { z } from "zod";
import { type CommitId, isCommitId } from "../../../domain/ids.ts";
import { ApiError } from "../errors.ts";
import { readJsonObject } from "../json-body.ts";
import { parseRequest } from "../operator/body.ts";

/** Bodies that hold names, addresses, passwords and the like. */
const BYTES_MAX = 10_000;

/** A commit id as a body or a query has it. */
export const CommitIdText = z
  .string()
  .refine(isCommitId, "must be a commit id of 40 hex digits")
  .meta({ maxLength: 40 })
  .transform((text) => text as CommitId);

/** Reads a JSON body, a small one unless given, and believes it after it fits the schema; otherwise says every problem at once. */
export async function readBody<Schema extends z.ZodType>(
  request: Request,
  schema: Schema,
  bytesMax = BYTES_MAX,
): Promise<z.infer<Schema>> {
  demandJson(request);
  return parseRequest(schema, await readJsonObject(request, bytesMax));
}

/** 415 for a body that is not JSON. */
export function demandJson(request: Request): void {
  if (request.is("application/json") === false)
    throw new ApiError("unsupported_media_type", "Send JSON: application/json.");
}

/** A refusal that belongs to one field of the body or the query. */
export function refuseField(input: string, message: string): ApiError {
  return new ApiError("invalid_request", `${input}: ${message}`, { details: [{ input, message }] });
}
