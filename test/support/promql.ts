/** What an expression asks Prometheus for. */
export interface Selector {
  readonly name: string;
  readonly matchers: readonly { readonly label: string; readonly operator: string; readonly value: string }[];
}

const SELECTOR = /\b(treadle_\w+|up)\b(?:\s*\{([^}]*)\})?/g;
const MATCHER = /(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g;
const GROUPING = /\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g;

/** Every metric that an expression of PromQL names, with what it demands of its labels. */
export function listSelectors(expression: string): Selector[] {
  return [...expression.matchAll(SELECTOR)].map(([, name = "", inside = ""]) => ({
    name,
    matchers: [...inside.matchAll(MATCHER)].map(([, label = "", operator = "", value = ""]) => ({
      label,
      operator,
      value,
    })),
  }));
}

/** Every label that an expression groups by, or that a legend shows. */
export function listGroupings(expression: string): string[] {
  return [...expression.matchAll(GROUPING)].flatMap(([, labels = ""]) =>
    labels
      .split(",")
      .map((label) => label.trim())
      .filter((label) => label !== ""),
  );
}

/** The figures of Prometheus' text format: by name, the labels of each sample. */
export function readSamples(text: string): Map<string, Readonly<Record<string, string>>[]> {
  const samples = new Map<string, Readonly<Record<string, string>>[]>();
  for (const line of text.split("\n")) {
    const [, name, labels = ""] = /^([a-z]\w*)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (name === undefined) continue;
    const known = Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]));
    samples.set(name, [...(samples.get(name) ?? []), known]);
  }
  return samples;
}
