import type { FileProblem } from "../domain/errors.ts";
import { suggest } from "../domain/manifest/nearest.ts";
import { createReport, readDependencyList, readPythonDemand } from "./dependency-list.ts";
import { refuseToolSources } from "./project-file.ts";
import type { Declaration } from "./requirement.ts";
import { type KeyPlace, type Place, readToml } from "./toml.ts";

const BLOCK_CHARACTERS_MAX = 64 * 1024;
const START = /^# \/\/\/ ([a-zA-Z0-9-]+)$/;
const INSIDE = /^#(?: .*)?$/s;
const END = "# ///";
const KEYS = ["dependencies", "requires-python", "tool"];

interface Block {
  readonly type: string;
  /** Of its first line, counted from 1. */
  readonly line: number;
  readonly lines: readonly string[];
}

/**
 * Reads the `# /// script` block of a Python file as PEP 723 writes it: `dependencies` and `requires-python`. The code is
 * not run. Without a block the file declares nothing; two of them are a problem. All problems at once.
 */
export function parseInlineMetadata(file: string, content: Buffer): Declaration {
  // The block is found the same way in any encoding of the file; its text must be UTF-8.
  const lines = content
    .toString("latin1")
    .replace(/^\u00ef\u00bb\u00bf/, "")
    .split(/\r\n|\r|\n/);
  const { blocks, unclosed } = findBlocks(lines);
  const [block, second] = blocks.filter(({ type }) => type === "script");
  const refuse = (line: number, message: string): Declaration => ({
    ok: false,
    problems: [{ file, line, column: 1, message }],
  });
  if (second !== undefined) return refuse(second.line, "There are two # /// script blocks. Keep one.");
  if (block === undefined)
    return { ok: true, list: [], python: null, notes: unclosed.map((line) => noteOf(file, line)) };
  const bytes = Buffer.from(block.lines.map((line) => line.slice(line.startsWith("# ") ? 2 : 1)).join("\n"), "latin1");
  const text = bytes.toString("utf8");
  if (text.length > BLOCK_CHARACTERS_MAX) return refuse(block.line, "The # /// script block is too long.");
  if (!Buffer.from(text).equals(bytes)) return refuse(block.line, "The # /// script block is not valid UTF-8 text.");
  return parseBlock(file, block, text);
}

/** Returns whether a Python file has such a block, valid or not. */
export function hasInlineMetadata(content: Buffer): boolean {
  return /^# \/\/\/ script\r?$/m.test(content.toString("latin1"));
}

function parseBlock(file: string, block: Block, text: string): Declaration {
  const inFile = ({ line, column }: Place): Place => {
    const before = block.lines[line - 1]?.startsWith("# ") ? 2 : 1;
    return { line: block.line + line, column: column + before };
  };
  const toml = readToml(text);
  if (!toml.ok) return { ok: false, problems: [{ file, ...inFile(toml), message: toml.message }] };
  const { problems, report } = createReport(file);
  const placeOf = (key: string): KeyPlace => {
    const place = toml.findPlace(key);
    return { ...inFile(place), texts: place.texts.map(inFile) };
  };
  for (const key of Object.keys(toml.table).filter((each) => !KEYS.includes(each))) {
    report(placeOf(key), `${key} is nothing that a script block may have.${suggest(key, KEYS)}`);
  }
  const list = readDependencyList(toml.table.dependencies, "dependencies", placeOf("dependencies"), report);
  const python = readPythonDemand(toml.table["requires-python"], file, placeOf("requires-python"), report);
  if (list.length > 0) refuseToolSources(toml, (place, message) => report(inFile(place), message));
  return problems.length > 0 ? { ok: false, problems } : { ok: true, list, python, notes: [] };
}

/**
 * Blocks by the grammar of the PEP: a start line, comment lines, and the last end line that follows without a gap. Blocks
 * without an end are none. Goes through the lines once: a hostile file may have a million start lines.
 */
function findBlocks(lines: readonly string[]): { blocks: Block[]; unclosed: number[] } {
  const blocks: Block[] = [];
  const unclosed: number[] = [];
  let lastEnd = -1; // of the run of comment lines that reaches up to `runEnd`
  let runEnd = -1;
  for (let index = 0; index < lines.length; index += 1) {
    const type = START.exec(lines[index] ?? "")?.[1];
    if (type === undefined) continue;
    if (index >= runEnd) {
      lastEnd = -1;
      for (runEnd = index + 1; INSIDE.test(lines[runEnd] ?? ""); runEnd += 1) {
        if (lines[runEnd] === END) lastEnd = runEnd;
      }
    }
    if (lastEnd > index + 1) {
      blocks.push({ type, line: index + 1, lines: lines.slice(index + 1, lastEnd) });
      index = lastEnd;
    } else if (type === "script") unclosed.push(index + 1);
  }
  return { blocks, unclosed };
}

function noteOf(file: string, line: number): FileProblem {
  return {
    file,
    line,
    column: 1,
    message:
      "This # /// script block is never closed, so it is not read. End it with # ///, and begin every line between with #.",
  };
}
