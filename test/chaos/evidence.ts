import { createHash } from "node:crypto";
import type { AttemptRow, Evidence, ExecutionRow, FileRow, StoredObject } from "../../chaos/evidence.ts";
import { contentOf } from "../../chaos/load/content.ts";
import type { Line, Purpose } from "../../chaos/record.ts";

/** The same evidence, for a test to change as it likes. */
type Changeable<T> = T extends object ? { -readonly [Key in keyof T]: Changeable<T[Key]> } : T;
export type Draft = Changeable<Evidence>;

const ACCOUNT = "acct_1";
const GRANTED = 1_000_000_000;
export const hash = (content: Buffer | string): string => createHash("sha256").update(content).digest("hex");

/** A run in which all was well: five executions with every kind of end, and two faults. Times begin at 0. */
export function soundEvidence(): Draft {
  const draft: Draft = {
    lines: [],
    hostile: [],
    executions: [],
    attempts: [],
    reservations: [],
    ledger: [{ account_id: ACCOUNT, kind: "grant", amount: GRANTED, execution_id: null }],
    accounts: [{ id: ACCOUNT, balance: GRANTED, reserved: 0 }],
    files: [],
    schedules: [],
    ticks: [],
    timetables: [],
    places: [],
    notices: [],
    storage: {},
    unfinished: [],
  };
  addTally(draft);
  addPack(draft);
  addFaulty(draft);
  addGivenUp(draft);
  addCancelled(draft);
  return draft;
}

function addTally(draft: Draft): void {
  const token = "t-1";
  const execution = anExecution("ex_tally", token, { seconds_used: 1.5, charge_compute: 15_000, charge_total: 16_000 });
  addExecution(draft, execution, [anAttempt(execution, 1, { seconds_used: 1.5 })]);
  // Its service died once the program had ended, and the next one recorded that.
  draft.lines.push({ type: "left_end", at: 3_900, executionId: execution.id, attempt: 1, status: "success" });
  addOutput(draft, execution, "sum", "sum.json", "6");
  addOutput(draft, execution, "digest", "digest.txt", hash(`${token}|hush|1,2,3`));
  addLog(draft, execution, ["begin", "end"], ticksOf(2_010, 1_500));
  ask(draft, 1, "execute", {
    workflow: "tally",
    token,
    inputs: { token, numbers: [1, 2, 3], seconds: 1.5, secret: "hush" },
  });
  answer(draft, 1, 200, resultOf(draft, execution));
  ask(draft, 2, "result", { workflow: "tally", executionId: execution.id });
  answer(draft, 2, 200, resultOf(draft, execution));
  ask(draft, 3, "file", { workflow: "tally", executionId: execution.id, fileName: "digest.txt" });
  draft.lines.push({
    type: "answer",
    at: 10_000,
    request: 3,
    status: 200,
    headers: {},
    text: "",
    sha256: hash(hash(`${token}|hush|1,2,3`)),
  });
  ask(draft, 4, "execute", { workflow: "tally", token: "t-never", inputs: {} }, 100_000);
  draft.lines.push({ type: "silence", at: 101_000, request: 4, cause: "refused", reason: "ECONNREFUSED" });
}

function addPack(draft: Draft): void {
  const token = "t-2";
  const execution = anExecution("ex_pack", token, { seconds_used: 0.25, charge_compute: 2_500, charge_total: 3_500 });
  addExecution(draft, execution, [anAttempt(execution, 1, { seconds_used: 0.25 })]);
  const [one, two] = [contentOf(token, 0, 50), contentOf(token, 1, 7)];
  addFile(draft, execution, { direction: "input", name: "first", file_name: "a.dat" }, one);
  addFile(draft, execution, { direction: "input", name: "others", file_name: "b.dat" }, two);
  const packed = Buffer.concat([Buffer.from("Größe\na.dat:50\n"), one, Buffer.from("b.dat:7\n"), two]);
  addOutput(draft, execution, "packed", "packed.bin", packed);
  addOutput(draft, execution, "count", "count.json", "2");
  addLog(draft, execution, ["begin", "end"]);
  const files = [
    { input: "first", fileName: "a.dat", bytes: 50 },
    { input: "others", fileName: "b.dat", bytes: 7 },
  ];
  ask(draft, 5, "execute", { workflow: "pack", token, inputs: { token, label: "Größe" }, files });
  draft.lines.push({ type: "silence", at: 9_000, request: 5, cause: "hung_up", reason: "aborted" });
}

