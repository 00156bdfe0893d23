import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { parse } from "yaml";
import { parseManifest } from "../../../domain/manifest/parse.ts";
import { editName, editTrigger } from "../../../domain/manifest/trigger-edit.ts";

const SCHEDULE = 'cron: "0 9 * * 1-5"';

test.each([
  [
    "a value",
    "triggers:\n  api:\n    enabled: true # for the shop\n",
    "triggers:\n  api:\n    enabled: false # for the shop\n",
  ],
  ["a value in braces", "triggers:\n  api: { enabled: true }\n", "triggers:\n  api: { enabled: false }\n"],
  ["a value in quotes", 'triggers: {api: {"enabled": "yes"}}', 'triggers: {api: {"enabled": false}}'],
  [
    "a key without a value",
    "triggers:\n  api:\n    enabled: # soon\n",
    "triggers:\n  api:\n    enabled: false # soon\n",
  ],
  ["a section without a value", "triggers:\n  api: # soon\n", "triggers:\n  api: { enabled: false } # soon\n"],
  ["an empty section in braces", "triggers:\n  api: {}\n", "triggers:\n  api: { enabled: false }\n"],
  ["empty triggers", "triggers:\n", "triggers: { api: { enabled: false } }\n"],
  [
    "triggers without it",
    `triggers:\n  schedule: { enabled: true, ${SCHEDULE} }\n`,
    `triggers:\n  api: { enabled: false }\n  schedule: { enabled: true, ${SCHEDULE} }\n`,
  ],
  [
    "triggers in braces without it",
    `triggers: { schedule: { enabled: true, ${SCHEDULE} } }`,
    `triggers: { api: { enabled: false }, schedule: { enabled: true, ${SCHEDULE} } }`,
  ],
  ["no triggers", "# mine\nname: Hello", "# mine\nname: Hello\ntriggers:\n  api: { enabled: false }\n"],
  ["no triggers in braces", "{name: Hello}", "{ triggers: { api: { enabled: false } },name: Hello}"],
  ["an empty file", "", "triggers:\n  api: { enabled: false }\n"],
  ["an end of the document", "name: Hello\n...\n", "name: Hello\ntriggers:\n  api: { enabled: false }\n...\n"],
])("editTrigger, of a config.yaml with %s, changes that alone", (_name, before, after) => {
  expect(editTrigger(before, "api", false)).toEqual({ ok: true, text: after });
});

test("editTrigger, of a schedule with a name, changes that one alone", () => {
  const named = `triggers:\n  schedules:\n    nightly: { enabled: true, ${SCHEDULE} }\n    hourly:\n      ${SCHEDULE}\n`;
  const text = (schedule: string, enabled: boolean) => {
    const edit = editTrigger(named, { schedule }, enabled);
    return edit.ok ? edit.text : edit.message;
  };
  expect(text("nightly", false)).toBe(named.replace("enabled: true", "enabled: false"));
  expect(text("hourly", true)).toBe(named.replace("hourly:\n", "hourly:\n      enabled: true\n"));
  expect(text("weekly", true)).toBe(
    "config.yaml declares no schedule weekly. Write triggers.schedules.weekly with a cron expression first.",
  );
});

test("editTrigger, of a schedule, keeps every other character of it", () => {
  const text = `triggers:\n  schedule:\n    # every weekday\n    cron:   "0 9 * * 1-5"\n    enabled:   true\n`;
  expect(editTrigger(text, "schedule", false)).toEqual({ ok: true, text: text.replace("  true", "  false") });
  const without = `triggers:\n    schedule:\n        ${SCHEDULE}\n`;
  const expected = `triggers:\n    schedule:\n        enabled: false\n        ${SCHEDULE}\n`;
  expect(editTrigger(without, "schedule", false)).toEqual({ ok: true, text: expected });
});

test.each([
  ["a name", "name: Old # mine\ninputs: {}\n", "New", "name: New # mine\ninputs: {}\n"],
  ["a name in quotes", 'name: "Old"\n', "yes: it is", 'name: "yes: it is"\n'],
  ["no name", "# mine\ninputs: {}\n", "New", "# mine\nname: New\ninputs: {}\n"],
  ["braces", "{ inputs: {} }", "a, b", '{ name: "a, b", inputs: {} }'],
  ["nothing", "", "12", 'name: "12"\n'],
])("editName, of a config.yaml with %s, changes that alone", (_case, before, name, after) => {
  expect(editName(before, name)).toEqual({ ok: true, text: after });
});

test("editName, of any name, writes what is read again, or leaves the text alone", () => {
  const texts = ["name: Old\ninputs: {}\n", "name: |\n  Old\n  name\ninputs: {}\n", "{}", ""];
  fc.assert(
    fc.property(fc.constantFrom(...texts), fc.string({ unit: "binary", maxLength: 40 }), (text, name) => {
      const edit = editName(text, name);
      if (!edit.ok) return expect(edit.message).toContain("config.yaml");
      expect(parse(edit.text)).toMatchObject({ name });
    }),
  );
});

test.each([
  ["no schedule", "name: Hello\n", "declares no schedule"],
  ["an empty schedule", "triggers:\n  schedule:\n", "declares no schedule"],
  ["broken YAML", "name: [\n", "not valid YAML"],
  ["a list", "- name\n", "not a map"],
  ["two documents", "a: 1\n---\nb: 2\n", "not valid YAML"],
])("editTrigger, of a config.yaml with %s, says why it is left alone", (_name, text, message) => {
  expect(editTrigger(text, "schedule", true)).toEqual({ ok: false, message: expect.stringContaining(message) });
});

test("editTrigger, of any layout of a valid config.yaml, makes it say what is wanted and nothing else", () => {
  const flow = fc.boolean();
  fc.assert(
    fc.property(
      flow,
      flow,
      flow,
      flow,
      fc.boolean(),
      fc.boolean(),
      (sectionFlow, apiFlow, comments, hasApi, was, wanted) => {
        const note = comments && !sectionFlow ? " # note" : "";
        const api = apiFlow || sectionFlow ? `{ enabled: ${was} }` : `${note}\n    enabled: ${was}${note}`;
        const schedule = `{ enabled: ${was}, ${SCHEDULE} }`;
        const parts = [...(hasApi ? [`api: ${api}`] : []), `schedule: ${schedule}`];
        const triggers = sectionFlow ? `{ ${parts.join(", ")} }` : `${note}\n  ${parts.join("\n  ")}`;
        const text = `name: Hello${note}\ntriggers: ${triggers}\ninputs:\n  a: { type: string, default: x }\n`;
        for (const trigger of ["api", "schedule"] as const) {
          const edited = editTrigger(text, trigger, wanted);
          const [before, after] = [parseManifest(text), parseManifest(edited.ok ? edited.text : "")];
          if (!before.ok || !after.ok) throw new Error(JSON.stringify({ text, edited, before, after }));
          const expected = { ...before.manifest.triggers[trigger], enabled: wanted };
          expect(after.manifest).toEqual({
            ...before.manifest,
            triggers: { ...before.manifest.triggers, [trigger]: expected },
          });
          if (note !== "" && edited.ok) expect(edited.text.split("# note").length).toBe(text.split("# note").length);
        }
      },
    ),
  );
});
