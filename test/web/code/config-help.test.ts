import { expect, test } from "@jest/globals";
import { completeConfig, describeConfig } from "../../../web/src/code/config-help.ts";

/** The text, and where `|` stands in it. */
function aText(marked: string): [string, number] {
  return [marked.replace("|", ""), marked.indexOf("|")];
}

function labelsAt(marked: string): string[] {
  return completeConfig(...aText(marked))?.suggestions.map(({ label }) => label) ?? [];
}

test.each([
  ["an empty file", "|", ["name", "description", "entrypoint", "inputs", "triggers"], []],
  ["the top, with keys there", "name: Hello\n|", ["inputs"], ["name"]],
  ["a key being written", "name: Hello\ntri|\n", ["triggers"], ["cron"]],
  ["triggers", "triggers:\n  |\n", ["api", "schedule"], ["inputs"]],
  [
    "a schedule in braces",
    "triggers:\n  schedule: { enabled: true, | }\n",
    ["cron", "timezone", "overlap"],
    ["enabled"],
  ],
  [
    "an input of a kind",
    "inputs:\n  region:\n    type: select\n    |\n",
    ["options", "default", "label"],
    ["min", "type"],
  ],
  ["an input of another kind", "inputs:\n  count: { type: integer, | }", ["min", "max", "step"], ["options"]],
  ["an input without a kind", "inputs:\n  region: { | }", ["type", "label"], []],
  ["an input's kind", "inputs:\n  region:\n    type: |\n", ["string", "file_list", "multi_select"], ["label"]],
  ["an input's kind in braces", "inputs:\n  region: { type: s| }\n", ["select", "secret"], []],
  ["a flag", "triggers:\n  api:\n    enabled: |", ["true", "false"], []],
  ["a choice", "triggers:\n  schedule:\n    overlap: |", ["skip", "cancel_previous"], []],
  ["a time zone", "triggers:\n  schedule:\n    timezone: Europe/B|\n", ["Europe/Berlin", "UTC"], []],
])("completeConfig, at %s, offers what can be written there", (_name, marked, there, absent) => {
  const labels = labelsAt(marked);
  expect(labels).toEqual(expect.arrayContaining(there));
  for (const label of absent) expect(labels).not.toContain(label);
});

test.each([
  ["a comment", "name: Hello # |"],
  ["free text", "description: some wo|rds"],
  ["a name of one's own", "inputs:\n  |"],
  ["broken YAML", "inputs: ]\n|"],
])("completeConfig, in %s, offers nothing", (_name, marked) => {
  expect(labelsAt(marked)).toEqual([]);
});

test("completeConfig, of a key, replaces the whole word and opens what belongs to it", () => {
  const [text, cursor] = aText("name: x\ninp|");
  const completion = completeConfig(text, cursor);
  expect([completion?.from, completion?.to]).toEqual([8, 11]);
  const insertOf = (label: string): string | undefined =>
    completion?.suggestions.find((suggestion) => suggestion.label === label)?.insert;
  expect([insertOf("inputs"), insertOf("entrypoint")]).toEqual(["inputs:\n  $", "entrypoint: $"]);
});

test.each([
  ["of a list", "inputs:\n  region:\n    type: select\n    |", "options", "options: [$]"],
  ["of a map", "triggers:\n  |", "schedule", "schedule:\n    $"],
  ["of a map in braces", "triggers: { | }", "schedule", "schedule: $"],
])("completeConfig, of a key %s, puts in what its value begins with", (_name, marked, key, insert) => {
  const { suggestions = [] } = completeConfig(...aText(marked)) ?? {};
  expect(suggestions.find(({ label }) => label === key)?.insert).toBe(insert);
});

test("completeConfig, of required keys, marks them", () => {
  const [text, cursor] = aText("triggers:\n  schedule:\n    |");
  const required = completeConfig(text, cursor)?.suggestions.filter((suggestion) => suggestion.required);
  expect(required?.map(({ label }) => label)).toEqual(["enabled", "cron"]);
});

test.each([
  ["a key", "limits: { time|out: 5m }", ["How long an execution may take"]],
  ["the end of a key", "limits: { timeout|: 5m }", ["How long an execution may take"]],
  ["a value", "inputs: { a: { type: sel|ect, options: [x] } }", ["One of several options."]],
  [
    "a choice",
    "triggers: { schedule: { over|lap: skip } }",
    ["What happens when the last one still runs", "One of skip, queue, allow, cancel_previous."],
  ],
  [
    "a cron expression",
    'triggers: { schedule: { cron: "0 9 |* * 1-5", timezone: Europe/Berlin } }',
    ["It is due every weekday at 09:00, Europe/Berlin."],
  ],
])("describeConfig, of %s, says what it is", (_name, marked, parts) => {
  const hover = describeConfig(...aText(marked));
  for (const part of parts) expect(hover?.paragraphs.join("\n")).toContain(part);
});

test("describeConfig, between nodes and of keys that nobody knows, says nothing", () => {
  expect(describeConfig(...aText("name: x\n|\n"))).toBeUndefined();
  expect(describeConfig(...aText("nothing|: x"))).toBeUndefined();
});
