/** A line of an execution's log, as the service sends it. */
export interface LogLine {
  readonly time: string;
  /** `system`: a remark of the service. */
  readonly stream: "stdout" | "stderr" | "system";
  readonly text: string;
}

/** Colours and other marks of terminals, and all else that begins with an escape. */
// oxlint-disable-next-line no-control-regex
const MARKS = /\u001b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/** The text of a line without the marks of terminals: what is searched and copied. */
export function toPlain(text: string): string {
  return text.includes("\u001b") ? text.replaceAll(MARKS, "") : text;
}

/** What a terminal shows of a line in the end: a carriage return begins it anew, as progress bars do again and again. */
export function toShown(text: string): string {
  if (!text.includes("\r")) return text;
  const states = text.split("\r");
  return states.findLast((state) => state !== "") ?? "";
}

/** Lines that grow at the end. Subscribers are called after each growth; `lines` is always the same list. */
export interface LogLines {
  readonly lines: readonly LogLine[];
  /** Changes whenever lines were added. */
  count(): number;
  add(lines: readonly LogLine[]): void;
  /** Empties it: the lines are about to come once more. */
  clear(): void;
  subscribe(listener: () => void): () => void;
}

/** An empty log. */
export function createLogLines(): LogLines {
  const lines: LogLine[] = [];
  const listeners = new Set<() => void>();
  return {
    lines,
    count: () => lines.length,
    add(more) {
      // Not spread into one call: a hundred thousand arguments are more than an engine takes.
      for (const line of more) lines.push(line.text.includes("\r") ? { ...line, text: toShown(line.text) } : line);
      for (const listener of listeners) listener();
    },
    clear() {
      lines.length = 0;
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Where the last error of a program begins: its traceback, or else its last line on stderr. Undefined: there is neither. */
export function findLastError(lines: readonly LogLine[]): number | undefined {
  const traceback = lines.findLastIndex(({ text }) => text.startsWith("Traceback (most recent call last)"));
  const index = traceback === -1 ? lines.findLastIndex(({ stream }) => stream === "stderr") : traceback;
  return index === -1 ? undefined : index;
}

/** The places of the lines that hold the text, small and capital letters alike. None for an empty text. */
export function findLines(lines: readonly LogLine[], text: string): number[] {
  const wanted = text.toLowerCase();
  if (wanted === "") return [];
  const found: number[] = [];
  for (const [index, line] of lines.entries()) if (toPlain(line.text).toLowerCase().includes(wanted)) found.push(index);
  return found;
}
