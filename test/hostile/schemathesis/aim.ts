/** Values that a path parameter takes, so that many calls reach something: of three addresses made up, none is there. */
export type Aims = Readonly<Record<string, readonly string[]>>;

interface Schema extends Record<string, unknown> {
  readonly properties?: object;
  readonly additionalProperties?: unknown;
}

/**
 * The same document, made more exacting for a fuzzer: path parameters take the values given, and an answer may have no
 * field that its schema does not name. What callers send keeps its own rules.
 */
export function aimDocument(document: object, aims: Aims): object {
  return rewrite(document, { aims, isAnswer: false }) as object;
}

function rewrite(value: unknown, context: { aims: Aims; isAnswer: boolean }): unknown {
  if (Array.isArray(value)) return value.map((item) => rewrite(item, context));
  if (typeof value !== "object" || value === null) return value;
  const aimed = aimParameter(value as Record<string, unknown>, context.aims);
  const entries = Object.entries(aimed).map(([key, part]) => {
    // The shared schemas are those of answers.
    const isAnswer = context.isAnswer || key === "responses" || key === "schemas";
    return [key, rewrite(part, { ...context, isAnswer })];
  });
  const schema = Object.fromEntries(entries) as Schema;
  const isOpen = context.isAnswer && schema.properties !== undefined && schema.additionalProperties === undefined;
  return isOpen ? { ...schema, additionalProperties: false } : schema;
}

function aimParameter(value: Record<string, unknown>, aims: Aims): Record<string, unknown> {
  const aim = value["in"] === "path" ? aims[String(value["name"])] : undefined;
  return aim === undefined ? value : { ...value, schema: { type: "string", enum: aim } };
}
