import { expect, test } from "@jest/globals";
import { parseManifest } from "../../../domain/manifest/parse.ts";
import { listDeclaredSchedules } from "../../../domain/schedules/names.ts";
import { resolvePayload } from "../../../domain/schedules/tick-values.ts";

function problemsOf(source: string): string[] {
  const result = parseManifest(source);
  return result.ok ? [] : result.problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

const SCHEDULE = "triggers:\n  schedule:\n    enabled: false\n    cron: 0 9 * * *\n";
const NAMED = "triggers:\n  schedules:\n";

test.each([
  [
    `${SCHEDULE}    overlap: skpi\n`,
    '5:14 triggers.schedule.overlap: "skpi" is not possible here. Did you mean "skip"?',
  ],
  [
    `${SCHEDULE}    timezone: Europe/Berln\n`,
    '5:15 triggers.schedule.timezone: There is no time zone "Europe/Berln". Did you mean "Europe/Berlin"?',
  ],
  [`${SCHEDULE}    max_lateness: 1s\n`, "5:19 triggers.schedule.max_lateness: must be from 10s to 30d."],
  [`${SCHEDULE}    jitter: 2h\n`, "5:13 triggers.schedule.jitter: must be at most 1h."],
  [
    SCHEDULE.replace("0 9 * * *", '"0 25 * * *"'),
    '4:11 triggers.schedule.cron: At character 3 of "0 25 * * *": 25 is not an hour.',
  ],
  [SCHEDULE.replace("0 9 * * *", "5"), "4:11 triggers.schedule.cron: must be a text with five fields"],
  [`inputs: { a: { type: string } }\n${SCHEDULE}`, "4:5 triggers.schedule.payload.a: is required."],
  [
    `inputs: { a: { type: string } }\n${SCHEDULE}    payload: { b: x, a: y }\n`,
    '6:16 triggers.schedule.payload.b: There is no input "b".',
  ],
  [
    `inputs: { a: { type: integer, max: 3 } }\n${SCHEDULE}    payload:\n      a: 4\n`,
    "7:10 triggers.schedule.payload.a: must be at most 3, not 4.",
  ],
  [
    `inputs: { a: { type: integer } }\n${SCHEDULE}    payload: { a: "4" }\n`,
    "6:19 triggers.schedule.payload.a: must be a whole number, not a string.",
  ],
  [
    `inputs: { a: { type: file } }\n${SCHEDULE}    payload: {}\n`,
    "6:14 triggers.schedule.payload.a: A schedule cannot carry files.",
  ],
  [
    `inputs: { a: { type: file, required: false } }\n${SCHEDULE}    payload: { a: x }\n`,
    "6:19 triggers.schedule.payload.a: A schedule cannot carry files.",
  ],
  [
    `inputs: { a: { type: secret } }\n${SCHEDULE}    payload: { a: x }\n`,
    "6:19 triggers.schedule.payload.a: A schedule cannot carry secrets",
  ],
  [
    `inputs: { a: { type: date } }\n${SCHEDULE}    payload:\n      a: ${"${{ tick.dat }}"}\n`,
    '7:10 triggers.schedule.payload.a: There is no variable "tick.dat". Did you mean "tick.date"? A payload may name tick.date,',
  ],
  [
    `inputs: { a: { type: json } }\n${SCHEDULE}    payload: { a: [1, { b: "\${{ secrets.X }}" }] }\n`,
    "6:28 triggers.schedule.payload.a.1.b: A secret goes to an input of type secret, which must be exactly ${{ secrets.X }}",
  ],
  [
    `inputs: { a: { type: secret } }\n${SCHEDULE}    payload: { a: "x\${{ secrets.X }}" }\n`,
    "6:19 triggers.schedule.payload.a: A secret goes to an input of type secret, which must be exactly ${{ secrets.X }}",
  ],
  [
    `inputs: { a: { type: string } }\n${SCHEDULE}    payload: { a: "at \${{ tick.date" }\n`,
    "6:19 triggers.schedule.payload.a: ${{ has no }} after it",
  ],
  [
    `inputs: { a: { type: integer } }\n${SCHEDULE}    payload: { a: \${{ tick.date }} }\n`,
    "6:19 triggers.schedule.payload.a: must be a whole number, not a string.",
  ],
  [
    `inputs: { a: { type: string, pattern: "\\\\d+" } }\n${SCHEDULE}    payload: { a: \${{ tick.date }} }\n`,
    "6:19 triggers.schedule.payload.a: must",
  ],
  [`inputs: { a: { type: strin } }\n${SCHEDULE}    payload: { a: x }\n`, '"strin" is not a type of input.'],
  [
    `${NAMED}    Nightly: { enabled: true, cron: 0 9 * * * }\n`,
    "3:5 triggers.schedules.Nightly: is no name of a schedule: a small letter, then up to 39 small letters, digits, hyphens",
  ],
  [
    `${NAMED}    schedule: { enabled: true, cron: 0 9 * * * }\n`,
    "3:5 triggers.schedules.schedule: is the name of triggers.schedule. Choose another one.",
  ],
  [
    `${NAMED}    nightly: { enabled: true, cron: 0 25 * * * }\n`,
    '3:37 triggers.schedules.nightly.cron: At character 3 of "0 25 * * *": 25 is not an hour.',
  ],
  [`${NAMED}    nightly: { enabled: true }\n`, "3:14 triggers.schedules.nightly.cron: is missing."],
  [
    `inputs: { a: { type: integer, max: 3 } }\n${NAMED}    nightly:\n      enabled: true\n      cron: 0 9 * * *\n      payload: { a: 4 }\n`,
    "7:21 triggers.schedules.nightly.payload.a: must be at most 3, not 4.",
  ],
  [`${NAMED}    - nightly\n`, "3:5 triggers.schedules: must be a map of names to schedules."],
  [
    NAMED + Array.from({ length: 11 }, (_, at) => `    s${at}: { enabled: true, cron: 0 9 * * * }\n`).join(""),
    "2:3 triggers.schedules: must have at most 10 schedules, not 11.",
  ],
])("parseManifest, with a schedule as in %j, reports it where it stands", (source, expected) => {
  const problems = problemsOf(source);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(expected);
});

test("parseManifest, a schedule whose payload fits, accepts it with files and secrets left out", () => {
  const source = `inputs: { a: { type: string }, f: { type: file, required: false }, s: { type: secret, required: false } }\n${SCHEDULE}    payload: { a: x, f: null }\n`;
  expect(parseManifest(source)).toMatchObject({
    ok: true,
    manifest: {
      triggers: {
        schedule: {
          timezone: "UTC",
          payload: { a: "x", f: null },
          maxLatenessSeconds: 3_600,
        },
      },
    },
  });
});

test("parseManifest, a payload that names its tick, keeps it as written, with and without quotes", () => {
  const inputs = "inputs: { a: { type: date, min: 2030-01-01 }, b: { type: json }, c: { type: datetime } }\n";
  const payload =
    "{ a: ${{ tick.date }}, b: [\"x-${{tick.zone}}.csv\", { ${{ tick.date }}: 1.0 }], c: '${{ tick.previous }}' }";
  const result = parseManifest(`${inputs}${SCHEDULE}    payload: ${payload}\n`);
  const b = ["x-${{tick.zone}}.csv", { "${{ tick.date }}": 1 }];
  expect(result).toMatchObject({
    ok: true,
    manifest: {
      triggers: { schedule: { payload: { a: "${{ tick.date }}", b, c: "${{ tick.previous }}" } } },
    },
  });
  const schedule = result.ok ? result.manifest.triggers.schedule : null;
  const tick = { nominalAt: new Date("2026-10-25T01:30:00Z"), previousAt: null, timezone: "Europe/Berlin" };
  expect(schedule && resolvePayload(schedule, tick)).toEqual({
    payload: { a: "2026-10-25", b: ["x-Europe/Berlin.csv", { "2026-10-25": 1 }], c: "2026-10-25T02:30:00+01:00" },
    payloadText: '{"a":"2026-10-25","b":["x-Europe/Berlin.csv",{"2026-10-25":1.0}],"c":"2026-10-25T02:30:00+01:00"}',
  });
});

test("parseManifest, with schedules and a schedule beside them, keeps each with its own payload and policies", () => {
  const source = `inputs: { size: { type: integer, default: 1 } }
triggers:
  schedule: { enabled: true, cron: "0 1 * * *" }
  schedules:
    nightly: { enabled: true, cron: "0 2 * * *", timezone: Europe/Berlin, payload: { size: 9 }, overlap: queue }
    constructor: { enabled: false, cron: "*/5 * * * *" }
`;
  const parsed = parseManifest(source);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  expect(listDeclaredSchedules(parsed.manifest)).toMatchObject([
    { name: "schedule", schedule: { cron: "0 1 * * *", payload: {} } },
    { name: "nightly", schedule: { timezone: "Europe/Berlin", payload: { size: 9 }, overlap: "queue" } },
    { name: "constructor", schedule: { enabled: false, overlap: "skip" } },
  ]);
  expect(parsed.manifest.triggers.schedule).not.toHaveProperty("name");
});

test("parseManifest, without schedules, has no key for them, nor with none in them", () => {
  for (const source of [SCHEDULE, `${SCHEDULE}  schedules: {}\n`]) {
    const parsed = parseManifest(source);
    expect(parsed.ok && Object.keys(parsed.manifest.triggers)).toEqual(["api", "schedule"]);
  }
});
