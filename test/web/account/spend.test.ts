import { expect, test } from "@jest/globals";
import { nameBrowser } from "../../../web/src/account/browsers.ts";
import { COLOURS, stackSpend } from "../../../web/src/account/spend.ts";
import { roundUp, roundUpCount } from "../../../web/src/app/scale.ts";

test("stackSpend, of more workflows than colours, adds up those that cost least, and loses nothing", () => {
  const workflows = Array.from({ length: 20 }, (_, index) => ({
    workflowId: `wf_${index}`,
    name: `Workflow ${index}`,
    perDay: [index, 1],
    total: index + 1,
  }));
  const series = stackSpend(workflows);
  expect(series.length).toBe(COLOURS.length);
  expect(series[0]?.name).toBe("Workflow 19");
  expect(series.at(-1)).toMatchObject({ name: "13 others", perDay: [78, 13] });
  expect(series.reduce((sum, { total }) => sum + total, 0)).toBe(210);
});

test.each([
  [0, 1],
  [0.003, 0.005],
  [0.1, 0.1],
  [7, 10],
  [1_001, 2_000],
])("roundUp, of %d, is %d", (amount, round) => {
  expect(roundUp(amount)).toBeCloseTo(round, 9);
});

test.each([
  [
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36",
    "Chrome on Linux",
  ],
  ["Mozilla/5.0 (Macintosh; Intel Mac OS X 14.4; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on macOS"],
  [
    "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Version/19.0 Mobile Safari/604.1",
    "Safari on iOS",
  ],
  ["curl/8.9.1", "curl/8.9.1"],
  ["", "Unknown browser"],
])("nameBrowser, of %s, is %s", (userAgent, words) => {
  expect(nameBrowser(userAgent)).toBe(words);
});

test.each([
  [0, 4],
  [4, 4],
  [5, 8],
  [17, 20],
  [50, 80],
  [101, 120],
  [1_000, 1_200],
])("roundUpCount, of %d in four parts, is %d, whose parts are whole", (count, top) => {
  expect(roundUpCount(count, 4)).toBe(top);
});
