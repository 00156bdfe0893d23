import { expect, test } from "@jest/globals";
import { findInputChanges } from "../../../domain/manifest/changes.ts";
import { anInput } from "../../support/builders.ts";

const [TEXT, COUNT] = [anInput("string", "text"), anInput("integer", "count", { required: false, default: 3 })];

test("findInputChanges, without a commit before, has all as added, and breaks nobody's calls", () => {
  expect(findInputChanges(null, { inputs: [TEXT, COUNT] })).toEqual([
    { input: "count", change: "added", breaking: false, message: "new, may be left out" },
    { input: "text", change: "added", breaking: false, message: "new and required" },
  ]);
});

test("findInputChanges, of inputs that come and go, breaks calls with those that go and without those that must be given", () => {
  expect(findInputChanges({ inputs: [TEXT] }, { inputs: [COUNT, anInput("date", "day")] })).toEqual([
    { input: "count", change: "added", breaking: false, message: "new, may be left out" },
    { input: "day", change: "added", breaking: true, message: "new and required" },
    { input: "text", change: "removed", breaking: true, message: "not known any more" },
  ]);
});

test.each([
  ["kind", anInput("text", "text"), true, "kind text instead of string"],
  ["no longer required", anInput("string", "text", { required: false }), false, "may be left out now"],
  ["maximum", anInput("string", "text", { charactersMax: 5 }), true, "other constraints (max_length)"],
  ["pattern", anInput("string", "text", { pattern: "a" }), true, "other constraints (pattern)"],
  ["default", anInput("string", "text", { default: "x" }), false, "another default"],
  ["label", anInput("string", "text", { label: "Text" }), false, "other words for people"],
])("findInputChanges, of another %s, says so and whether calls break", (_what, after, breaking, message) => {
  expect(findInputChanges({ inputs: [TEXT] }, { inputs: [after] })).toEqual([
    { input: "text", change: "changed", breaking, message },
  ]);
});

test("findInputChanges, of an input that is required now, breaks calls", () => {
  const after = { ...COUNT, required: true, default: null } as typeof COUNT;
  expect(findInputChanges({ inputs: [COUNT] }, { inputs: [after] })).toEqual([
    { input: "count", change: "changed", breaking: true, message: "now required, another default" },
  ]);
});

test("findInputChanges, of declarations whose keys and inputs come in another order, sees none", () => {
  const turned = Object.fromEntries(Object.entries(TEXT).reverse()) as unknown as typeof TEXT;
  expect(findInputChanges({ inputs: [TEXT, COUNT] }, { inputs: [COUNT, turned] })).toEqual([]);
});
