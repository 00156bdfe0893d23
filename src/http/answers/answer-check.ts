import type { Response } from "express";
import { z } from "zod";

/** The setting of an app whose answers are compared with their schemas. */
export const CHECKS_ANSWERS = "checks answers";

/**
 * Throws when an answer is not exactly what its schema describes: a field too many, too few or of another kind. Only where the app
 * has the setting, which tests turn on. Callers would pay for it otherwise, and an answer with a field too many harms nobody.
 */
export function checkAnswer(response: Response, schema: z.ZodType, answer: unknown): void {
  if (response.app.get(CHECKS_ANSWERS) === true) compare(schema, JSON.parse(JSON.stringify(answer)));
}

/** Throws like `checkAnswer`, of an answer that is JSON in bytes already. */
export function checkText(response: Response, schema: z.ZodType, json: Uint8Array): void {
  if (response.app.get(CHECKS_ANSWERS) === true) compare(schema, JSON.parse(new TextDecoder().decode(json)));
}

function compare(schema: z.ZodType, sent: unknown): void {
  const parsed = schema.safeParse(sent);
  if (!parsed.success) throw new Error(`The answer does not fit its schema:\n${z.prettifyError(parsed.error)}`);
  const extra = findExtra(sent, parsed.data);
  if (extra !== undefined) throw new Error(`The answer has ${extra}, which its schema lacks.`);
}

/** Returns the path of the first field of `sent` that parsing has left out; undefined when there is none. */
function findExtra(sent: unknown, parsed: unknown): string | undefined {
  if (typeof sent !== "object" || sent === null) return undefined;
  for (const [name, value] of Object.entries(sent)) {
    if (typeof parsed !== "object" || parsed === null || !Object.hasOwn(parsed, name)) return name;
    const inside = findExtra(value, (parsed as Record<string, unknown>)[name]);
    if (inside !== undefined) return `${name}.${inside}`;
  }
  return undefined;
}
