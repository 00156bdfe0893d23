import { expect, test } from "@jest/globals";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { type ManifestOptions, parseManifest } from "../../../domain/manifest/parse.ts";
import { readProcessorMs } from "../../support/processor.ts";

function problemsOf(source: string, options: ManifestOptions = {}): string[] {
  const result = parseManifest(source, options);
  return result.ok ? [] : result.problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

function parse(source: string): Manifest {
  const result = parseManifest(source);
  if (!result.ok) throw new Error(result.problems.map((problem) => problem.message).join(" "));
  return result.manifest;
}

const EVERYTHING = `
name: Sales report
description: Turns an order export into a PDF report
entrypoint: src/main.py
python: "3.12"
build: source
inputs:
  region:  { type: select, options: [EU, US], default: EU, label: Region }
  orders:  { type: file, accept: [.CSV, text/*], max_size: 50MB, description: Export from the shop, required: false }
  extras:  { type: file_list, max_files: 3, required: false }
  notes:   { type: string, required: false, min_length: 2, max_length: 80, pattern: "[a-z ]*" }
  body:    { type: text, default: "" }
  ratio:   { type: number, min: 0, max: 1, step: 0.1, default: 0.3 }
  count:   { type: integer, min: 1, default: 5 }
  loud:    { type: boolean, default: false }
  tags:    { type: multi_select, options: [a, b, c], default: [a, c] }
  day:     { type: date, min: 2026-01-01, default: 2026-02-28 }
  moment:  { type: datetime, default: 2026-02-28T09:00:00Z }
  extra:   { type: json, default: { a: [1, null] } }
  token:   { type: secret, required: false }
outputs:
  report:  { type: file, description: The PDF }
  log:
limits:   { timeout: 1h, memory: 1GiB, cpu: 0.5, processes: 128, open_files: 1000, scratch: 512MiB, network: true }
retry:    { max_attempts: 2 }
concurrency: { max: 4, when_full: reject }
triggers:
  api:      { enabled: true }
  schedule:
    enabled: false
    cron: "0  9 * * 1-5"
    timezone: Europe/Berlin
    payload: { region: US }
    overlap: cancel_previous
    catchup: none
    max_lateness: 90s
    jitter: 30
`;

test("parseManifest, a config with everything, gives a plain JSON manifest with units", () => {
  const manifest = parse(EVERYTHING);
  expect(JSON.parse(JSON.stringify(manifest))).toEqual(manifest);
  expect(manifest).toMatchObject({
    name: "Sales report",
    entrypoint: "src/main.py",
    python: "3.12",
    build: "source",
    limits: {
      timeoutSeconds: 3_600,
      memoryBytes: 1_073_741_824,
      cpu: 0.5,
      network: true,
      processes: 128,
      openFiles: 1_000,
      scratchBytes: 512 * 1024 ** 2,
    },
    retry: { attemptsMax: 2 },
    concurrency: { executionsMax: 4, whenFull: "reject" },
    triggers: {
      api: { enabled: true },
      schedule: {
        enabled: false,
        cron: "0 9 * * 1-5",
        timezone: "Europe/Berlin",
        payload: { region: "US" },
        overlap: "cancel_previous",
        catchup: "none",
        maxLatenessSeconds: 90,
        jitterSeconds: 30,
      },
    },
  });
  expect(manifest.outputs).toEqual([
    { name: "report", kind: "file", label: "report", description: "The PDF", required: true },
    { name: "log", kind: "file", label: "log", description: "", required: true },
  ]);
  const common = { description: "", required: false };
  expect(manifest.inputs).toEqual([
    { ...common, kind: "select", name: "region", label: "Region", options: ["EU", "US"], default: "EU" },
    {
      ...common,
      kind: "file",
      name: "orders",
      label: "orders",
      description: "Export from the shop",
      accept: [".csv", "text/*"],
      bytesMax: 50_000_000,
    },
    { ...common, kind: "file_list", name: "extras", label: "extras", accept: [], bytesMax: 2_000_000_000, filesMax: 3 },
    {
      ...common,
      kind: "string",
      name: "notes",
      label: "notes",
      charactersMin: 2,
      charactersMax: 80,
      pattern: "[a-z ]*",
      default: null,
    },
    { ...common, kind: "text", name: "body", label: "body", charactersMin: 0, charactersMax: 1_000_000, default: "" },
    { ...common, kind: "number", name: "ratio", label: "ratio", min: 0, max: 1, step: 0.1, default: 0.3 },
    { ...common, kind: "integer", name: "count", label: "count", min: 1, max: null, step: null, default: 5 },
    { ...common, kind: "boolean", name: "loud", label: "loud", default: false },
    { ...common, kind: "multi_select", name: "tags", label: "tags", options: ["a", "b", "c"], default: ["a", "c"] },
    { ...common, kind: "date", name: "day", label: "day", min: "2026-01-01", max: null, default: "2026-02-28" },
    {
      ...common,
      kind: "datetime",
      name: "moment",
      label: "moment",
      min: null,
      max: null,
      default: "2026-02-28T09:00:00Z",
    },
    {
      ...common,
      kind: "json",
      name: "extra",
      label: "extra",
      default: { a: [1, null] },
      defaultText: '{"a":[1,null]}',
    },
    {
      ...common,
      kind: "secret",
      name: "token",
      label: "token",
      charactersMin: 0,
      charactersMax: 10_000,
      pattern: null,
    },
  ]);
});

test.each(["", "# nothing yet\n", "inputs:\nlimits:\ntriggers:\nname:\n"])(
  "parseManifest, %j, has every default",
  (source) => {
    expect(parse(source)).toEqual({
      name: null,
      description: "",
      entrypoint: "main.py",
      python: null,
      build: "wheels",
      inputs: [],
      outputs: [],
      limits: { timeoutSeconds: 300, memoryBytes: 512_000_000, cpu: 1, network: false },
      retry: { attemptsMax: 1 },
      concurrency: null,
      triggers: { api: null, schedule: null },
    });
  },
);

const SCHEDULE = "triggers:\n  schedule:\n    enabled: false\n    cron: 0 9 * * *\n";

test("parseManifest, network where there is none, is refused at its line", () => {
  const source = "limits:\n  network: true\n";
  expect(problemsOf(source)).toEqual([]);
  expect(problemsOf(source, { networkAvailable: false })).toEqual([
    "2:12 limits.network: This installation cannot give executions access to the network yet. Remove the line, or write network: false.",
  ]);
});

test("parseManifest, more scratch than memory where there are no disks for it, is refused at its line", () => {
  const source = "limits:\n  memory: 1GiB\n  scratch: 20GB\n";
  expect(problemsOf(source)).toEqual([]);
  const scratchProblem = "There are no disks for programs: there are no loop devices.";
  expect(problemsOf(source, { scratchProblem })).toEqual([
    `3:12 limits.scratch: must be at most limits.memory (1 GiB): this installation has no disks for more. ${scratchProblem}`,
  ]);
  for (const memory of ["memory: 20GB", "memory: 16MiB\n  scratch: 256MiB"]) // What every program has in memory.
    expect(problemsOf(`limits:\n  ${memory}\n`, { scratchProblem })).toEqual([]);
});

test("parseManifest, a destination that is not granted, is refused at its line, and what is granted is kept", () => {
  const source = 'limits:\n  network:\n    to:\n      - warehose\n      - "API.example.com:443"\n';
  const setNames = { secrets: new Set<string>(), variables: new Set<string>(), destinations: new Set(["warehouse"]) };
  expect(problemsOf(source, { setNames })).toEqual([
    '4:9 limits.network.to.0: The account has no destination "warehose". Did you mean "warehouse"? The operator grants one: treadle destinations add warehose HOST:PORT',
  ]);
  const parsed = parseManifest(source.replace("warehose", "warehouse"), { setNames });
  expect(parsed).toMatchObject({ manifest: { limits: { network: { to: ["warehouse", "api.example.com:443"] } } } });
});

test("parseManifest, a Python that is not there, is refused at its line with those there are", () => {
  const source = 'name: x\npython: "3.12"\n';
  expect(problemsOf(source)).toEqual([]);
  expect(problemsOf(source, { pythonVersions: ["3.10", "3.12"] })).toEqual([]);
  expect(problemsOf("name: x\n", { pythonVersions: ["3.11"] })).toEqual([]);
  expect(problemsOf(source, { pythonVersions: ["3.11"] })).toEqual([
    expect.stringMatching(/^2:9 python: There is no Python 3\.12 on this installation, which has 3\.11\. Ask for what/),
  ]);
  expect(problemsOf(source, { pythonVersions: ["3.10", "3.11", "3.13"] })[0]).toContain("has 3.10, 3.11 and 3.13.");
});

test.each([
  ["build: sauce", /^1:8 build: "sauce".*wheels, source/],
  ["biuld: source", /^1:1 biuld: Unknown key\. Did you mean "build"\?/],
  ["build: true", /^1:8 build: /],
])("parseManifest, %j, is refused with what can be said", (source, problem) => {
  expect(problemsOf(source)).toEqual([expect.stringMatching(problem)]);
});

test("parseManifest, a broken part, does not hide the problems of the others", () => {
  const source = `unknown: 1\nlimits: { timeout: 25h }\nretry: { max_attempts: 99 }\ninputs: { a: { type: number, min: 2, max: 1 } }\n${SCHEDULE.replace("0 9", "0 99")}`;
  expect(problemsOf(source).map((problem) => problem.split(" ")[1])).toEqual([
    "unknown:",
    "limits.timeout:",
    "retry.max_attempts:",
    "inputs.a.min:",
    "triggers.schedule.cron:",
  ]);
});

test("parseManifest, duplicate keys, are refused together with the other problems", () => {
  expect(problemsOf("name: a\nname: b\nlimits: { cpus: 1 }\n").map((problem) => problem.split(" ")[0])).toEqual([
    "2:1",
    "3:11",
  ]);
});

test("parseManifest, input names of the prototype, are names like any other", () => {
  const names = ["constructor", "toString", "hasOwnProperty", "valueOf"];
  const manifest = parse(`inputs:\n${names.map((name) => `  ${name}: { type: string }\n`).join("")}`);
  expect(manifest.inputs.map((input) => input.name)).toEqual(names);
  expect(problemsOf("inputs:\n  __proto__: { type: string }\n")).toEqual([
    '2:3 "__proto__" cannot be a key. Choose another name.',
  ]);
});

test("parseManifest, more than 200 inputs, are refused at their section", () => {
  const inputs = (count: number) =>
    `inputs:\n${Array.from({ length: count }, (_, index) => `  a${index}: { type: string }\n`).join("")}`;
  expect(problemsOf(inputs(200))).toEqual([]);
  expect(problemsOf(inputs(201))).toEqual(["1:1 inputs: must declare at most 200 inputs, not 201."]);
});

test("parseManifest, thousands of problems, are cut off and counted", () => {
  const since = readProcessorMs();
  const problems = problemsOf(Array.from({ length: 3_000 }, (_, index) => `key${index}: 1`).join("\n"));
  expect(readProcessorMs() - since).toBeLessThan(8_000);
  expect(problems).toHaveLength(201);
  expect(problems.at(-1)).toBe("200:1 There are 2800 more problems after this one.");
});

test("parseManifest, the file's name, stands in every problem", () => {
  expect(parseManifest("a: 1", { fileName: "other.yaml" })).toMatchObject({
    ok: false,
    problems: [{ file: "other.yaml", line: 1, column: 1 }],
  });
  expect(parseManifest("a: 1")).toMatchObject({ problems: [{ file: "config.yaml" }] });
});

test("parseManifest, a problem inside an alias, is reported where the text stands", () => {
  expect(problemsOf("inputs:\n  a: &a { type: number, min: 2, max: 1 }\n  b: *a\n")).toEqual([
    expect.stringMatching(/^2:30 inputs\.a\.min/),
    expect.stringMatching(/^2:30 inputs\.b\.min/),
  ]);
});
