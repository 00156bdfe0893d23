import type * as z from "zod";
import { DESTINATION_NAME, findPublicProblem, formatEndpoint, parseEndpoint } from "../destinations.ts";
import type { Problems } from "./issues.ts";
import { quote } from "./json-values.ts";
import type { NetworkLimit } from "./manifest.ts";
import { suggest } from "./nearest.ts";
import type { NetworkSchema } from "./network-schema.ts";

/** More are a range, or the internet. */
const DESTINATIONS_MAX = 20;
const PATH = ["limits", "network"];

/**
 * Returns what a manifest says of its network: destinations in small letters, as they are compared. Reports those that
 * cannot be, and those that are not granted, where `granted` says which are.
 */
export function toNetwork(
  given: z.output<typeof NetworkSchema> | undefined,
  granted: ReadonlySet<string> | undefined,
  problems: Problems,
): NetworkLimit {
  if (typeof given !== "object") return given ?? false;
  const { to } = given;
  if (to.length === 0)
    problems.addAtKey([...PATH, "to"], "must name a destination. For none at all write network: false.");
  if (to.length > DESTINATIONS_MAX)
    problems.addAtKey([...PATH, "to"], `must name at most ${DESTINATIONS_MAX} destinations, not ${to.length}.`);
  const read = to.map((text) => readDestination(text, granted));
  for (const [index, { name, problem }] of read.entries()) {
    const isRepeated = read.findIndex((one) => one.name === name) < index;
    const message = problem ?? (isRepeated ? `${quote(name)} is named twice. Remove one.` : undefined);
    if (message !== undefined) problems.addAtValue([...PATH, "to", index], message);
  }
  return { to: read.map(({ name }) => name) };
}

function readDestination(text: string, granted: ReadonlySet<string> | undefined): { name: string; problem?: string } {
  if (!text.includes(":") && DESTINATION_NAME.test(text)) {
    if (granted === undefined || granted.has(text)) return { name: text };
    return {
      name: text,
      problem: `The account has no destination ${quote(text)}.${suggest(text, granted)} The operator grants one: treadle destinations add ${text} HOST:PORT`,
    };
  }
  const reading = parseEndpoint(text);
  if ("problem" in reading) return { name: text, problem: reading.problem };
  const name = formatEndpoint(reading.endpoint);
  const problem = findPublicProblem(reading.endpoint);
  return problem === undefined ? { name } : { name, problem };
}

/** Returns the destinations that a manifest names, each once; none where it has the whole internet, or no network. */
export function listDestinations(network: NetworkLimit): readonly string[] {
  return typeof network === "object" ? network.to : [];
}

/** Returns those of them that the operator has to grant. */
export function listGrantNames(network: NetworkLimit): string[] {
  return listDestinations(network).filter((name) => !name.includes(":"));
}
