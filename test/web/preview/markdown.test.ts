import { expect, test } from "@jest/globals";
import { readTokens } from "../../../web/src/preview/markdown-tokens.ts";
import { readNotebook } from "../../../web/src/preview/notebook.ts";

/** Each of them keeps a reader for minutes, or ends its stack. */
test.each([
  ["marks of emphasis that open and never close", "_a*".repeat(33_000)],
  ["the same in one cell of a table", `|a|\n|-|\n|${"_a*".repeat(30_000)}|`],
  ["the same within a list", `- ${"_a*".repeat(30_000)}`],
  ["quotes within quotes", "> ".repeat(50_000)],
  ["more than a page shows", "a".repeat(100_001)],
])("a Markdown text with %s is not read", (_what, text) => {
  expect(readTokens(text)).toBeUndefined();
});

test("a Markdown text of many names and much emphasis is read to its end", () => {
  const rows = Array.from({ length: 900 }, (_, at) => `| order_line_item_${at} | *net_of_tax* | **${at}** |`);
  const text = ["# Orders", "", "| name | kind | id |", "|-|-|-|", ...rows, "", "*a* __b__ ~~c~~ ".repeat(300)].join(
    "\r\n",
  );
  const kinds = readTokens(text)?.map(({ type }) => type);
  expect(kinds?.filter((type) => type !== "space")).toEqual(["heading", "table", "paragraph"]);
});

test("a notebook with many long texts shows those as pages that are not too long together, and the others as they are", () => {
  const cell = (text: string) => ({ cell_type: "markdown", source: [text] });
  const cells = readNotebook(
    JSON.stringify({ cells: [cell("# a"), ...Array.from({ length: 5 }, () => cell("b".repeat(40_000)))] }),
  );
  expect(cells?.map(({ kind }) => kind)).toEqual(["markdown", "markdown", "markdown", "raw", "raw", "raw"]);
});
