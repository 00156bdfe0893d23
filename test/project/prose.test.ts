import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { checkDocComments, checkMarkdown } from "./sentences.ts";

const CHECKOUT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const DOCUMENT = /^(?:README|ARCHITECTURE|CONTRIBUTING)\.md$|^docs\/.*\.md$/;
const PRODUCT_CODE = /^(?:activities|db|domain|environments|sandbox|src|storage|system|web|workflows)\/.*\.tsx?$/;
/** Far below what there is. A scan that reads nothing must not count as one that finds nothing. */
const FILES_MIN = 300;

/**
 * Sentences that still break the rules, by document or room. Every place that is not here has none. The numbers only go
 * down: lower one when you have rewritten a sentence, and delete it at zero.
 */
const REMAINING: Readonly<Record<string, number>> = {};

/** Returns the name under which a file is counted: a document, or the first folders of code. */
function placeOf(path: string): string {
  if (path.startsWith("docs/decisions/")) return "docs/decisions";
  if (DOCUMENT.test(path)) return path;
  const [room = "", folder = "", ...below] = path.split("/");
  return room === "src" && below.length > 0 ? `${room}/${folder}` : room;
}

const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: CHECKOUT,
  encoding: "utf8",
})
  .split("\n")
  .filter((path) => (DOCUMENT.test(path) || PRODUCT_CODE.test(path)) && existsSync(join(CHECKOUT, path)));

const complaints = new Map<string, string[]>();
for (const path of files) {
  const text = readFileSync(join(CHECKOUT, path), "utf8");
  const found = DOCUMENT.test(path) ? checkMarkdown(text) : checkDocComments(text);
  const lines = found.map(({ sentence, problem }) => `${path}: ${problem}: ${sentence}`);
  complaints.set(placeOf(path), [...(complaints.get(placeOf(path)) ?? []), ...lines]);
}

test("prose, of documents and doc comments, has short sentences and none of the banned phrases", () => {
  expect(files.length).toBeGreaterThanOrEqual(FILES_MIN);
  const excess = [...complaints].flatMap(([place, lines]) => {
    const allowed = REMAINING[place] ?? 0;
    return lines.length <= allowed ? [] : [`${place} has ${lines.length}, and may have ${allowed}`, ...lines];
  });
  expect(excess).toEqual([]);
  for (const [place, allowed] of Object.entries(REMAINING)) {
    const count = complaints.get(place)?.length ?? 0;
    if (count < allowed) process.stderr.write(`prose.test.ts: lower ${place} to ${count}, it has ${allowed}.\n`);
  }
});

const LONG = `${"word ".repeat(25)}end.`;
const SHORT = "word ".repeat(25);

test.each([
  ["a banned phrase", "A call is told why.\n", 1],
  ["three of them in two sentences", "Whoever asks gets it. Somebody hears of it.\n", 3],
  ["26 words", LONG, 1],
  ["two sentences of 25", `${"word ".repeat(24)}end. ${"Word ".repeat(24)}end.`, 0],
  ["a heading, items and a paragraph", `# ${SHORT}\n- ${SHORT}\n- ${SHORT}\n\n${SHORT}`, 0],
  ["code, a table and a comment", `\`\`\`sh\n${LONG}\n\`\`\`\n| ${LONG} |\n<!-- ${LONG} -->\n`, 0],
  ["code and a link in a line", `The command \`${LONG}\` and [it](https://localhost/${"a/".repeat(40)}) are short.`, 0],
  ["26 words after code in a list", `- item\n\n  \`\`\`sh\n  ${LONG}\n  \`\`\`\n\nAfter it, ${LONG}`, 1],
])("the reader of documents, given %s, finds what is wrong", (_, text, count) => {
  expect(checkMarkdown(text)).toHaveLength(count);
});

test.each([
  ["26 words beside comments of other kinds", `/** ${LONG} */\nconst a = 1; // ${LONG}\n/* ${LONG} */`, 1],
  ["a sentence in two lines", `/**\n * ${"word ".repeat(14)}\n * ${"word ".repeat(14)}\n */`, 1],
  ["a list", `/**\n * ${"word ".repeat(14)}\n *\n * - ${"word ".repeat(14)}\n */`, 0],
  ["two comments on fields", "interface A {\n  /** Says why. */\n  a: string; /** What is told. */\n}", 2],
  ["a vague verb", "/** Answers it, as judged. */", 2],
])("the reader of doc comments, given %s, finds what is wrong", (_, text, count) => {
  expect(checkDocComments(text)).toHaveLength(count);
});
