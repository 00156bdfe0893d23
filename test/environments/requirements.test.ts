import { expect, test } from "@jest/globals";
import { readRequirements, toRequirementsText } from "../../environments/requirements.ts";

const file = (content: string | Buffer, path = "requirements.txt") => ({ path, content: Buffer.from(content) });
const read = (content: string | Buffer) => readRequirements([file(content)]);

function problemsOf(content: string | Buffer) {
  const reading = read(content);
  return reading.ok ? [] : reading.problems.map(({ line, column, message }) => ({ line, column, message }));
}

test("readRequirements, plain requirements with comments, keeps name, text and place of each", () => {
  const reading = read(
    [
      "\ufeff# what we need",
      "",
      "requests==2.32.3  # pinned",
      '  Typing_Extensions[a, b] >=4, <5 ; python_version < "3.13" and sys_platform == "linux"',
      "ruamel.yaml (>=0.17,!=0.17.5)",
      "six\r",
      "numpy~=2.0",
      "x===1.0+local.1",
    ].join("\n"),
  );
  expect(reading).toEqual({
    ok: true,
    notes: [],
    pythons: [],
    requirements: {
      file: "requirements.txt",
      list: [
        { name: "requests", text: "requests==2.32.3", line: 3, column: 1 },
        {
          name: "typing-extensions",
          text: 'Typing_Extensions[a, b] >=4, <5 ; python_version < "3.13" and sys_platform == "linux"',
          line: 4,
          column: 3,
        },
        { name: "ruamel-yaml", text: "ruamel.yaml (>=0.17,!=0.17.5)", line: 5, column: 1 },
        { name: "six", text: "six", line: 6, column: 1 },
        { name: "numpy", text: "numpy~=2.0", line: 7, column: 1 },
        { name: "x", text: "x===1.0+local.1", line: 8, column: 1 },
      ],
    },
  });
});

test("toRequirementsText, requirements between comments, keeps each at its line", () => {
  const reading = read("# a\nsix # b\n\n   idna>=3\n");
  if (!reading.ok || reading.requirements === null) throw new Error("not read");
  expect(toRequirementsText(reading.requirements)).toBe("\nsix\n\nidna>=3\n");
});

test.each([
  ["", "an empty file"],
  ["\n\n  # nothing yet\n", "only comments"],
])("readRequirements, %j (%s), needs no environment", (content) => {
  expect(read(content)).toEqual({ ok: true, requirements: null, pythons: [], notes: [] });
});

test.each([
  ["-r other.txt", 1, /other requirement files/i],
  ["-c limits.txt", 1, /other requirement files/i],
  ["-e .", 1, /Editable/],
  ["--index-url https://evil.example/simple", 1, /option --index-url/],
  ["-i https://evil.example/simple", 1, /option -i/],
  ["  --find-links=/tmp", 3, /option --find-links/],
  ["--pre", 1, /option --pre/],
  ["six --no-binary :all:", 5, /option --no-binary/],
  ["six==1.16.0 --hash=sha256:abc", 13, /Remove --hash/],
  ["git+https://example.com/x.git", 1, /by URL/],
  ["https://example.com/x.whl", 1, /by URL/],
  ["file:///etc/passwd", 1, /by URL/],
  ["file:x.whl", 1, /by URL/],
  ["six @ https://example.com/six.whl", 5, /by URL/],
  ["six@file:six.whl", 4, /by URL/],
  ["./x.whl", 1, /by path/],
  ["x-1.0-py3-none-any.whl", 19, /by path/],
  ["../x", 1, /by path/],
  ["~/x", 1, /by path/],
  ["folder/x", 1, /by path/],
  ["x.tar.gz", 2, /by path/],
  ["six==${VERSION}", 6, /Environment variables/],
  ["$HOME", 1, /Environment variables/],
  ["six \\", 5, /one line/],
  ["six\\", 4, /one line/],
  ["six = 1.0", 5, /not understood/],
  ["six 1.0", 5, /not understood/],
  ["six==1.0,", 9, /not understood/],
  ["six (>=1.0", 11, /not understood/],
  ["six; os.system(`id`)", 4, /not understood/],
  ['six; os_nam == "x"', 6, /"os_nam == .*not understood/],
  ["six;", 4, /not understood/],
  ["six[a", 4, /not understood/],
  ["!six", 1, /begins with the name/],
  ["six\u0000", 4, /not understood/],
  ["ſix", 1, /begins with the name/],
])("readRequirements, %j, is a problem at column %i", (line, column, message) => {
  expect(problemsOf(`idna\n${line}\n`)).toEqual([{ line: 2, column, message: expect.stringMatching(message) }]);
});

test("readRequirements, several bad lines, reports all of them at once", () => {
  expect(problemsOf("-r a\nsix\n!\n$X\n").map(({ line }) => line)).toEqual([1, 3, 4]);
});

test("readRequirements, a file beyond a limit, says which limit", () => {
  expect(problemsOf("#".repeat(65_537))[0]?.message).toMatch(/65,537 bytes; at most 65,536/);
  expect(problemsOf("six\n".repeat(501))[0]?.message).toMatch(/at most 500/);
  expect(problemsOf("six\n".repeat(500))).toEqual([]);
  expect(problemsOf(`six${" ".repeat(1_000)}`)[0]?.message).toMatch(/longer than 1,000 characters/);
  expect(problemsOf(Buffer.from([0x73, 0xff, 0x0a]))[0]?.message).toMatch(/UTF-8/);
});
