import { aTar, aTarEntry } from "../tar.ts";

/** A commit has at most 1,000 files and 20 MB. */
const FILES = 940;
const LINES = 820;

/** Control characters: JSON writes each as six. */
const line = (seed: string, at: number): string => `${seed}${at}${"\u0001".repeat(16)}\n`;

const ambiguous = Array.from({ length: 150 }, (_, at) => `  i${at}: {type: string, pattern: "(a{0,900}b?)*"}\n`).join(
  "",
);
const patterned = Array.from(
  { length: 95 },
  (_, at) => `  i${at}: {type: string, required: false, pattern: "${"a*".repeat(98)}"}\n`,
).join("");
const options = Array.from({ length: 700 }, (_, at) => `${"o".repeat(40)}${at}`).join(", ");
const chosen = Array.from(
  { length: 25 },
  (_, at) => `  m${at}: {type: multi_select, required: false, options: ${at === 0 ? `&all [${options}]` : "*all"}}\n`,
).join("");

/** Manifests that ask for as much as a manifest may. */
export const CONFIGS = {
  uploads: "inputs: {data: {type: file, required: false}}\ntriggers: {api: {enabled: true}}\n",
  ambiguous: `inputs:\n${ambiguous}`,
  patterned: `inputs:\n${patterned}  any: {type: json, required: false}\ntriggers: {api: {enabled: true}}\n`,
  chosen: `inputs:\n${chosen}triggers: {api: {enabled: true}}\n`,
  nonsense: "? [".repeat(99) + "- &a [*b, {x: y}]\n".repeat(3_000),
} as const;

/** The largest folder, with text in every line that `seed` names. */
export function aLargeFolder(seed: string, config: string): { path: string; content: string }[] {
  const content = Array.from({ length: LINES }, (_, at) => line(seed, at)).join("");
  return [
    { path: "config.yaml", content: config },
    { path: "main.py", content: "def main():\n    pass\n" },
    ...Array.from({ length: FILES }, (_, at) => ({ path: `data/f${at}.txt`, content: `${at}\n${content}` })),
  ];
}

export function toTar(files: readonly { path: string; content: string }[]): Buffer {
  return aTar(files.map(({ path, content }) => aTarEntry(path, content)));
}

/** Bodies of execute and validate of nearly a megabyte. */
export const BODIES = {
  patterns: JSON.stringify(Object.fromEntries(Array.from({ length: 95 }, (_, at) => [`i${at}`, "a".repeat(9_700)]))),
  lists: JSON.stringify({ any: Array.from({ length: 250_000 }, () => []) }),
  keys: JSON.stringify({ any: Object.fromEntries(Array.from({ length: 80_000 }, (_, at) => [`k${at}`, 0])) }),
  unknown: JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`unknown${at}`, 0]))),
  /** Of more than a hundred parts, a hundred of which get an address. */
  upload: JSON.stringify({ input: "data", fileName: "x".repeat(255), bytes: 2_000_000_000, sha256: "0".repeat(64) }),
  wrong: JSON.stringify(
    Object.fromEntries(
      Array.from({ length: 25 }, (_, input) => [
        `m${input}`,
        Array.from({ length: 690 }, (_entry, at) => `${"x".repeat(40)}${at}`),
      ]),
    ),
  ),
} as const;

/** One file of the largest draft, and a thousand of them. */
export function aLargeChange(version: number, seed: string, count: number): string {
  const bytes = Math.floor(19_400_000 / count);
  const base64 = Buffer.from(seed.padEnd(bytes, `${seed}\u0001\n`)).toString("base64");
  return JSON.stringify({
    version,
    changes: [
      { path: "data", delete: true },
      ...Array.from({ length: count }, (_, at) => ({ path: `data/f${at}.txt`, base64 })),
    ],
  });
}

/** Python that takes long to be searched, and a file that nests too deeply. */
export function aPythonChange(version: number): string {
  const names = "a\n".repeat(60_000);
  return JSON.stringify({
    version,
    changes: [
      { path: "data", delete: true },
      ...Array.from({ length: 8 }, (_, at) => ({ path: `data/f${at}.py`, text: `${names}b${at}\n` })),
      { path: "data/deep.py", text: `${"(".repeat(60_000)}${")".repeat(60_000)}` },
      { path: "data/large.py", text: `${"[".repeat(500_000)}${"]".repeat(500_000)}` },
    ],
  });
}
