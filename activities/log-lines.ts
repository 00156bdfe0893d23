import { Readable } from "node:stream";

const LINE_FEED = 10;

/** Whole lines as they come, and how many bytes they and their ends take. */
export async function* splitLines(
  log: AsyncIterable<Buffer>,
): AsyncGenerator<{ readonly lines: string[]; readonly bytes: number }> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of log) {
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = all.lastIndexOf(LINE_FEED) + 1;
    rest = all.subarray(end);
    if (end === 0) continue;
    const lines = all
      .toString("utf8", 0, end)
      .split("\n")
      .filter((line) => line !== "");
    yield { lines, bytes: end };
  }
}

interface MergedLine {
  /** As it is kept, without its end. */
  readonly line: string;
  /** Whether the other log alone has it. */
  readonly isAdded: boolean;
}

/** Merges two logs by the ids of their lines. One that both have comes once, and what has no end is left out. */
export async function* mergeLogs(log: AsyncIterable<Buffer>, other: AsyncIterable<Buffer>): AsyncGenerator<MergedLine> {
  const [ours, theirs] = [readLines(log), readLines(other)];
  let [our, their] = [await ours.next(), await theirs.next()];
  while (our.done !== true || their.done !== true) {
    const isAdded = our.done === true || (their.done !== true && their.value.id < our.value.id);
    const { id, line } = (isAdded ? their.value : our.value) as NumberedLine;
    yield { line, isAdded };
    if (our.done !== true && our.value.id === id) our = await ours.next();
    if (their.done !== true && their.value.id === id) their = await theirs.next();
  }
}

/** Returns the same as the content of a file. */
export function joinLogs(log: AsyncIterable<Buffer>, other: AsyncIterable<Buffer>): Readable {
  const toText = async function* () {
    for await (const { line } of mergeLogs(log, other)) yield `${line}\n`;
  };
  return Readable.from(toText(), { objectMode: false });
}

interface NumberedLine {
  readonly id: number;
  readonly line: string;
}

async function* readLines(log: AsyncIterable<Buffer>): AsyncGenerator<NumberedLine, void> {
  for await (const { lines } of splitLines(log))
    for (const line of lines) yield { id: (JSON.parse(line) as { id: number }).id, line };
}
