import type { Writable } from "node:stream";
import { showOn } from "../../system/shown-text.ts";

/** Where a command reads its surroundings and writes its answer: all it knows of the process it runs in. */
export interface CliIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Relative paths start here. */
  readonly cwd: string;
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
