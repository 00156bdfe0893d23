/** Of a table that is read out of a file this many rows are shown, and this many columns. */
export const ROWS_MAX = 1_000;
export const COLUMNS_MAX = 60;
export const CELL_CHARACTERS_MAX = 500;
/** What is fetched of a file for that, at most. */
export const FETCHED_BYTES_MAX = 64_000_000;
/** Of one block of a file once it is unpacked. */
export const UNPACKED_BYTES_MAX = 64_000_000;

/** A part of a file, and how long the whole is. */
export interface ByteSource {
  readonly bytes: number;
  /** Resolves with the bytes from `from` up to, and without, `end`. */
  read(from: number, end: number): Promise<ArrayBuffer>;
}

export interface ReadTable {
  readonly head: readonly string[];
  readonly body: readonly (readonly string[])[];
  /** How many rows the file has; null where that is not known. */
  readonly rows: number | null;
  /** Whether columns or rows are left out. */
  readonly cut: boolean;
  /** The sheets of a workbook. */
  readonly sheets: readonly string[];
}

/** Returns a text as it is shown in a cell. */
export function cutCell(text: string): string {
  return text.length > CELL_CHARACTERS_MAX ? `${text.slice(0, CELL_CHARACTERS_MAX)} …` : text;
}
