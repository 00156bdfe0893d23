import type { Request } from "express";
import type { z } from "zod";
import { ApiError } from "../errors.ts";
import { readJsonObject } from "../json-body.ts";
import { parseRequest } from "../operator/body.ts";

/** Bodies that hold names, addresses, passwords and the like. */
const BYTES_MAX = 10_000;

/** Reads a small JSON body and believes it after it fits the schema; otherwise says every problem at once. */
export async function readBody<Schema extends z.ZodType>(request: Request, schema: Schema): Promise<z.infer<Schema>> {
  if (request.is("application/json") === false)
    throw new ApiError("unsupported_media_type", "Send JSON: application/json.");
  return parseRequest(schema, await readJsonObject(request, BYTES_MAX));
}

/** A refusal that belongs to one field of the body or the query. */
export function refuseField(input: string, message: string): ApiError {
  return new ApiError("invalid_request", `${input}: ${message}`, { details: [{ input, message }] });
}
