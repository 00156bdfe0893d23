import { expect, test } from "@jest/globals";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { parseManifest } from "../../../domain/manifest/parse.ts";
import { findPromiseChanges } from "../../../domain/manifest/promise-changes.ts";

function aManifest(text: string): Manifest {
  const parsed = parseManifest(text);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.manifest;
}

const ENABLED = "triggers: { api: { enabled: true } }";

test.each([
  ["an output is removed", "outputs: { a: {} }", "", true, "The output a is no longer promised."],
  ["an output is added", "", "outputs: { a: {} }", false, "The output a is new."],
  [
    "an output is made optional",
    "outputs: { a: {} }",
    "outputs: { a: { required: false } }",
    true,
    "The output a may be missing from now on.",
  ],
  ["the API trigger is removed", ENABLED, "", true, "Calls with the API key are refused (403)."],
  ["the API trigger is added", "", ENABLED, false, "Calls with the API key are accepted."],
  [
    "the time limit changes",
    "limits: { timeout: 1m }",
    "limits: { timeout: 2m }",
    false,
    "An execution may take 2m now, no longer 1m.",
  ],
  [
    "it may have more processes",
    "",
    "limits: { processes: 128 }",
    false,
    "It may have 128 processes and threads now, no longer 64.",
  ],
  [
    "it may have fewer files open",
    "limits: { open_files: 1000 }",
    "limits: { open_files: 512 }",
    false,
    "Each of its processes may have 512 files open now, no longer 1000.",
  ],
  [
    "its scratch folders are larger",
    "",
    "limits: { scratch: 300MiB }",
    false,
    "Its scratch folders may hold 300 MiB now, no longer 256 MiB.",
  ],
  [
    "the network is narrowed",
    "limits: { network: true }",
    "limits: { network: { to: [warehouse] } }",
    false,
    "It may connect to these alone now: warehouse.",
  ],
  ["the network is allowed", "", "limits: { network: true }", false, "It may reach the internet now."],
])("findPromiseChanges, when %s, says so", (_name, before, after, breaking, message) => {
  const changes = findPromiseChanges(aManifest(before), aManifest(after));
  expect(changes).toEqual([{ about: expect.any(String), breaking, message }]);
});

test("findPromiseChanges, when only inputs and words for people change, says nothing", () => {
  const after = aManifest("description: d\ninputs: { a: { type: string } }");
  expect(findPromiseChanges(aManifest("description: c"), after)).toEqual([]);
});

test("findPromiseChanges, of a first commit, says nothing", () => {
  expect(findPromiseChanges(null, aManifest(ENABLED))).toEqual([]);
});
