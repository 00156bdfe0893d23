import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import { toStableJson } from "../../domain/manifest/json-values.ts";
import type { Expected } from "./case-files.ts";
import type { Client } from "./client.ts";
import { type Envelope, logPathOf } from "./execution-result.ts";
import { Refusal } from "./refusal.ts";

/** An output that is compared is held in memory. */
const OUTPUT_BYTES_MAX = 10 * 1024 * 1024;
/** Texts up to this length stand in one line beside each other; of longer ones the lines that differ are shown. */
const SHORT_CHARACTERS_MAX = 80;
const LINES_MAX = 40;
/** Comparing two texts that share nothing takes time by the square of their length. */
const TIMEOUT_MS = 1_000;

/** Returns in what an execution that has ended differs from what was expected; nothing when it is as it should be. */
export async function findDifferences(client: Client, result: Envelope, expect: Expected): Promise<readonly string[]> {
  const { status, message = "", cost, outputs = {} } = result;
  if (status !== expect.status)
    return [`status: expected ${expect.status}, got ${status}${message === "" ? "" : `: ${message}`}`];
  const differences: string[] = [];
  for (const [name, expected] of Object.entries(expect.outputs)) {
    const difference = await findOutputDifference(client, result, { name, expected }, outputs);
    if (difference !== undefined) differences.push(`outputs.${name}: ${difference}`);
  }
  const { atMost } = expect.cost ?? {};
  if (atMost !== undefined && cost !== undefined && cost.total > atMost)
    differences.push(`cost: expected at most ${atMost} credits, got ${cost.total}`);
  return differences;
}

async function findOutputDifference(
  client: Client,
  { executionId }: Envelope,
  { name, expected }: { name: string; expected: Expected["outputs"][string] },
  outputs: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const address = Object.hasOwn(outputs, name) ? outputs[name] : undefined;
  if (address === undefined) {
    const names = Object.keys(outputs);
    return `There is no such output. ${names.length === 0 ? "There is none." : `There are ${names.join(", ")}.`}`;
  }
  // The address is the service's public one, which may lead elsewhere than the way we have to it.
  const fileName = new URL(address).pathname.split("/").at(-1) ?? "";
  const text = await client
    .read(`${logPathOf(executionId)}/files/${fileName}`, OUTPUT_BYTES_MAX)
    .catch((error: unknown) => {
      if (error instanceof Refusal) return error;
      throw error;
    });
  if (text instanceof Refusal) return `It cannot be compared. ${text.message}`;
  if (typeof expected === "string") return text === expected ? undefined : describe(expected, text);
  if ("contains" in expected)
    return text.includes(expected.contains) ? undefined : `expected ${cut(expected.contains)} in ${cut(text)}`;
  return findJsonDifference(expected.json, text);
}

/** The order of keys does not count, and 1 is 1.0. */
function findJsonDifference(expected: unknown, text: string): string | undefined {
  let actual: unknown;
  try {
    actual = JSON.parse(text);
  } catch {
    return `expected JSON, got ${cut(text)}`;
  }
  const [wanted, got] = [toStableJson(expected), toStableJson(actual)];
  return wanted === got ? undefined : describe(wanted, got, AS_JSON);
}

/** How a value is shown in a line, and over several. */
interface Form {
  readonly inLine: (text: string) => string;
  readonly spread: (text: string) => string;
}

const AS_TEXT: Form = { inLine: (text) => JSON.stringify(text), spread: (text) => text };
const AS_JSON: Form = { inLine: (text) => text, spread: (text) => JSON.stringify(JSON.parse(text), undefined, 2) };

/** Both texts in a line where they are short; otherwise the lines that differ, as `diff -u` has them. */
function describe(expected: string, actual: string, { inLine, spread } = AS_TEXT): string {
  const isShort = [expected, actual].every((text) => text.length <= SHORT_CHARACTERS_MAX && !/\n./.test(text));
  if (isShort) return `expected ${inLine(expected)}, got ${inLine(actual)}`;
  const patch = createTwoFilesPatch("expected", "got", spread(expected), spread(actual), undefined, undefined, {
    timeout: TIMEOUT_MS,
    headerOptions: FILE_HEADERS_ONLY,
  });
  if (patch === undefined) return `expected ${cut(expected)}, got ${cut(actual)}`;
  const lines = patch.trimEnd().split("\n");
  const more = lines.length > LINES_MAX ? [`… and ${lines.length - LINES_MAX} more lines`] : [];
  return ["it differs:", ...lines.slice(0, LINES_MAX), ...more].join("\n");
}

function cut(text: string): string {
  return text.length <= SHORT_CHARACTERS_MAX
    ? JSON.stringify(text)
    : `${JSON.stringify(text.slice(0, SHORT_CHARACTERS_MAX))}…`;
}
