import type { FileProblem } from "../domain/errors.ts";
import { type Declaration, parseRequirement, type Requirement } from "./requirement.ts";
import { decodeText } from "./text-files.ts";

const FILE_BYTES_MAX = 64 * 1024;
const LINES_MAX = 500;

/** Reads a `requirements.txt`: one requirement a line, comments, nothing else. All problems at once. */
export function parseRequirementsFile(file: string, content: Buffer): Declaration {
  const whole = (message: string): Declaration => ({ ok: false, problems: [{ file, line: 1, column: 1, message }] });
  const decoded = decodeText(content, FILE_BYTES_MAX);
  if (!decoded.ok) return whole(decoded.message);
  const lines = decoded.text.split(/\r\n|\r|\n/);
  if (lines.length - (lines.at(-1) === "" ? 1 : 0) > LINES_MAX) {
    return whole(`The file has ${lines.length.toLocaleString("en")} lines; at most ${LINES_MAX} are read.`);
  }
  const list: Requirement[] = [];
  const problems: FileProblem[] = [];
  for (const [index, written] of lines.entries()) {
    const parsed = parseRequirement(written.replace(/(?:^|[ \t]+)#.*$/, ""));
    if (parsed === undefined) continue;
    const line = index + 1;
    if ("message" in parsed) problems.push({ file, line, column: parsed.column, message: parsed.message });
    else list.push({ ...parsed, line });
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, list, python: null, notes: [] };
}
