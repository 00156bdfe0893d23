import type { FileProblem } from "../domain/errors.ts";
import type { BuildSpec } from "./lock.ts";
import { findByRow, normalizeName, type Requirement, type Requirements, toRequirementsText } from "./requirements.ts";

const MESSAGE_CHARACTERS_MAX = 1_000;
const NOT_SAID_TO_PEOPLE =
  /^(?:WARNING|DEPRECATION|\[notice\]|Collecting|Looking in|Using cached|Downloading|Saved |Obtaining|Processing |INFO:|To fix this|\d\. (?:loosen|remove) )|No solution found when resolving|ResolutionImpossible|^\^+$|building from source is disabled/;
const DECORATION = /^(?:[\s×╰─▶├│]+|error:|cause:|hint:|ERROR:)\s*/;
const NO_WHEEL = /no usable wheels|building from source is disabled|no wheels with a matching|from versions: none/;
/** pip wanted to start a process, which is how it builds. */
const STOPPED_BUILD = /Resource temporarily unavailable|BlockingIOError/;
const TRACEBACK = /^(?:ERROR: )?(?:Exception:|Traceback \(most recent call last\):)/m;
const UNREACHABLE =
  /error sending request|Failed to fetch|NewConnectionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|SSLError|Could not fetch URL|name resolution|dns error/i;
const HASH_DIFFERS = /hash mismatch|DO NOT MATCH THE HASHES|does not match the hash|hashes? (?:did|do) not match/i;

/**
 * What a resolver said, as a problem at the requirement it is about. That is the first one it names, or the first line
 * when it names none.
 */
export function toProblem(output: string, requirements: Requirements, spec: BuildSpec): FileProblem {
  return { ...findPlace(output, requirements), message: toSentence(output, spec) };
}

/** Returns where the requirement stands that a message is about; the first one when it names none. */
export function findPlace(
  message: string,
  requirements: Requirements,
): { readonly file: string; readonly line: number; readonly column: number } {
  const { line, column } = findRequirement(message, requirements) ?? (requirements.list[0] as Requirement);
  return { file: requirements.file, line, column };
}

/** What an installer said, for people: its own message without decoration, and ours where that does not say enough. */
export function toSentence(output: string, spec: BuildSpec): string {
  const message = (output.split(TRACEBACK)[0] ?? "")
    .split("\n")
    .map((line) => line.replace(DECORATION, "").replace(DECORATION, "").trim())
    .filter((line) => line !== "" && !NOT_SAID_TO_PEOPLE.test(line))
    .join(" ")
    .replaceAll(/ in `[^`]*requirements\.txt` at position \d+/g, ":")
    .replaceAll(/-r \S*requirements\.txt \((line \d+)\)/g, "$1")
    .slice(0, MESSAGE_CHARACTERS_MAX);
  const lastLine = output.trimEnd().split("\n").at(-1) ?? "";
  return [findFault(output), message || lastLine || "The packages could not be installed.", findReason(output, spec)]
    .filter((part) => part !== "")
    .join(" ");
}

/** What went wrong when it was not the requirements. */
function findFault(output: string): string {
  if (HASH_DIFFERS.test(output))
    return "A downloaded package is not the one that was locked when the commit was published.";
  return UNREACHABLE.test(output) ? "The package index could not be reached, or did not answer as one." : "";
}

/** What the installer's message leaves out: that there may be such a package, but not as a wheel. */
function findReason(output: string, { python, build }: BuildSpec): string {
  if (UNREACHABLE.test(output) || build === "source") return "";
  const rule = "Only wheels are installed, because building from source would run code of the package";
  const advice = "To allow that, in a sandbox, say build: source in config.yaml.";
  if (STOPPED_BUILD.test(output)) return `${rule}; a package asks for one that is no wheel. ${advice}`;
  if (!NO_WHEEL.test(output)) return "";
  return `${rule}; there is none for Python ${python.version} on ${python.platform}. ${advice}`;
}

function findRequirement(output: string, requirements: Requirements): Requirement | undefined {
  const [, first, second] = /\(from line (\d+) of|requirements\.txt \(line (\d+)\)/.exec(output) ?? [];
  const byLine = first ?? second;
  if (byLine !== undefined) return findByRow(requirements, Number(byLine));
  const position = /at position (\d+)/.exec(output)?.[1];
  if (position !== undefined) {
    const before = Buffer.from(toRequirementsText(requirements)).subarray(0, Number(position)).toString();
    return findByRow(requirements, before.split("\n").length);
  }
  const byMarker = requirements.list.find(
    ({ text }) => text.includes(";") && output.includes(text.slice(text.indexOf(";") + 1).trim()),
  );
  if (byMarker !== undefined) return byMarker;
  const spoken = [...output.matchAll(/(?:you require|requirement|Cannot install) ([A-Za-z0-9][A-Za-z0-9._-]*)/g)];
  const all = [...spoken, ...output.matchAll(/([A-Za-z0-9][A-Za-z0-9._-]*)/g)].map((match) =>
    normalizeName(match[1] ?? ""),
  );
  for (const name of all) {
    const sameName = requirements.list.filter((requirement) => requirement.name === name);
    if (sameName.length > 0) return sameName.find(({ text }) => output.includes(text)) ?? sameName[0];
  }
  return undefined;
}
