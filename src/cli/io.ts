import type { Writable } from "node:stream";

/** Where a command reads its surroundings and writes its answer: all it knows of the process it runs in. */
export interface CliIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Relative paths start here. */
  readonly cwd: string;
}

/** What a command came to: one document for programs (`--json`), lines for people. */
export interface Answer {
  readonly document: unknown;
  readonly lines: readonly string[];
  /** False when the command did what it was asked and the answer is bad news: exit code 1. */
  readonly good?: boolean;
}

/** Rows under headings, in columns as wide as their widest cell. */
export function toTable(headings: readonly string[], rows: readonly (readonly unknown[])[]): string[] {
  const cells = [headings, ...rows].map((row) => row.map((cell) => toCell(cell)));
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return "-";
  return typeof value === "string" ? value : JSON.stringify(value);
}