function addFaulty(draft: Draft): void {
  const token = "t-3";
  const execution = anExecution("ex_faulty", token, {
    state: "failed",
    attempts_max: 2,
    message: `ValueError: no luck with ${token}`,
    seconds_used: 0.5,
    charge_compute: 5_000,
    charge_total: 6_000,
  });
  addExecution(draft, execution, [
    anAttempt(execution, 1, { status: "failed", seconds_used: 0.25 }),
    anAttempt(execution, 2, { status: "failed", seconds_used: 0.25 }),
  ]);
  addOutput(draft, execution, "before", "before.txt", token);
  const earlier = [
    { id: 1, time: new Date(2_010).toISOString(), stream: "stdout", text: `begin ${token}` },
    { id: 2, time: new Date(3_900).toISOString(), stream: "system", text: "Attempt 2 begins. Attempt 1: ValueError" },
  ];
  const text = earlier.map((line) => `${JSON.stringify(line)}\n`).join("");
  addLog(draft, execution, ["begin"], ticksOf(4_010, 200), text);
  ask(draft, 6, "execute", { workflow: "faulty", token, inputs: { token } });
  answer(draft, 6, 500, resultOf(draft, execution));
}

/** Given up by the service after three workers were lost; that took its time. */
function addGivenUp(draft: Draft): void {
  const token = "t-4";
  const execution = anExecution("ex_given_up", token, {
    state: "failed",
    failure: "internal",
    message: "The service could not finish this execution.",
    created_at: 100_000,
    finished_at: 160_000,
  });
  const lost = (attempt: number) =>
    anAttempt(execution, attempt, {
      status: null,
      message: "The worker was lost.",
      started_at: 90_000 + attempt * 15_000,
      ended_at: 100_000 + attempt * 15_000,
    });
  addExecution(draft, execution, [lost(1), lost(2), lost(3)]);
  draft.lines.push({
    type: "fault",
    at: 100_000,
    until: 140_000,
    kind: "kill",
    victim: "service",
    pid: 7,
    note: "",
    done: true,
  });
  ask(draft, 7, "execute", { workflow: "tally", token, inputs: { token, numbers: [1], seconds: 0 } }, 100_000);
  draft.lines.push({ type: "silence", at: 101_000, request: 7, cause: "broken", reason: "ECONNRESET" });
}

function addCancelled(draft: Draft): void {
  const token = "t-5";
  const execution = anExecution("ex_cancelled", token, { state: "cancelled", cancel_requested_at: 3_000 });
  addExecution(draft, execution, [], "released");
  ask(draft, 8, "execute", { workflow: "endless", token, inputs: { token } });
  answer(draft, 8, 500, resultOf(draft, execution));
  ask(draft, 9, "cancel", { workflow: "endless", executionId: execution.id });
  answer(draft, 9, 202, { ...resultOf(draft, execution), status: "queued" });
}

export type Row = Changeable<ExecutionRow>;

export function anExecution(id: string, token: string, given: Partial<ExecutionRow>): Row {
  return {
    id,
    token,
    workflow_id: "wf_1",
    trigger: "api",
    schedule_name: null,
    state: "success",
    failure: null,
    message: "",
    timeout_seconds: 30,
    cpu: 1,
    attempts_max: 1,
    charge_max: 301_000,
    charge_compute: 0,
    charge_total: 0,
    seconds_used: 0,
    log_key: null,
    cancel_requested_at: null,
    created_at: 1_000,
    finished_at: 8_000,
    ...given,
  };
}

