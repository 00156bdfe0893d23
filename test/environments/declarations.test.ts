import { describe, expect, test } from "@jest/globals";
import { fitsVersion } from "../../environments/python-versions.ts";
import {
  findByRow,
  type RequirementsReading,
  readRequirements,
  toRequirementsText,
} from "../../environments/requirements.ts";

const file = (path: string, content: string | Buffer) => ({ path, content: Buffer.from(content) });
const project = (content: string | Buffer) => readRequirements([file("pyproject.toml", content)]);
const script = (...lines: string[]) =>
  readRequirements([file("main.py", ["import os", "# /// script", ...lines, "# ///", ""].join("\n"))]);

const placesOf = (reading: RequirementsReading) =>
  reading.ok
    ? reading.requirements?.list.map(({ name, line, column }) => `${name} ${line}:${column}`)
    : reading.problems;
const problemsOf = (reading: RequirementsReading) =>
  reading.ok
    ? []
    : reading.problems.map(({ file: path, line, column, message }) => `${path}:${line}:${column} ${message}`);
const notesOf = (reading: RequirementsReading) =>
  reading.ok ? reading.notes.map(({ file: path, line, column }) => `${path}:${line}:${column}`) : reading.problems;

describe("pyproject.toml", () => {
  test.each([
    ["a list on one line", '[project]\ndependencies = ["six", "idna>=3"]\n', ["six 2:18", "idna 2:25"]],
    [
      "a list over several lines with comments",
      '[project]\ndependencies = [\n  "six", # "no", not this\n\n  \'idna>=3\',\n]\n',
      ["six 3:4", "idna 5:4"],
    ],
    ["dotted keys", 'project.name = "x"\nproject . dependencies=["six"]\n', ["six 2:26"]],
    ["quoted keys", '"project"."dependencies" = ["six"]\n', ["six 1:30"]],
    ["an inline table", 'project = { name = "x", dependencies = [ "six" ] }\n', ["six 1:43"]],
    [
      "lists and tables before it that look alike",
      '[[tool.x]]\nproject = { dependencies = ["no"] }\n[project]\nauthors = [{ name = "a" }, { name = "]" }]\ndependencies = ["six"]\n',
      ["six 5:18"],
    ],
    [
      "texts of several lines before it",
      '[project]\ndescription = """\n[project]\ndependencies = ["no"] \\"""\n"""\ndependencies = ["six"]\n',
      ["six 6:18"],
    ],
    [
      "a byte order mark and line ends of Windows",
      '\ufeff[project]\r\ndependencies = [\r\n\t"six",\r\n]\r\n',
      ["six 3:3"],
    ],
    ["a text with escapes", '[project]\ndependencies = ["s\\u0069x"]\n', ["six 2:18"]],
  ])("readRequirements, %s, finds each requirement at its place", (_what, content, places) => {
    expect(placesOf(project(content))).toEqual(places);
  });

  test.each([
    [
      "[project]\ndependencies = [\n  'six',\n  'x @ https://evil.example/x.whl',\n]\n",
      /^pyproject.toml:4:6 Packages by URL.*Name a package/,
    ],
    ["[project]\ndependencies = ['six', '']\n", /:2:25 A requirement begins with the name of a package, such as/],
    ["[project]\ndependencies = ['''six\n''']\n", /:2:18 A requirement is one line\. Remove/],
    ["[project]\ndependencies = ['six', 7]\n", /:2:1 dependencies must be a list of texts, such as/],
    ["[project]\ndependencies = 'six'\n", /:2:1 dependencies must be a list of texts/],
    ["[project]\ndependencies = ['six'\n", /:\d:\d+ This is no valid TOML: /],
    ["[project]\nname = 'a'\nname = 'b'\n", /:3:\d+ This is no valid TOML: /],
    ["[project]\n[project]\n", /:2:\d+ This is no valid TOML: /],
    ["project = 7\n", /:1:1 project must be a table/],
    ["[project]\nrequires-python = 'newest'\n", /:2:19 requires-python must be a text such as/],
    ["[project]\nrequires-python = 3.12\n", /:2:1 requires-python must be a text such as/],
    [
      "[project]\ndynamic = ['version', 'dependencies']\n",
      /:2:23 dependencies cannot be dynamic.*Write it into \[project\]/,
    ],
    [
      "[tool.poetry.dependencies]\npython = '^3.11'\nrequests = '*'\n",
      /:1:1 tool.poetry.dependencies is not read.*List the packages/,
    ],
    [
      "[project]\ndependencies = ['six']\n[tool.uv.sources]\nsix = { git = 'https://x' }\n",
      /:3:1 tool.uv.sources is not read.*Remove it/,
    ],
    [
      "[project]\ndependencies = ['six']\n[tool.uv]\nindex-url = 'https://evil.example'\n",
      /:4:1 tool.uv.index-url is not read/,
    ],
  ])("readRequirements, %j, is one problem that says where and what to do", (content, problem) => {
    expect(problemsOf(project(content))).toEqual([expect.stringMatching(problem)]);
  });

  test("readRequirements, what is there for other purposes, is noted and not installed", () => {
    const reading = project(
      "[build-system]\nrequires = ['evil']\n[project]\nname = 'x'\n[project.optional-dependencies]\na = ['b']\n[dependency-groups]\ndev = ['c']\n",
    );
    expect(reading).toMatchObject({ ok: true, requirements: null });
    expect(notesOf(reading)).toEqual(["pyproject.toml:5:1", "pyproject.toml:7:1"]);
  });

  test("readRequirements, TOML that means harm, is read or refused within a moment and changes nothing", () => {
    const before = Object.keys(Object.prototype);
    const started = process.cpuUsage();
    expect(problemsOf(project(`x = ${"[".repeat(50_000)}`))[0]).toMatch(/^pyproject.toml:1:\d+ This is no valid TOML/);
    expect(problemsOf(project(`x = ${"{a=".repeat(50_000)}`))[0]).toMatch(/This is no valid TOML/);
    expect(problemsOf(project(`x = "${"\\\\".repeat(100_000)}"\n[project]\ndependencies=["-r x"]\n`))[0]).toMatch(
      /:3:16 /,
    );
    expect(
      problemsOf(
        project(
          `project = { ${"a".repeat(3)} = 1 ${Array.from({ length: 20_000 }, (_, index) => `, k${index}=1`).join("")}, dependencies = ["!"] }`,
        ),
      )[0],
    ).toMatch(/A requirement begins/);
    expect(problemsOf(project("#".repeat(256 * 1024 + 1)))[0]).toMatch(/262,145 bytes; at most 262,144 are read/);
    expect(problemsOf(project(`[project]\ndependencies = [${"'six',".repeat(501)}]`))[0]).toMatch(
      /:2:1 dependencies has 501 entries; at most 500/,
    );
    expect(problemsOf(project(Buffer.from([0x78, 0xff])))[0]).toMatch(/not valid UTF-8/);
    for (const key of ["__proto__", "constructor", "prototype"]) {
      expect(
        placesOf(
          project(`[${key}]\ndependencies = ['evil']\nproject.dependencies = ['evil']\n[project]\n${key}.x = 1\n`),
        ),
      ).toBeUndefined();
    }
    expect(process.cpuUsage(started).user).toBeLessThan(5_000_000);
    expect(Object.keys(Object.prototype)).toEqual(before);
    expect(({} as { dependencies?: unknown }).dependencies).toBeUndefined();
  });
});

