import { readFileSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { expect, test } from "@jest/globals";
import yazl from "yazl";
import { readParquet } from "../../../web/src/preview/parquet.ts";
import type { ByteSource } from "../../../web/src/preview/table-bounds.ts";
import { readSheet } from "../../../web/src/preview/workbook.ts";

const FOLDER = new URL("../../support/tables/", import.meta.url);
const load = (name: string): Buffer => readFileSync(new URL(name, FOLDER));

/** A file of these bytes; `asked` counts those that were read. */
function sourceOf(content: Buffer) {
  const asked: [from: number, end: number][] = [];
  const source: ByteSource = {
    bytes: content.length,
    async read(from, end) {
      asked.push([from, end]);
      if (end - from > 64_000_000) throw new Error("too much");
      return Uint8Array.from(content.subarray(from, end)).buffer;
    },
  };
  return { source, asked };
}

test("a Parquet file, with a table of every kind of column, has its values as texts", async () => {
  const { source } = sourceOf(load("cities.parquet"));
  const { head, body, rows, cut } = await readParquet(source);
  expect([head, rows, body.length, cut]).toEqual([
    ["id", "city", "day", "at", "open", "tags", "place"],
    2_500,
    1_000,
    true,
  ]);
  expect(body[1]).toEqual([
    "9007199254740994",
    "Zürich",
    "2026-01-02",
    "2026-01-01T12:00:01.000Z",
    "false",
    '["a"]',
    '{"x":0.25}',
  ]);
  expect(body[0]?.[4]).toBe("");
  expect((await readParquet(sourceOf(load("snappy.parquet")).source)).body[1]).toEqual(["Zürich", "2026-01-02"]);
  expect((await readParquet(sourceOf(load("gzip.parquet")).source)).body[1]).toEqual(body[1]);
});

test("a Parquet file, of more blocks than are shown, is read at its end and its beginning alone", async () => {
  const content = load("cities.parquet");
  const { source, asked } = sourceOf(content);
  await readParquet(source);
  const footer = asked.shift();
  expect(footer?.[1]).toBe(content.length);
  // Two of five blocks.
  expect(Math.max(...asked.map(([, end]) => end))).toBeLessThan(content.length / 2);
});

test("a workbook, of dates, formulas, empty rows and several sheets, is shown as its cells look", async () => {
  const content = load("cities.xlsx");
  const first = await readSheet(sourceOf(content).source, 0);
  expect(first).toEqual({
    head: ["city", "people", "founded", "opens", "share"],
    body: [
      ["Bern", "134591", "1991-05-01", "08:30:00", "0.25"],
      ["Zürich & <b>more</b>", "421878", "2026-11-24 18:05:00", "", "1e-07"],
      ["", "", "", "", ""],
      ["", "", "true", "", ""],
    ],
    rows: 4,
    cut: false,
    sheets: ["Cities", "Empty", "Second"],
  });
  expect((await readSheet(sourceOf(content).source, 1)).head).toEqual([]);
  expect((await readSheet(sourceOf(content).source, 2)).head).toEqual(["", "only here"]);
});

const WORKBOOK = '<workbook><sheets><sheet name="One" r:id="a"/></sheets></workbook>';
const RELATIONS = '<Relationships><Relationship Id="a" Target="worksheets/one.xml"/></Relationships>';

function pack(sheet: string | Buffer): Promise<Buffer> {
  const zip = new yazl.ZipFile();
  zip.addBuffer(Buffer.from(WORKBOOK), "xl/workbook.xml");
  zip.addBuffer(Buffer.from(RELATIONS), "xl/_rels/workbook.xml.rels");
  zip.addBuffer(Buffer.from(sheet), "xl/worksheets/one.xml");
  zip.end();
  return buffer(zip.outputStream);
}

test("a workbook, with entities that grow and with 60 MB in one part, is cut off and expands nothing", async () => {
  const grown =
    '<!DOCTYPE a [<!ENTITY b "bbbbbbbb"><!ENTITY c "&b;&b;&b;&b;"><!ENTITY f SYSTEM "file:///etc/passwd">]>';
  const cell = (text: string) => `<c r="A1" t="inlineStr"><is><t>${text}</t></is></c>`;
  const sheet = `${grown}<worksheet><sheetData><row r="1">${cell("x &c; &f; &lt;")}</row></sheetData></worksheet>`;
  const { head } = await readSheet(sourceOf(await pack(sheet)).source, 0);
  expect(head).toEqual(["x &c; &f; <"]);

  const rows = `<row r="1">${cell("first")}</row>${" ".repeat(60_000_000)}`;
  const packed = await pack(`<worksheet><sheetData>${rows}<row r="2">${cell("last")}</row></sheetData></worksheet>`);
  expect(packed.length).toBeLessThan(1_000_000);
  const shown = await readSheet(sourceOf(packed).source, 0);
  expect([shown.head, shown.cut, shown.rows]).toEqual([["first"], true, null]);
});

test("a workbook, whose cells are in column XFD and row 1,048,576, shows what fits and no empty million", async () => {
  const cells =
    '<row r="1"><c r="A1"><v>1</v></c><c r="XFD1"><v>2</v></c></row><row r="1048576"><c r="A1048576"><v>3</v></c></row>';
  const packed = await pack(`<worksheet><sheetData>${cells}</sheetData></worksheet>`);
  const { head, body, cut, rows } = await readSheet(sourceOf(packed).source, 0);
  expect([head.length, body.length, cut, rows]).toEqual([60, 0, true, 1_048_575]);
});

test.each(["snappy.parquet", "cities.xlsx"])("%s, with any of its bytes changed, is read or refused", async (name) => {
  const content = load(name);
  const ends = { read: 0, refused: 0 };
  for (let at = 0; at < content.length; at += Math.ceil(content.length / 400)) {
    const changed = Buffer.from(content);
    changed[at] = (content[at] ?? 0) ^ 0xff;
    const { source } = sourceOf(changed);
    const table = await (name.endsWith("xlsx") ? readSheet(source, 0) : readParquet(source)).catch(() => undefined);
    ends[table === undefined ? "refused" : "read"] += 1;
    for (const row of table?.body ?? []) for (const text of row) expect(typeof text).toBe("string");
  }
  expect(ends.refused).toBeGreaterThan(10);
  expect(ends.read).toBeGreaterThan(10);
});
