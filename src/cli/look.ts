import { styleText } from "node:util";
import type { CliIo } from "./io.ts";
import { formatSpan } from "./tick-words.ts";

/** A difference below this is "now": clocks of two machines differ by so much. */
const NOW_SECONDS = 1;

const STATUS_COLOURS: Readonly<Record<string, Parameters<typeof styleText>[0]>> = {
  success: "green",
  passed: "green",
  failed: "red",
  timed_out: "red",
  out_of_memory: "red",
  cancelled: "yellow",
  running: "cyan",
  queued: "cyan",
};
const LINE_COLOURS: Readonly<Record<string, Parameters<typeof styleText>[0]>> = {
  "+": "green",
  "-": "red",
  "@": "cyan",
};

/** How a value looks to its reader: plain and whole for programs, short and in colour on a terminal. */
export interface Look {
  /** An instant: `12 min ago` on a terminal, elsewhere as it is. Null and undefined stay what they are. */
  time<T extends string | null | undefined>(instant: T): string | T;
  status(word: string): string;
  /** A line of a unified difference. */
  changedLine(line: string): string;
}

/** Looks at standard output. `NO_COLOR` takes the colours away, and leaves the times short. */
export function createLook({ stdout, env }: Pick<CliIo, "stdout" | "env">, now: () => number = Date.now): Look {
  const isTerminal = stdout.isTTY === true;
  const isColoured = isTerminal && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  const paint = (format: Parameters<typeof styleText>[0] | undefined, text: string): string =>
    isColoured && format !== undefined ? styleText(format, text, { validateStream: false }) : text;
  return {
    time: (instant) => (isTerminal && typeof instant === "string" ? formatDistance(instant, now()) : instant),
    status: (word) => paint(STATUS_COLOURS[word], word),
    changedLine: (line) => paint(LINE_COLOURS[line.slice(0, 1)], line),
  };
}

function formatDistance(instant: string, now: number): string {
  const seconds = (now - Date.parse(instant)) / 1000;
  if (Number.isNaN(seconds)) return instant;
  if (Math.abs(seconds) < NOW_SECONDS) return "now";
  const span = formatSpan(Math.abs(seconds));
  return seconds > 0 ? `${span} ago` : `in ${span}`;
}
