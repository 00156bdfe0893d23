import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { parseManifest } from "../../../domain/manifest/parse.ts";
import { editSchedule } from "../../../domain/manifest/schedule-edit.ts";

const WANTED = { cron: "0 9 * * 1-5", timezone: "Europe/Berlin", payload: '{"size":"full"}' };
const INPUTS = "inputs:\n  size: { type: string, required: false }\n  more: { type: json, required: false }\n";
const LINES = '    enabled: true\n    cron: "0 9 * * 1-5"\n    timezone: Europe/Berlin\n    payload: { size: full }\n';
const BRACES = '{ enabled: true, cron: "0 9 * * 1-5", timezone: Europe/Berlin, payload: { size: full } }';

test.each([
  ["no triggers", "# mine\nname: Hello", `# mine\nname: Hello\ntriggers:\n  schedule:\n${LINES}`],
  [
    "other triggers",
    "triggers:\n  api: { enabled: true } # for the shop\n",
    `triggers:\n  schedule:\n${LINES}  api: { enabled: true } # for the shop\n`,
  ],
  [
    "triggers in braces",
    "triggers: { api: { enabled: true } }",
    `triggers: { schedule: ${BRACES}, api: { enabled: true } }`,
  ],
  ["empty triggers", "triggers: # soon\n", `triggers: { schedule: ${BRACES} } # soon\n`],
  ["an empty schedule", "triggers:\n  schedule:\n", `triggers:\n  schedule: ${BRACES}\n`],
  ["an empty file", "", `triggers:\n  schedule:\n${LINES}`],
  [
    "a schedule with comments",
    `triggers:\n    schedule:\n        # for the office\n        cron:   '5 4 * * *'  # early\n        enabled: false\n        timezone: UTC # ours\n        payload: { size: small } # less\n`,
    `triggers:\n    schedule:\n        # for the office\n        cron:   "0 9 * * 1-5"  # early\n        enabled: false\n        timezone: Europe/Berlin # ours\n        payload: { size: full } # less\n`,
  ],
  [
    "a payload on lines of its own",
    `triggers:\n  schedule:\n    cron: "0 9 * * 1-5"\n    enabled: true\n    payload:\n      size: small\n      more: [1]\n    overlap: skip # sure\n`,
    `triggers:\n  schedule:\n    timezone: Europe/Berlin\n    cron: "0 9 * * 1-5"\n    enabled: true\n    payload: { size: full }\n    overlap: skip # sure\n`,
  ],
  [
    "a schedule in braces",
    `triggers: { schedule: { enabled: true, cron: "1 1 * * *" } }`,
    `triggers: { schedule: { timezone: Europe/Berlin, payload: { size: full }, enabled: true, cron: "0 9 * * 1-5" } }`,
  ],
])("editSchedule, of a config.yaml with %s, writes what is wanted and keeps the rest", (_case, before, after) => {
  expect(editSchedule(before, WANTED)).toEqual({ ok: true, text: after });
  expect(editSchedule(after, WANTED)).toEqual({ ok: true, text: after });
  expect(parseManifest(INPUTS + after)).toMatchObject({
    ok: true,
    manifest: { triggers: { schedule: { cron: "0 9 * * 1-5", timezone: "Europe/Berlin", payload: { size: "full" } } } },
  });
});

test("editSchedule, with a payload that names the tick or has long numbers, keeps them as they are written", () => {
  const named = editSchedule("", { ...WANTED, payload: '{"size":"${{ tick.date }}"}' });
  expect(named.ok && named.text).toContain('payload: { size: "${{ tick.date }}" }');
  const long = editSchedule("", { ...WANTED, payload: '{"more":{"id":12345678901234567890,\n  "price":1.50}}' });
  expect(long.ok && long.text).toContain('payload: {"more":{"id":12345678901234567890, "price":1.50}}');
});

test("editSchedule, of a file that is no config.yaml, leaves it alone and says so", () => {
  const refused = (source: string) => expect(editSchedule(source, WANTED)).toMatchObject({ ok: false });
  refused("triggers: [");
  refused("- a list");
});

test("editSchedule, with any payload and zone, is read back as it was given", () => {
  const payload = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue(), { maxKeys: 4 });
  fc.assert(
    fc.property(
      payload,
      fc.constantFrom("name: a\n", "triggers:\n  api: { enabled: true }\n", "{ name: a }"),
      (value, before) => {
        const text = JSON.stringify(value);
        const edit = editSchedule(before, { ...WANTED, payload: text });
        // What YAML cannot keep is refused, never changed.
        if (edit.ok) expect(editSchedule(edit.text, { ...WANTED, payload: text })).toEqual(edit);
        else expect(edit.message).toContain("unusual");
      },
    ),
  );
});