describe("script blocks", () => {
  test("readRequirements, a block in the entrypoint, finds each requirement at its place in the file", () => {
    const reading = script(
      "# requires-python = '>=3.10'",
      "# dependencies = [",
      "#   'six', # why",
      "#",
      "#   'idna>=3',",
      "# ]",
    );
    expect(placesOf(reading)).toEqual(["six 5:6", "idna 7:6"]);
    expect(reading).toMatchObject({
      ok: true,
      pythons: [{ file: "main.py", line: 3, column: 21, text: ">=3.10" }],
      notes: [],
    });
  });

  test("readRequirements, the same with a byte order mark and line ends of Windows, finds them too", () => {
    const content = "\ufeff# /// script\r\n# dependencies = ['six']\r\n# ///\r\nprint()\r\n";
    expect(placesOf(readRequirements([file("main.py", content)]))).toEqual(["six 2:20"]);
  });

  test.each([
    [["# dependencies = ['x @ file:///etc/passwd']"], /^main.py:3:22 Packages by URL/],
    [
      ["# dependencis = ['six']"],
      /:3:3 dependencis is nothing that a script block may have\. Did you mean "dependencies"\?/,
    ],
    [["# dependencies = ["], /:\d:\d+ This is no valid TOML/],
    [["# dependencies = ['six']", "# tool.uv.sources = { six = 1 }"], /:4:3 tool.uv.sources is not read/],
    [["# dependencies = ['!']"], /:3:20 A requirement begins/],
    [["# requires-python = '3'"], /:3:21 requires-python must be/],
    [
      ["# tool = {}", "# ///", "x = 1", "# /// script", "# tool = {}"],
      /:6:1 There are two # \/\/\/ script blocks. Keep one/,
    ],
  ])("readRequirements, a block with %j, is one problem that says where", (lines, problem) => {
    expect(problemsOf(script(...lines))).toEqual([expect.stringMatching(problem)]);
  });

  test("readRequirements, a block that is never closed or is another file's, is noted", () => {
    const block = "# /// script\n# dependencies = ['six']\n";
    const open = readRequirements([file("main.py", `${block}import os\n`)]);
    expect([open.ok && open.requirements, notesOf(open)]).toEqual([null, ["main.py:1:1"]]);
    const other = readRequirements([file("main.py", ""), file("other.py", `${block}# ///\n`)]);
    expect([other.ok && other.requirements, notesOf(other)]).toEqual([null, ["other.py:1:1"]]);
  });

  test("readRequirements, another entrypoint, reads the block of that file", () => {
    const files = ["main.py", "src/report.py"].map((path, index) =>
      file(path, `# /// script\n# dependencies = ['${["six", "idna"][index]}']\n# ///\n`),
    );
    const reading = readRequirements(files, "src/report.py");
    expect(reading).toMatchObject({ ok: true, requirements: { file: "src/report.py", list: [{ name: "idna" }] } });
    expect(notesOf(reading)).toEqual(["main.py:1:1"]);
  });

  test("readRequirements, a file of a million start lines, is read within a moment", () => {
    const started = process.cpuUsage();
    expect(readRequirements([file("main.py", "# /// script\n".repeat(200_000))])).toMatchObject({ ok: true });
    expect(process.cpuUsage(started).user).toBeLessThan(5_000_000);
  });
});

