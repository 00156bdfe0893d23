import type { ExecutionRow, FileRow } from "../evidence.ts";
import { contentOf } from "../load/content.ts";
import type { RequestLine } from "../record.ts";
import { type Case, type Finding, findRequest } from "./case.ts";
import { demandOf, sha256 } from "./demand.ts";
import { lastPartOf } from "./logs.ts";

/** Every recorded file is in storage with its content, storage has nothing else, and the content is what was demanded. */
export function checkFiles(given: Case): Finding[] {
  const { evidence } = given;
  const recorded = new Set([
    ...evidence.files.map(({ storage_key }) => storage_key),
    ...evidence.executions.flatMap(({ log_key }) => (log_key === null ? [] : [log_key])),
  ]);
  return [
    ...evidence.files.flatMap((file) => checkStored(given, file)),
    ...Object.keys(evidence.storage).flatMap((key) =>
      recorded.has(key) ? [] : [{ rule: "orphan", subject: key, text: "is in storage, and no record names it" }],
    ),
    ...evidence.unfinished.map((name) => ({ rule: "orphan", subject: name, text: "was left when all had ended" })),
    ...evidence.executions.flatMap((row) => checkContents(given, row)),
  ];
}

function checkStored({ evidence }: Case, file: FileRow): Finding[] {
  const subject = file.storage_key;
  const stored = evidence.storage[subject];
  if (stored === undefined) return [{ rule: "missing", subject, text: `(${file.file_name}) is not in storage` }];
  if (stored.sha256 === file.sha256 && stored.bytes === file.bytes) return [];
  return [{ rule: "content", subject, text: `(${file.file_name}) has another content than was recorded` }];
}

function checkContents(given: Case, row: ExecutionRow): Finding[] {
  const request = findRequest(given, row);
  if (request === undefined) return [];
  const files = given.filesOf.get(row.id) ?? [];
  return [
    ...checkInputs(
      row,
      request,
      files.filter(({ direction }) => direction === "input"),
    ),
    ...checkOutputs(
      given,
      row,
      request,
      files.filter(({ direction }) => direction === "output"),
    ),
    ...checkLog(given, row),
  ];
}

function checkInputs(row: ExecutionRow, { token = "", files = [] }: RequestLine, recorded: FileRow[]): Finding[] {
  const sent = files.map(({ input, fileName, bytes }, index) =>
    [input, fileName, sha256(contentOf(token, index, bytes))].join(" "),
  );
  const kept = recorded.map(({ name, file_name, sha256: hash }) => [name, file_name, hash].join(" "));
  return sent.sort().join() === kept.sort().join()
    ? []
    : [{ rule: "inputs", subject: row.id, text: `has other input files than were sent: ${kept.join(", ")}` }];
}

function checkOutputs(given: Case, row: ExecutionRow, request: RequestLine, recorded: FileRow[]): Finding[] {
  const demand = demandOf(request);
  const find = (text: string): Finding => ({ rule: "outputs", subject: row.id, text });
  const names = recorded.map(({ file_name }) => file_name);
  const strange = names.filter((name) => !(name in demand.outputs)).map((name) => find(`${name} is not to be`));
  const isWhole = row.state === demand.end && row.failure === null && !/SIGKILL/.test(row.message);
  const wrong = Object.entries(demand.outputs).flatMap(([name, wanted]) => {
    const file = recorded.find(({ file_name }) => file_name === name);
    if (file === undefined) return isWhole ? [find(`${name} is missing`)] : [];
    // One that was ended from outside may have been writing it.
    if ("sha256" in wanted)
      return file.sha256 === wanted.sha256 || !isWhole ? [] : [find(`${name} has a wrong content`)];
    const text = given.evidence.storage[file.storage_key]?.text ?? "null";
    return parse(text) === JSON.stringify(wanted.json) ? [] : [find(`${name} says ${text}`)];
  });
  return [...strange, ...wrong];
}

function parse(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return "no JSON";
  }
}

/** The last part of the log tells of one try of the program, from its first line; to its last, when it succeeded. */
function checkLog({ evidence, attemptsOf }: Case, row: ExecutionRow): Finding[] {
  const find = (text: string): Finding[] => [{ rule: "log", subject: row.id, text }];
  if (row.log_key === null) return row.state === "success" ? find("is missing") : [];
  const log = evidence.storage[row.log_key]?.text;
  if (log === undefined) return find("is not in storage");
  const count = (line: string): number => lastPartOf(log).split(`"${line}"`).length - 1;
  const begins = count(`begin ${row.token}`);
  // One that was cancelled at once had no time to write. What earlier tries took says nothing of it.
  const secondsUsed = attemptsOf.get(row.id)?.at(-1)?.seconds_used ?? row.seconds_used;
  if (begins !== 1 && secondsUsed > 0.2) return find(`tells ${begins} times that the program began`);
  return row.state === "success" && count(`end ${row.token}`) !== 1 ? find("does not tell that the program ended") : [];
}
