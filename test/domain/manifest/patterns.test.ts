import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { createCheckBudget } from "../../../domain/manifest/check-budget.ts";
import { checkPattern, matchesPattern } from "../../../domain/patterns/patterns.ts";
import { readProcessorMs } from "../../support/processor.ts";

const LEGAL = [
  "abc",
  "a*",
  "a+b?",
  "[a-z]{2,4}",
  "(?:ab|cd)+",
  "^a|b$",
  "[^\\]x]+",
  "\\d{3}-\\d{2}",
  "a{0}",
  "(a?b){2,}",
  "a{2,3}c*",
  "\\u0061|\\x62",
  "\\p{L}+",
  "a.c",
  "(?<name>ab)c?",
  "x{1,}?y",
  "",
  "a|",
  "(|a)b",
  "\\\\|\\/",
  "[\\w.-]+@[\\w-]+(\\.[\\w-]+)+",
  "\\ud83d\\ude00",
  "(a{1,2}){2}",
  "()",
  "(a|bc|d){3}",
];

test.each(LEGAL)("matchesPattern, for %j and any text, agrees with the engine's whole match", (source) => {
  expect(checkPattern(source)).toEqual({ ok: true });
  const whole = new RegExp(`^(?:${source})$`, "u");
  const texts = fc.oneof(
    fc.string({
      unit: fc.constantFrom("a", "b", "c", "d", "x", "y", "1", "-", "]", "\\", "/", "é", "😀", ".", "@"),
      maxLength: 7,
    }),
    fc.stringMatching(/^[abcd]{0,8}$/),
    fc.constantFrom("123-45", "a.b@c.d", "ab", "abc", "", "😀", "\n", "a\nc"),
  );
  fc.assert(
    fc.property(texts, (text) => matchesPattern(source, text) === whole.test(text)),
    { numRuns: 300 },
  );
});

test.each([
  ["(a+)+", "several ways"],
  ["^(a*)*$", "several ways"],
  ["(a|a)*", "several ways"],
  ["(a|ab|b)*", "several ways"],
  ["(\\w+\\s?)*", "several ways"],
  ["(.*a)+", "several ways"],
  ["(a?b?)*", "several ways"],
  ["(a)\\1", "refers back"],
  ["(?<x>a)\\k<x>", "refers back"],
  ["(?=a)a", "looks ahead"],
  ["a(?<!b)", "looks ahead or behind"],
  ["\\bword", "word boundary"],
  ["a^b", "has ^ inside"],
  ["(a$)", "has $ inside"],
  ["(a", "not a regular expression"],
  ["[b-a]", "not a regular expression"],
  ["a\\-b", "invalid escape"],
  ["a{3000}", "too large"],
  ["((a{100}){100}){100}", "too large"],
  ["((((){1000}){1000}){1000}){1000}", "too large"],
  ["a".repeat(1001), "longer than 1000"],
  ["(".repeat(60) + "a" + ")".repeat(60), "deeper than 50"],
])("checkPattern, for %j, refuses and says %s", (source, words) => {
  const check = checkPattern(source);
  expect(check.ok ? "accepted" : check.message).toContain(words);
});

test("matchesPattern, with a pattern that makes backtracking engines slow, takes time linear in the value", () => {
  const slow = ".*.*.*.*.*=.*";
  expect(checkPattern(slow)).toEqual({ ok: true });
  const since = readProcessorMs();
  expect(matchesPattern(slow, "x".repeat(10_000))).toBe(false);
  expect(readProcessorMs() - since).toBeLessThan(1_000);
});

test("checkPattern, whatever text comes, answers without throwing and within the time of a request", () => {
  const pieces = fc.constantFrom(
    "a",
    "b",
    "(",
    ")",
    "[",
    "]",
    "*",
    "+",
    "?",
    "{2}",
    "{0,9}",
    "|",
    "\\",
    "d",
    "^",
    "$",
    ".",
    "(?:",
    "é",
  );
  fc.assert(
    fc.property(
      fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join("")),
      (source) => {
        const startedAt = performance.now();
        if (checkPattern(source).ok) matchesPattern(source, "abab");
        return performance.now() - startedAt < 2_000;
      },
    ),
    { numRuns: 500 },
  );
});

test("matchesPattern, when values need more steps than the budget has, says so in bounded time", () => {
  const source = "a*".repeat(98);
  expect(checkPattern(source)).toEqual({ ok: true });
  const budget = createCheckBudget();
  const since = readProcessorMs();
  const results = Array.from({ length: 95 }, () => matchesPattern(source, "a".repeat(9_700), budget));
  expect(results[0]).toBe(true);
  expect(results.at(-1)).toBeUndefined();
  expect(readProcessorMs() - since).toBeLessThan(10_000);
});

test("checkPattern, of 150 large and ambiguous patterns, refuses each in milliseconds", () => {
  const since = readProcessorMs();
  for (let count = 0; count < 150; count += 1) expect(checkPattern("(a{0,900}b?)*").ok).toBe(false);
  expect(readProcessorMs() - since).toBeLessThan(10_000);
});
