import { expect, test } from "@jest/globals";
import { parseManifest } from "../../../domain/manifest/parse.ts";

function problemsOf(source: string): string[] {
  const result = parseManifest(source);
  return result.ok ? [] : result.problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

test("parseManifest, a file with many mistakes, reports all of them in the order of the file", () => {
  const source = `nmae: x
inputs:
  region: { type: selekt }
  size:
    type: integer
    maximum: 5
    min: "3"
  class: { type: string }
  a-b: { type: string }
  none:
limits:
  timeout: 25h
  memory: lots
  cpus: 1
triggers:
  api: {}
  schedule: { enabled: yes, cron: "0 9 * *", timezone: Europe/Berln }
`;
  expect(problemsOf(source)).toEqual([
    '1:1 nmae: Unknown key. Did you mean "name"?',
    expect.stringMatching(/^3:19 inputs\.region\.type: "selekt" is not a type of input\. Did you mean "select"\?/),
    "6:5 inputs.size.maximum: Unknown key.",
    "7:10 inputs.size.min: must be a whole number, without quotes.",
    expect.stringMatching(/^8:3 inputs\.class: is a keyword of Python/),
    expect.stringMatching(/^9:3 inputs\.a-b: cannot name an input.*"a_b"/),
    "10:8 inputs.none: must be a declaration, such as { type: string }.",
    "12:12 limits.timeout: must be from 1s to 1d.",
    "13:11 limits.memory: must be a size such as 50MB or 1GiB, or a number of bytes.",
    '14:3 limits.cpus: Unknown key. Did you mean "cpu"?',
    "16:8 triggers.api.enabled: is missing. Write true or false.",
    "17:24 triggers.schedule.enabled: must be true or false.",
    expect.stringMatching(/^17:35 triggers\.schedule\.cron: At character 8 of "0 9 \* \*": .* not 4\./),
    expect.stringMatching(/^17:56 triggers\.schedule\.timezone: .*"Europe\/Berlin"/),
  ]);
});

test.each([
  ["limits: { timeout: 25h }", "1:20 limits.timeout: must be from 1s to 1d."],
  ["limits: { timeout: 0 }", "1:20 limits.timeout: must be from 1s"],
  ["limits: { timeout: -1m }", "1:20 limits.timeout: must be a duration"],
  ["limits: { memory: 1MB }", "1:19 limits.memory: must be from 16 MiB to 1 TiB."],
  ["limits: { memory: 2000GB }", "1:19 limits.memory: must be from"],
  ["limits: { cpu: 0.05 }", "1:16 limits.cpu: must be from 0.1 to 1024."],
  ["limits: { cpu: 1025 }", "1:16 limits.cpu: must be from"],
  ["limits: { cpu: .inf }", "1:16 limits.cpu: must be a number of cores"],
  ["limits: { processes: 7 }", "1:22 limits.processes: must be from 8 to 4096."],
  ["limits: { processes: 4097 }", "1:22 limits.processes: must be from 8 to 4096."],
  ["limits: { processes: 64.5 }", "1:22 limits.processes: must be a whole number."],
  ["limits: { open_files: 63 }", "1:23 limits.open_files: must be from 64 to 65536."],
  ["limits: { open_files: 65537 }", "1:23 limits.open_files: must be from 64 to 65536."],
  ["limits: { open_files: many }", "1:23 limits.open_files: must be a whole number."],
  ["limits: { openfiles: 64 }", '1:11 limits.openfiles: Unknown key. Did you mean "open_files"?'],
  ["limits: { scratch: 255MiB }", "1:20 limits.scratch: must be from 256 MiB to 1 TiB."],
  [
    "limits: { network: on }",
    "1:20 limits.network: must be true, false, or a list of destinations, such as { to: [warehouse] }.",
  ],
  [
    "limits: { network: { to: warehouse } }",
    "1:20 limits.network: must be true, false, or a list of destinations, such as { to: [warehouse] }.",
  ],
  [
    "limits: { network: { too: [warehouse] } }",
    "1:20 limits.network: must be true, false, or a list of destinations, such as { to: [warehouse] }.",
  ],
  [
    "limits: { network: { to: [] } }",
    "1:22 limits.network.to: must name a destination. For none at all write network: false.",
  ],
  [
    'limits: { network: { to: ["api.example.com:443", "API.example.com.:443"] } }',
    '1:50 limits.network.to.1: "api.example.com:443" is named twice. Remove one.',
  ],
  [
    'limits: { network: { to: ["api.example.com"] } }',
    '1:27 limits.network.to.0: "api.example.com" has no port. Write one, such as api.example.com:443.',
  ],
  [
    'limits: { network: { to: ["api.example.com:0"] } }',
    '1:27 limits.network.to.0: "0" is no port. Ports are from 1 to 65535: 5432, or 5432,6432, or 8000-8010.',
  ],
  [
    'limits: { network: { to: ["a b.example.com:443"] } }',
    '1:27 limits.network.to.0: "a b.example.com" is neither the name of a host nor an IPv4 address or range, such as 10.20.0.0/24.',
  ],
  [
    'limits: { network: { to: ["[::1]:443"] } }',
    "1:27 limits.network.to.0: must be an IPv4 address: programs have no IPv6.",
  ],
  [
    'limits: { network: { to: ["10.20.0.5:5432"] } }',
    "1:27 limits.network.to.0: 10.20.0.5 is no public address. The operator grants private ones by name: treadle destinations add",
  ],
  [
    'limits: { network: { to: ["93.184.215.0/24:443"] } }',
    "1:27 limits.network.to.0: 93.184.215.0/24 is a range. Name hosts one by one; the operator grants ranges by name.",
  ],
  [
    'limits: { network: { to: ["localhost:5432"] } }',
    "1:27 limits.network.to.0: localhost is no public name. The operator grants private hosts by name: treadle destinations add",
  ],
  [
    'limits: { network: { to: ["mail.example.com:20-30"] } }',
    "1:27 limits.network.to.0: Port 25 is closed: send mail over 465 or 587.",
  ],
  ["retry: { max_attempts: 0 }", "1:24 retry.max_attempts: must be from 1 to 10."],
  [
    "retry: { max_attempts: 2, delay: soon }",
    "1:34 retry.delay: must be a duration such as 90s, 5m or 1h30m, or a number of seconds.",
  ],
  ["retry: { max_attempts: 2, delay: 25h }", "1:34 retry.delay: must be at most 1d."],
  ["retry: { max_attempts: 2, delay: 1s, backoff: 0.5 }", "1:47 retry.backoff: must be from 1 to 10."],
  [
    "retry: { max_attempts: 2, backoff: 2 }",
    "1:27 retry.backoff: needs a delay that it multiplies, such as delay: 30s.",
  ],
  ["retry: { max_attempts: 2, on: [] }", "1:31 retry.on: must name at least one of failed, timed_out, out_of_memory."],
  [
    "retry: { max_attempts: 2, on: [cancelled] }",
    '1:32 retry.on.0: "cancelled" is not possible here. Write failed, timed_out, out_of_memory.',
  ],
  ["retry: { delay: 5s }", "1:10 retry.delay: has no effect without max_attempts: 2 or more."],
  ["concurrency: {}", "1:14 concurrency.max: is missing."],
  ["concurrency: { max: 0 }", "1:21 concurrency.max: must be from 1 to 1000."],
  ["concurrency: { max: 1, when_full: wait }", '1:35 concurrency.when_full: "wait" is not possible here.'],
  ["entrypoint: ../main.py", "1:13 entrypoint: must be a path within"],
  ["entrypoint: /main.py", "1:13 entrypoint: must be a path within"],
  ["entrypoint: a\\b.py", "1:13 entrypoint: must be a path within"],
  ["entrypoint: main.js", "1:13 entrypoint: must be the path of a Python file"],
  ["python: 3.10", "1:9 python: must be a version in quotes"],
  ['python: "3.9"', "1:9 python: must be a minor version from 3.10 on"],
  ["build: source-only", '1:8 build: "source-only" is not possible here. '],
  ["build: wheel", 'Did you mean "wheels"?'],
  ['name: ""', "1:7 name: must not be empty."],
  ['name: "a\\0b"', "1:7 This text holds a NUL"],
  ["outputs: { r: { type: csv } }", '1:23 outputs.r.type: "csv" is not possible here.'],
  ["outputs: { ../x: {} }", "1:12 outputs.../x: cannot name an output"],
  ["[1, 2]", "1:1 config.yaml must hold keys and values, not a list."],
  ["hello", "1:1 config.yaml must hold keys and values, not a string."],
  ["inputs: [a]", "1:9 inputs: must be a map of input names"],
  ["inputs: { a: string }", "1:14 inputs.a: must be a declaration, such as { type: string }."],
  ["inputs: { a: { label: A } }", "1:14 inputs.a.type: is missing. Say which kind it is: string, text,"],
  ["inputs: { a: { type: 5 } }", "1:22 inputs.a.type: a number is not a type of input."],
  ["inputs: { a: { type: int } }", 'Did you mean "integer"?'],
  ["inputs: { a: { type: constructor } }", '"constructor" is not a type of input.'],
  [
    "inputs: { a: { type: string, accept: [.csv] } }",
    "1:30 inputs.a.accept: does not apply to inputs of type string, only to file, file_list.",
  ],
  ["inputs: { a: { type: string, lable: x } }", '1:30 inputs.a.lable: Unknown key. Did you mean "label"?'],
  ["inputs: { a: { type: string, constructor: x } }", "1:30 inputs.a.constructor: Unknown key."],
  [
    "inputs: { a: { type: secret, default: x } }",
    "1:30 inputs.a.default: A secret cannot have a default, because config.yaml is stored readable.",
  ],
  ["inputs: { a: { type: file, default: x } }", "1:28 inputs.a.default: A file cannot have a default."],
  [
    "inputs: { a: { type: string, min_length: 5, max_length: 2 } }",
    "1:42 inputs.a.min_length: is 5, more than max_length, 2.",
  ],
  ["inputs: { a: { type: string, min_length: 20000 } }", "1:42 inputs.a.min_length: is 20000, more than the 10000"],
  ["inputs: { a: { type: string, max_length: -1 } }", "1:42 inputs.a.max_length: must not be negative."],
  [
    'inputs: { a: { type: string, pattern: "(a+)+" } }',
    "1:39 inputs.a.pattern: repeats something in which the same text can be read in several ways",
  ],
  ['inputs: { a: { type: string, pattern: "[" } }', "1:39 inputs.a.pattern: is not a regular expression"],
  [
    "inputs: { a: { type: string, pattern: a, max_length: 20000 } }",
    "1:54 inputs.a.max_length: must be at most 10000 together with a pattern.",
  ],
  ["inputs: { a: { type: string, default: 5 } }", "1:39 inputs.a.default: must be a text."],
  [
    "inputs: { a: { type: string, default: abc, max_length: 2 } }",
    "1:39 inputs.a.default: must have at most 2 characters, not 3.",
  ],
  ["inputs: { a: { type: string, default: abc, pattern: b } }", "1:39 inputs.a.default: must match the pattern b"],
  ["inputs: { a: { type: number, min: 5, max: 1 } }", "1:35 inputs.a.min: is 5, more than max, 1."],
  ["inputs: { a: { type: number, step: 0 } }", "1:36 inputs.a.step: must be greater than 0."],
  ["inputs: { a: { type: integer, step: 0.5 } }", "1:37 inputs.a.step: must be a whole number"],
  ["inputs: { a: { type: integer, default: 1.5 } }", "1:40 inputs.a.default: must be a whole number"],
  ["inputs: { a: { type: integer, default: 99999999999999999 } }", "1:40 inputs.a.default: must be a whole number"],
  ["inputs: { a: { type: number, default: 9, max: 5 } }", "1:39 inputs.a.default: must be at most 5, not 9."],
  ["inputs: { a: { type: boolean, default: no } }", "1:40 inputs.a.default: must be true or false."],
  ["inputs: { a: { type: select } }", "1:14 inputs.a.options: is missing."],
  ["inputs: { a: { type: select, options: [] } }", "1:39 inputs.a.options: must offer at least one option."],
  ["inputs: { a: { type: select, options: [x, 2] } }", "1:43 inputs.a.options.1: must be a text. Put numbers"],
  ["inputs: { a: { type: select, options: [x, y, x] } }", '1:39 inputs.a.options: holds "x" more than once.'],
  [
    "inputs: { a: { type: select, options: [large, small], default: smal } }",
    '1:64 inputs.a.default: "smal" is not one of the options. Did you mean "small"?',
  ],
  [
    "inputs: { a: { type: multi_select, options: [x, y], default: [x, z] } }",
    '1:62 inputs.a.default: "z" is not one of the options.',
  ],
  ["inputs: { a: { type: date, default: 2026-02-30 } }", "1:37 inputs.a.default: must be a date that exists"],
  ["inputs: { a: { type: date, min: tomorrow } }", "1:33 inputs.a.min: must be a date that exists"],
  [
    "inputs: { a: { type: date, min: 2026-02-01, max: 2026-01-01 } }",
    "1:33 inputs.a.min: is 2026-02-01, after max, 2026-01-01.",
  ],
  ["inputs: { a: { type: file, accept: csv } }", "1:36 inputs.a.accept: must be a list"],
  ["inputs: { a: { type: file, accept: [csv] } }", "1:37 inputs.a.accept.0: must be an extension with its dot"],
  ["inputs: { a: { type: file, max_size: 3GB } }", "1:38 inputs.a.max_size: must be at most 2 GB."],
  [
    "inputs: { a: { type: file, max_files: 2 } }",
    "1:28 inputs.a.max_files: does not apply to inputs of type file, only to file_list.",
  ],
  ["inputs: { a: { type: file_list, max_files: 101 } }", "1:44 inputs.a.max_files: must be at most 100."],
  ["inputs: { a: { type: file_list, max_files: 0 } }", "1:44 inputs.a.max_files: must be at least 1."],
  [`inputs: { ${"a".repeat(65)}: { type: string } }`, "at most 64"],
  ["inputs: { None: { type: string } }", "1:11 inputs.None: is a keyword of Python"],
  ["inputs: { 1st: { type: string } }", 'Write "_1st"'],
  ["triggers: { api: }", "1:18 triggers.api: must hold keys and values, not null."],
  ["triggers: { apo: { enabled: true } }", '1:13 triggers.apo: Unknown key. Did you mean "api"?'],
  ["triggers: { schedule: { enabled: true } }", "1:23 triggers.schedule.cron: is missing."],
])("parseManifest, %s, reports it where it stands", (source, expected) => {
  const problems = problemsOf(source);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(expected);
});
