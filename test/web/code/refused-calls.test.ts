import { expect, test } from "@jest/globals";
import { describeRefused } from "../../../web/src/code/refused-calls.ts";

test.each([
  [[{ trigger: "form", calls: 1, refused: 1 }], "The only run by the form so far would be refused"],
  [[{ trigger: "api", calls: 100, refused: 1 }], "1 of the last 100 calls by API would be refused"],
  [
    [
      { trigger: "api", calls: 7, refused: 3 },
      { trigger: "form", calls: 2, refused: 0 },
    ],
    "3 of the last 7 calls by API would be refused",
  ],
  [
    [
      { trigger: "api", calls: 7, refused: 3 },
      { trigger: "form", calls: 1, refused: 1 },
    ],
    "3 of the last 7 calls by API and the only run by the form so far would be refused",
  ],
] as const)("describeRefused, of %j, is a sentence", (triggers, words) => {
  expect(describeRefused(triggers)).toBe(words);
});
