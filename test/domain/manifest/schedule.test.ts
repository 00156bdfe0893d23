import { expect, test } from "@jest/globals";
import { parseManifest } from "../../../domain/manifest/parse.ts";

function problemsOf(source: string): string[] {
  const result = parseManifest(source);
  return result.ok ? [] : result.problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

const SCHEDULE = "triggers:\n  schedule:\n    enabled: false\n    cron: 0 9 * * *\n";

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
  [`inputs: { a: { type: strin } }\n${SCHEDULE}    payload: { a: x }\n`, '"strin" is not a type of input.'],
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
