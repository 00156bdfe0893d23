import { Parser } from "saxen";

/** What comes of a cell: its text, and where that stands elsewhere or is written in another way. */
export interface SheetCell {
  readonly column: number;
  readonly kind: string;
  readonly style: number;
  readonly text: string;
}

type Attributes = () => Record<string, string>;

/** Calls for each element that begins and ends, by its name without a prefix; `text` has what stood within it. */
function walk(
  xml: string,
  act: { open?(tag: string, attributes: Attributes): void; close?(tag: string, text: string): void },
): void {
  let text = "";
  new Parser()
    .on("openTag", (tag, attributes) => {
      text = "";
      act.open?.(bare(tag), attributes);
    })
    .on("text", (piece, decode) => (text += decode(piece)))
    .on("cdata", (piece) => (text += piece))
    .on("closeTag", (tag) => {
      act.close?.(bare(tag), text);
      text = "";
    })
    // A text may be cut off: what came before is what is shown.
    .on("error", () => {})
    .on("warn", () => {})
    .parse(xml);
}

function bare(tag: string): string {
  return tag.slice(tag.indexOf(":") + 1);
}

/** Returns the sheets of a workbook with the ids of their files, and whether its days are counted from 1904. */
export function readWorkbook(xml: string): { sheets: { name: string; id: string }[]; from1904: boolean } {
  const sheets: { name: string; id: string }[] = [];
  let from1904 = false;
  walk(xml, {
    open(tag, attributes) {
      const { name = "", "r:id": id = "", date1904 } = attributes();
      if (tag === "sheet") sheets.push({ name, id });
      if (tag === "workbookPr") from1904 = date1904 === "1" || date1904 === "true";
    },
  });
  return { sheets, from1904 };
}

/** Returns by their ids the files that another one names. */
export function readRelations(xml: string): Map<string, string> {
  const found = new Map<string, string>();
  walk(xml, {
    open(tag, attributes) {
      const { Id = "", Target = "" } = attributes();
      if (tag === "Relationship") found.set(Id, Target);
    },
  });
  return found;
}

/** Returns the texts that cells name by their number. Readings of Japanese words are left out. */
export function readSharedTexts(xml: string): string[] {
  const texts: string[] = [];
  let text = "";
  let isReading = false;
  walk(xml, {
    open(tag) {
      if (tag === "si") text = "";
      if (tag === "rPh") isReading = true;
    },
    close(tag, piece) {
      if (tag === "t" && !isReading) text += piece;
      if (tag === "rPh") isReading = false;
      if (tag === "si") texts.push(text);
    },
  });
  return texts;
}

/** By its number, whether a style shows a number as a date, a time, or both. */
export function readDateStyles(xml: string): boolean[] {
  const formats = new Map<number, string>();
  const styles: boolean[] = [];
  let within = false;
  walk(xml, {
    open(tag, attributes) {
      if (tag === "cellXfs") within = true;
      const { numFmtId = "0", formatCode = "" } = attributes();
      if (tag === "numFmt") formats.set(Number(numFmtId), formatCode);
      if (tag === "xf" && within) styles.push(isDateFormat(Number(numFmtId), formats));
    },
    close(tag) {
      if (tag === "cellXfs") within = false;
    },
  });
  return styles;
}

function isDateFormat(id: number, formats: ReadonlyMap<number, string>): boolean {
  const own = formats.get(id);
  // What stands in quotes or brackets, or after a backslash, is text, a colour or a condition.
  if (own !== undefined) return /[dhmsy]/i.test(own.replaceAll(/"[^"]*"|\[[^\]]*\]|\\./g, ""));
  return (id >= 14 && id <= 22) || (id >= 45 && id <= 47);
}

/** Returns the rows of a sheet with the cells that they have. */
export function readRows(xml: string): { readonly row: number; readonly cells: readonly SheetCell[] }[] {
  const rows: { row: number; cells: SheetCell[] }[] = [];
  let cell = { column: 0, kind: "n", style: 0 };
  let text = "";
  walk(xml, {
    open(tag, attributes) {
      if (tag === "row") {
        const row = Number(attributes()["r"] ?? (rows.at(-1)?.row ?? 0) + 1);
        rows.push({ row, cells: [] });
      }
      if (tag !== "c") return;
      const { r = "", t: kind = "n", s: style = "0" } = attributes();
      const next = (rows.at(-1)?.cells.at(-1)?.column ?? -1) + 1;
      cell = { column: r === "" ? next : columnOf(r), kind, style: Number(style) };
      text = "";
    },
    close(tag, piece) {
      if (tag === "v" || tag === "t") text += piece;
      if (tag === "c") rows.at(-1)?.cells.push({ ...cell, text });
    },
  });
  return rows;
}

/** "A1" is in column 0, "AB7" in 27. */
function columnOf(place: string): number {
  const [letters = "A"] = /^[A-Z]{1,3}/.exec(place) ?? [];
  return Array.from(letters).reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}
