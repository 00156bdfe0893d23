import fc from "fast-check";

/** One change of a text: at a place given as a share of its length, so that it means something after other changes too. */
type Edit =
  | { readonly kind: "cut" | "twice"; readonly at: number; readonly length: number }
  | { readonly kind: "insert" | "replace"; readonly at: number; readonly word: string }
  | { readonly kind: "many"; readonly at: number; readonly word: string; readonly times: number }
  | { readonly kind: "swap"; readonly at: number; readonly other: number }
  | { readonly kind: "end"; readonly at: number };

/** What breaks parsers, whatever they parse. */
const COMMON = [
  "",
  " ",
  "\t",
  "\n",
  "\r\n",
  "\0",
  "\\",
  '"',
  "'",
  "{",
  "}",
  "[",
  "]",
  ":",
  ",",
  "-",
  "--",
  "/",
  "%",
  "%00",
  "é",
  "😀",
  "\ud800",
  "\ufeff",
  "\u202e",
  "\u2028",
  "__proto__",
  "constructor",
  "null",
  "true",
  "NaN",
  "-0",
  "1e400",
  "9007199254740993",
  "0x10",
  "../",
];

const share = fc.double({ min: 0, max: 1, noNaN: true });

/** Texts that are nearly one of `seeds`: one to `editsMax` changes, with words of `dictionary` among those that are put in. */
export function mutated(seeds: readonly string[], dictionary: readonly string[], editsMax = 6): fc.Arbitrary<string> {
  const word = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...COMMON, ...dictionary) },
    { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 8 }) },
  );
  const edit: fc.Arbitrary<Edit> = fc.oneof(
    fc.record({ kind: fc.constantFrom("cut" as const, "twice" as const), at: share, length: fc.nat({ max: 60 }) }),
    fc.record({ kind: fc.constantFrom("insert" as const, "replace" as const), at: share, word }),
    fc.record({ kind: fc.constant("many" as const), at: share, word, times: fc.constantFrom(2, 10, 100, 2_000) }),
    fc.record({ kind: fc.constant("swap" as const), at: share, other: share }),
    fc.record({ kind: fc.constant("end" as const), at: share }),
  );
  const edits = fc.array(edit, { minLength: 1, maxLength: editsMax });
  return fc.tuple(fc.constantFrom(...seeds), edits).map(([seed, list]) => list.reduce(applyEdit, seed));
}

function applyEdit(text: string, edit: Edit): string {
  const at = Math.floor(edit.at * text.length);
  const [before, after] = [text.slice(0, at), text.slice(at)];
  switch (edit.kind) {
    case "cut":
      return before + after.slice(edit.length);
    case "twice":
      return before + after.slice(0, edit.length) + after;
    case "insert":
      return before + edit.word + after;
    case "replace":
      return before + edit.word + after.slice(Math.max(1, edit.word.length));
    case "many":
      return before + edit.word.repeat(edit.times) + after;
    case "swap":
      return swapLines(text, at, Math.floor(edit.other * text.length));
    case "end":
      return before;
  }
}

function swapLines(text: string, one: number, other: number): string {
  const lines = text.split("\n");
  const first = text.slice(0, one).split("\n").length - 1;
  const second = text.slice(0, other).split("\n").length - 1;
  [lines[first], lines[second]] = [lines[second] ?? "", lines[first] ?? ""];
  return lines.join("\n");
}
