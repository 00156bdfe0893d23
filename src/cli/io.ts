import type { Readable, Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { showOn } from "../../system/shown-text.ts";

/** A stream that may be a terminal, which is `columns` wide. */
export type Terminal = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Where a command reads its surroundings and writes its answer: all it knows of the process it runs in. */
export interface CliIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For values that must not be in a command line. */
  readonly stdin?: Readable;
  readonly stdout: Terminal;
  readonly stderr: Terminal;
  /** Relative paths start here. */
  readonly cwd: string;
  /** Calls `act` at each Ctrl-C, in place of the end of the process, until what it returns is called. */
  readonly onInterrupt?: (act: () => void) => () => void;
}

/**
 * Returns an `io` whose terminal shows control characters instead of obeying them. Nearly every text of a service was
 * chosen by a tenant. `raw` writes texts as they are. Call `finish` after the last write.
 */
export function showIo(io: CliIo, { raw }: { raw: boolean }): { readonly io: CliIo; finish(): void } {
  if (raw) return { io, finish: () => undefined };
  const [out, err] = [showOn(io.stdout), showOn(io.stderr)];
  return {
    io: { ...io, stdout: out.stream, stderr: err.stream },
    finish() {
      out.finish();
      err.finish();
    },
  };
}

/** What a command came to: one document for programs (`--json`), lines for people. */
export interface Answer {
  readonly document: unknown;
  readonly lines: readonly string[];
  /** False when the command did what it was asked and the answer is bad news: exit code 1. */
  readonly good?: boolean;
  /** True when Ctrl-C has ended the command before it was done: exit code 130. */
  readonly interrupted?: boolean;
}

/** Rows under headings, in columns as wide as their widest cell; colours take no room. */
export function toTable(headings: readonly string[], rows: readonly (readonly unknown[])[]): string[] {
  const cells = [headings, ...rows].map((row) => row.map((cell) => toCell(cell)));
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => widthOf(row[column] ?? ""))));
  return cells.map((row) =>
    row
      .map((cell, column) => cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell))))
      .join("  ")
      .trimEnd(),
  );
}

function widthOf(cell: string): number {
  return stripVTControlCharacters(cell).length;
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return "-";
  return typeof value === "string" ? value : JSON.stringify(value);
}
