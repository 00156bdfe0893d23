import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { createMask } from "../../sandbox/masking.ts";
import { readProcessorMs } from "../support/processor.ts";

function maskInPieces(secrets: readonly string[], pieces: readonly Buffer[]): string {
  const masker = createMask(secrets)?.createMasker();
  if (masker === undefined) return Buffer.concat(pieces).toString();
  return Buffer.concat([...pieces.map((piece) => masker.add(piece)), masker.end(false)]).toString();
}

/** Looks at every place of the whole text: what is of any secret is one mask. */
function maskByHand(secrets: readonly string[], text: string): string {
  const isSecret = Array.from({ length: text.length }, () => false);
  for (const secret of secrets)
    for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + 1))
      isSecret.fill(true, at, at + secret.length);
  return Array.from(text, (one, at) => (isSecret[at] ? (isSecret[at - 1] ? "" : "***") : one)).join("");
}

test("mask, of texts in pieces of any length, is that of the whole text", () => {
  // Few letters, so that secrets overlap, repeat and begin within each other. None has another form in them.
  const letters = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 6, maxLength: 9 });
  const given = fc.record({
    secrets: fc.array(letters, { minLength: 1, maxLength: 4 }),
    text: fc.string({ unit: fc.constantFrom("a", "b", "b", "\n"), maxLength: 120 }),
    cuts: fc.array(fc.nat(120), { maxLength: 12 }),
  });
  fc.assert(
    fc.property(given, ({ secrets, text, cuts }) => {
      const places = [0, ...cuts.filter((at) => at <= text.length).toSorted((one, other) => one - other), text.length];
      const pieces = places.slice(1).map((end, index) => Buffer.from(text.slice(places[index], end)));
      expect(maskInPieces(secrets, pieces)).toBe(maskByHand(secrets, text));
    }),
    { numRuns: 2_000 },
  );
});

const SECRET = 'pä"ss wörd/+&1';
const LINES = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhk\nshort\n-----END KEY-----\n";

test.each([
  ["itself", SECRET],
  ["base64", Buffer.from(SECRET).toString("base64")],
  ["base64 for addresses", Buffer.from(SECRET).toString("base64url")],
  ["the name and it in base64", Buffer.from(`user:${SECRET}`).toString("base64")],
  ["other text around it in base64", Buffer.from(`a${SECRET}z`).toString("base64")],
  ["percent encoding", encodeURIComponent(SECRET)],
  ["percent encoding in small letters", encodeURIComponent(SECRET).replaceAll(/%../g, (code) => code.toLowerCase())],
  ["a form", new URLSearchParams({ it: SECRET }).toString()],
  ["JSON", JSON.stringify({ it: SECRET })],
  ["JSON in ASCII", JSON.stringify(SECRET).replaceAll("ä", "\\u00e4").replaceAll("ö", "\\u00f6")],
])("mask, of a secret as %s, leaves nothing of it", (_, text) => {
  const shown = maskInPieces([SECRET], [Buffer.from(`before ${text} after`)]);
  expect(shown).toContain("***");
  expect(shown).toMatch(/^before .* after$/);
  for (const part of ["ss w", "wörd", "c3Mg", "%20w", "+w%"]) expect(shown).not.toContain(part);
  expect(shown.length).toBeLessThan("before  after".length + 20);
});

test("mask, of a key of several lines that is written line by line, leaves out each line", () => {
  const shown = maskInPieces([LINES], [Buffer.from(LINES.split("\n").join("\n| "))]);
  expect(shown).toBe("***\n| ***\n| short\n| ***\n| ");
});

test("mask, of what is shorter than 6 bytes, there is none", () => {
  expect(createMask(["short", ""])).toBeUndefined();
  expect(createMask(["longer"])?.maskText("a longer text")).toBe("a *** text");
});

test("mask, of what a cut has left of a secret, shows nothing", () => {
  const masker = createMask(["secret-value"])?.createMasker();
  expect(masker?.add(Buffer.from("it is secret-va")).toString()).toBe("it is ");
  expect(masker?.end(true).toString()).toBe("");
});

test("mask, of a program that writes all but the end of a long secret again and again, takes time for each byte once", () => {
  const secrets = Array.from({ length: 20 }, (_, index) => `${"a".repeat(4_000)}${index}`);
  const masker = createMask(secrets)?.createMasker();
  const before = readProcessorMs();
  const chunk = Buffer.alloc(1024 * 1024, "a");
  for (let round = 0; round < 4; round++) masker?.add(chunk);
  // A look at every place for every secret would be 3 * 10^11 steps.
  expect(readProcessorMs() - before).toBeLessThan(20_000);
});
