import type { Request, Response } from "express";
import { z } from "zod";
import { isStorable } from "../../../domain/manifest/json-values.ts";
import { ApiError } from "../errors.ts";

/** A text that PostgreSQL keeps as it is: half of a character would be changed without a word. */
export const StorableText = z.string().refine(isStorable, "holds a character that cannot be stored");

/** Believes a JSON body or a query after it fits the schema; otherwise says every problem at once. */
export function parseRequest<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.map((issue) => ({ input: issue.path.join("."), message: issue.message }));
  const named = details.map(({ input, message }) => (input === "" ? message : `${input}: ${message}`));
  throw new ApiError("invalid_request", named.join("; "), { details });
}

/** Sends a document that nobody on the way may keep: keys and balances are in some of them. */
export function sendDocument(response: Response, document: object, status = 200): void {
  response.status(status).set("Cache-Control", "no-store").json(document);
}

export function queryText(request: Request, name: string): string | undefined {
  const value = request.query[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