test("readRequirements, packages listed in two files, are refused at both", () => {
  const reading = readRequirements([
    file("requirements.txt", "\nsix\n"),
    file("pyproject.toml", "[project]\ndependencies = [\n'idna']\n"),
    file("main.py", "# /// script\n# requires-python = '>=3.10'\n# ///\n"),
  ]);
  expect(problemsOf(reading)).toEqual([
    expect.stringMatching(
      /^requirements.txt:2:1 Packages are listed in pyproject.toml and requirements.txt. List them in one/,
    ),
    expect.stringMatching(/^pyproject.toml:3:2 /),
  ]);
});

test("findByRow, what a resolver says of a line, is the requirement where its author wrote it", () => {
  const list = project("[project]\n\n\ndependencies = ['six',\n'idna']\n");
  const plain = readRequirements([file("requirements.txt", "# one\nsix\n\nidna\n")]);
  if (!list.ok || !plain.ok || list.requirements === null || plain.requirements === null) throw new Error("not read");
  expect(toRequirementsText(list.requirements)).toBe("six\nidna\n");
  expect(findByRow(list.requirements, 2)).toMatchObject({ name: "idna", line: 5, column: 2 });
  expect(toRequirementsText(plain.requirements)).toBe("\nsix\n\nidna\n");
  expect(findByRow(plain.requirements, 4)).toMatchObject({ name: "idna", line: 4 });
});

test.each([
  [">=3.11", "3.11.2", true],
  [">=3.11,<3.13", "3.13.0", false],
  [">3.11", "3.11.2", true],
  ["<3.12", "3.12.0", false],
  ["<3.12", "3.11.9", true],
  ["==3.11.*", "3.11.2", true],
  ["==3.11", "3.11.2", false],
  ["!=3.11.*", "3.11.2", false],
  ["~=3.10", "3.12.1", true],
  ["~=3.10.0", "3.12.1", false],
  [">=3.12rc1", "3.12.0", true],
  [">=3.8 , ", "3.11.2", true],
  ["<=3.11", "3.11.2", false],
  ["===3.11.2", "3.11.2", true],
  ["nonsense", "3.11.2", false],
])("fitsVersion, %j for Python %s, is %p", (demand, version, fits) => {
  expect(fitsVersion(demand, version)).toBe(fits);
});
