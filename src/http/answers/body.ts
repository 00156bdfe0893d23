import type { Request, Response } from "express";
import type { z } from "zod";
import type { Sent } from "../../../domain/api/fields.ts";
import { ApiError } from "../errors.ts";
import { readJsonObject } from "../server/json-body.ts";
import { checkAnswer } from "./answer-check.ts";

/** Bodies that hold names, addresses, passwords and the like. */
const BYTES_MAX = 10_000;

/** Returns a body or a query that fits the schema. Otherwise refuses it with every problem at once. */
export function parseRequest<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.map((issue) => ({ input: issue.path.join("."), message: issue.message }));
  const named = details.map(({ input, message }) => (input === "" ? message : `${input}: ${message}`));
  throw new ApiError("invalid_request", named.join("; "), { details });
}

/** Reads a JSON body, a small one unless given, and returns it when it fits the schema. Otherwise refuses it with every problem at once. */
export async function readBody<Schema extends z.ZodType>(
  request: Request,
  schema: Schema,
  bytesMax = BYTES_MAX,
): Promise<z.infer<Schema>> {
  requireJson(request);
  return parseRequest(schema, await readJsonObject(request, bytesMax));
}

/** Refuses a body that is not JSON with 415. */
export function requireJson(request: Request): void {
  if (request.is("application/json") === false)
    throw new ApiError("unsupported_media_type", "Send JSON: application/json.");
}

/** Sends an answer that has the fields of its schema. The compiler finds one too few, and tests one too many. */
export function sendAnswer<Schema extends z.ZodType>(
  response: Response,
  schema: Schema,
  answer: Sent<z.output<Schema>>,
  status = 200,
): void {
  checkAnswer(response, schema, answer);
  response.status(status).json(answer);
}

/** A refusal that belongs to one field of the body or the query. */
export function refuseField(input: string, message: string): ApiError {
  return new ApiError("invalid_request", `${input}: ${message}`, { details: [{ input, message }] });
}

/** Returns a text of the query; undefined when it is missing or empty. */
export function queryText(request: Request, name: string): string | undefined {
  const value = request.query[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
