/** A number as it is written, where JavaScript's own would show another: long ids, `1.0`, many decimals. */
export class WrittenNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type ExactJson =
  | string
  | number
  | boolean
  | null
  | WrittenNumber
  | readonly ExactJson[]
  | { readonly [name: string]: ExactJson };

/** JSON with its numbers as they are written, as far as the browser tells; undefined for what is not JSON. */
export function parseExactJson(text: string): ExactJson | undefined {
  try {
    return JSON.parse(text, keepWriting) as ExactJson;
  } catch {
    return undefined;
  }
}

function keepWriting(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source;
  return typeof value === "number" && source !== undefined && String(value) !== source
    ? new WrittenNumber(source)
    : value;
}