export function anAttempt({ id }: Row, attempt: number, given: Partial<AttemptRow>): Changeable<AttemptRow> {
  return {
    execution_id: id,
    attempt,
    host_id: "host_1",
    status: "success",
    begun: true,
    handed_over: false,
    message: "",
    seconds_used: 0,
    processor_seconds: 0,
    started_at: 2_000 * attempt,
    ended_at: 2_000 * attempt + 1_900,
    ...given,
  };
}

export function addExecution(
  draft: Draft,
  execution: Row,
  attempts: Changeable<AttemptRow>[],
  closed = "settled",
): void {
  const state = execution.failure === null ? closed : "released";
  draft.executions.push(execution);
  draft.attempts.push(...attempts);
  draft.reservations.push({ execution_id: execution.id, amount: execution.charge_max, state });
  if (state === "released") return;
  const amount = -execution.charge_total;
  draft.ledger.push({ account_id: ACCOUNT, kind: "settlement", amount, execution_id: execution.id });
  for (const account of draft.accounts) account.balance += amount;
}

export function addOutput(
  draft: Draft,
  execution: Row,
  name: string,
  fileName: string,
  content: Buffer | string,
): void {
  addFile(draft, execution, { direction: "output", name, file_name: fileName }, content);
}

type Naming = Pick<FileRow, "direction" | "name" | "file_name">;

function addFile(draft: Draft, { id }: Row, naming: Naming, content: Buffer | string): void {
  const storage_key = `executions/${id}/${naming.direction}/${naming.file_name}`;
  const object = store(draft, storage_key, content);
  draft.files.push({
    execution_id: id,
    position: 0,
    storage_key,
    bytes: object.bytes,
    sha256: object.sha256,
    ...naming,
  });
}

/** A program said what time it was, and the service heard it then. Both in milliseconds. */
type Tick = readonly [said: number, heard: number];

/** Ten times a second, from the one time on for that long. */
export function ticksOf(from: number, ms: number): Tick[] {
  const times = Array.from({ length: Math.ceil(ms / 100) }, (_, index) => from + 100 * index);
  return [...times, from + ms].map((said) => [said, said + 5]);
}

/** The log of a program: a word at its beginning, what time it was meanwhile, and a word at its end, where it has one. */
export function addLog(
  draft: Draft,
  execution: Row,
  [begin, end]: string[],
  ticks: readonly Tick[] = [],
  earlier = "",
): void {
  execution.log_key = `executions/${execution.id}/log.ndjson`;
  const line = (heard: number, text: string): string =>
    `${JSON.stringify({ id: 1, time: new Date(heard).toISOString(), stream: "stdout", text })}\n`;
  const [first, last] = [ticks[0]?.[1] ?? 0, ticks.at(-1)?.[1] ?? 0];
  const said = ticks.map(([at, heard]) => line(heard, `at ${(at / 1000).toFixed(3)}`));
  const ending = end === undefined ? "" : line(last, `${end} ${execution.token}`);
  store(draft, execution.log_key, `${earlier}${line(first, `${begin} ${execution.token}`)}${said.join("")}${ending}`);
}

function store(draft: Draft, key: string, content: Buffer | string): StoredObject {
  const object = { bytes: Buffer.byteLength(content), sha256: hash(content), text: content.toString() };
  draft.storage[key] = object;
  return object;
}

function resultOf({ files }: Draft, row: Row): Record<string, unknown> {
  const outputs = files.filter((file) => file.execution_id === row.id && file.direction === "output");
  return {
    executionId: row.id,
    status: row.state,
    duration: row.seconds_used,
    outputs: Object.fromEntries(outputs.map(({ name, file_name }) => [name, `https://localhost/files/${file_name}`])),
    cost: { compute: row.charge_compute / 1_000_000, total: row.charge_total / 1_000_000 },
  };
}

function ask(draft: Draft, request: number, purpose: Purpose, given: object, at = 1_000): void {
  draft.lines.push({ type: "request", at, request, purpose, ...given } as Changeable<Line>);
}

function answer(draft: Draft, request: number, status: number, body: Record<string, unknown>): void {
  draft.lines.push({ type: "answer", at: 9_000, request, status, headers: {}, body } as Changeable<Line>);
}
