import { type FileEntry, ZipReader } from "@zip.js/zip.js/lib/zip-core-reader.js";
import { readDateStyles, readRelations, readRows, readSharedTexts, readWorkbook, type SheetCell } from "./sheet-xml.ts";
import { type ByteSource, COLUMNS_MAX, cutCell, type ReadTable, ROWS_MAX } from "./table-bounds.ts";
import { readZipParts } from "./zip-parts.ts";

const DAY_MS = 86_400_000;
/** Day 0 of a workbook, by what it counts from. Day 60 is a 29 February that never was. */
const FIRST_DAY = { from1900: Date.UTC(1899, 11, 30), from1904: Date.UTC(1904, 0, 1) };
const LAST_DAY = 2_958_466;
const SHEETS_MAX = 50;
/** More parts than that has no workbook that people look at. */
const PARTS_MAX = 2_000;
const PART_CHARACTERS_MAX = 4_000_000;
const SHEET_CHARACTERS_MAX = 16_000_000;

interface Looks {
  readonly texts: readonly string[];
  readonly dates: readonly boolean[];
  readonly firstDay: number;
}

/** Reads the first rows of a sheet. Formulas are their last values, and nothing is computed. */
export async function readSheet(source: ByteSource, sheet: number): Promise<ReadTable> {
  const parts = await openParts(source);
  const { sheets, from1904 } = readWorkbook(await parts.text("xl/workbook.xml", PART_CHARACTERS_MAX));
  const files = readRelations(await parts.text("xl/_rels/workbook.xml.rels", PART_CHARACTERS_MAX));
  const target = files.get(sheets[sheet]?.id ?? "") ?? "";
  const path = target.startsWith("/") ? target.slice(1) : `xl/${target}`;
  const looks = {
    texts: readSharedTexts(await parts.text("xl/sharedStrings.xml", SHEET_CHARACTERS_MAX, "")),
    dates: readDateStyles(await parts.text("xl/styles.xml", PART_CHARACTERS_MAX, "")),
    firstDay: from1904 ? FIRST_DAY.from1904 : FIRST_DAY.from1900,
  };
  const xml = await parts.text(path, SHEET_CHARACTERS_MAX);
  const names = sheets.slice(0, SHEETS_MAX).map(({ name }) => cutCell(name));
  return { ...arrange(readRows(xml), looks, xml.length >= SHEET_CHARACTERS_MAX), sheets: names };
}

/** Rows and columns as they stand in the sheet, with what is empty between them. */
function arrange(rows: ReturnType<typeof readRows>, looks: Looks, isPart: boolean): Omit<ReadTable, "sheets"> {
  const filled = rows.filter(({ cells }) => cells.some(({ text }) => text !== ""));
  const [first] = filled;
  if (first === undefined) return { head: [], body: [], rows: 0, cut: isPart };
  const shown = filled.filter(({ row }) => row - first.row <= ROWS_MAX);
  const last = Math.max(...shown.map(({ cells }) => Math.max(0, ...cells.map(({ column }) => column))));
  const width = Math.min(last + 1, COLUMNS_MAX);
  const lines = Array.from({ length: (shown.at(-1) ?? first).row - first.row + 1 }, () =>
    Array<string>(width).fill(""),
  );
  for (const { row, cells } of shown)
    for (const cell of cells) {
      const line = lines[row - first.row];
      if (line !== undefined && cell.column < width) line[cell.column] = cutCell(toText(cell, looks));
    }
  const [head = [], ...body] = lines;
  const cut = isPart || shown.length < filled.length || last >= width;
  return { head, body, rows: isPart ? null : (filled.at(-1) ?? first).row - first.row, cut };
}

function toText({ kind, style, text }: SheetCell, { texts, dates, firstDay }: Looks): string {
  if (kind === "s") return texts[Number(text)] ?? "…";
  if (kind === "b") return text === "1" ? "true" : "false";
  if (kind !== "n" || text === "" || dates[style] !== true) return text;
  return toDateText(Number(text), firstDay) ?? text;
}

/** A day, a time, or both, of no zone: a workbook has none. */
function toDateText(days: number, firstDay: number): string | undefined {
  if (!(days >= 0 && days < LAST_DAY)) return undefined;
  const at = new Date(firstDay + Math.round(days * DAY_MS)).toISOString();
  const [day = "", time = ""] = at.slice(0, 19).split("T");
  if (days < 1) return time;
  return time === "00:00:00" ? day : `${day} ${time}`;
}

async function openParts(source: ByteSource) {
  const zip = new ZipReader(
    {
      readable: new ReadableStream(),
      size: source.bytes,
      readUint8Array: async (from: number, length: number) =>
        length === 0
          ? new Uint8Array()
          : new Uint8Array(await source.read(from, Math.min(from + length, source.bytes))),
    },
    { filenameValidation: "tolerant" },
  );
  const found = new Map<string, FileEntry>();
  for await (const entry of zip.getEntriesGenerator()) {
    if (!entry.directory) found.set(entry.filename, entry);
    if (found.size === PARTS_MAX) break;
  }
  return readZipParts(source, found);
}
