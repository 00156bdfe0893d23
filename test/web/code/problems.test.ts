import { expect, test } from "@jest/globals";
import { findManifestProblems, mergeProblems, toMarks } from "../../../web/src/code/problems.ts";

function underlined(text: string): string[] {
  return toMarks(text, findManifestProblems(text)).map(({ from, to }) => text.slice(from, to));
}

test.each([
  ["an unknown key", "nmae: Hello\n", ["nmae"]],
  ["a wrong value", "name: x\nlimits: { timeout: soon }\n", ["soon"]],
  ["a wrong cron expression", 'triggers:\n  schedule: { enabled: true, cron: "99 * * * *" }\n', ['"99 * * * *"']],
  ["a missing key", "triggers:\n  schedule:\n    enabled: true\n", ["enabled"]],
])("toMarks, of %s, underlines just that", (_name, text, words) => {
  expect(underlined(text)).toEqual(words);
});

test("toMarks, of a place that the text does not have any more, stays within the text", () => {
  const problem = { line: 9, column: 40, message: "m" };
  expect(toMarks("ab\n  cd", [problem])).toMatchObject([{ from: 5, to: 7 }]);
  expect(toMarks("", [problem])).toMatchObject([{ from: 0, to: 0 }]);
  expect(toMarks("ab\n\ncd", [{ line: 2, column: 1, message: "m" }])).toMatchObject([{ from: 3, to: 3 }]);
});

test("toMarks, of a warning about a name, underlines the name and not what is called with it", () => {
  const warning = { line: 1, column: 5, message: "m", isWarning: true as const };
  const marks = toMarks("x = größe(y)", [warning]);
  expect(marks).toEqual([{ from: 4, to: 9, problem: warning }]);
  expect(toMarks("if a.b(c):", [{ ...warning, column: 4 }])).toMatchObject([{ from: 3, to: 6 }]);
});

test("toMarks, of a file whose lines end as on Windows, counts a line break as one character, as the editor does", () => {
  const warning = { line: 3, column: 1, message: "m", isWarning: true as const };
  for (const ending of ["\n", "\r\n", "\r"])
    expect(toMarks(["a = 1", "b = 2", "name"].join(ending), [warning])).toMatchObject([{ from: 12, to: 16 }]);
});

test("mergeProblems, of the same found here and by the service, has it once and all by place", () => {
  const problem = (file: string, line: number) => ({ file, line, column: 1, message: "m" });
  const merged = mergeProblems(
    [problem("b", 2), problem("b", 1)],
    [{ message: "m", column: 1, line: 2, file: "b" }, problem("a", 7)],
  );
  expect(merged.map(({ file, line }) => `${file}:${line}`)).toEqual(["a:7", "b:1", "b:2"]);
});
