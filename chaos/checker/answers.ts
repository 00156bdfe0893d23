import type { ExecutionRow } from "../evidence.ts";
import type { AnswerLine, RequestLine } from "../record.ts";
import { type Case, type Exchange, type Finding, hasCause } from "./case.ts";

const MICRO = 1_000_000;
const OPEN = ["queued", "running"];

/** Every answer a client got agrees with the record, and where there was none, or an apology, there was a reason. */
export function checkAnswers(given: Case): Finding[] {
  return given.exchanges.flatMap((exchange) => {
    const find = (rule: string, text: string): Finding => ({ rule, subject: describe(exchange), text });
    return checkAnswer(given, exchange).map(([rule, text]) => find(rule, text));
  });
}

type Flaw = readonly [rule: string, text: string];

function describe({ request }: Exchange): string {
  const { purpose, token, executionId, fileName = "" } = request;
  return `request ${request.request} (${purpose} ${token ?? `${executionId} ${fileName}`})`.replace(" )", ")");
}

function checkAnswer(given: Case, { request, heard }: Exchange): Flaw[] {
  if (heard === undefined) return [["unheard", "has neither an answer nor the lack of one in the record"]];
  const isExplained = hasCause(given, [request.at, heard.at]);
  if (heard.type === "silence") {
    if (heard.cause === "hung_up" || isExplained) return [];
    return [["silence", `got no answer (${heard.reason}) while nothing was wrong`]];
  }
  if (heard.status >= 500 && heard.body?.status === undefined)
    return isExplained
      ? []
      : [["apology", `was answered with ${heard.status} while nothing was wrong: ${told(heard)}`]];
  if (request.purpose === "publish" || request.purpose === "delete") return checkCommit(given, request, heard);
  if (request.purpose === "backfill") return checkBackfill(heard);
  const id = request.executionId ?? heard.body?.executionId;
  const row = typeof id === "string" ? given.execution.get(id) : undefined;
  if (heard.status === 429) return [];
  if (row === undefined)
    return [["unknown", `was answered with ${heard.status}, and is not in the record: ${told(heard)}`]];
  switch (request.purpose) {
    case "execute":
    case "result":
      return checkResult(given, { asked: request.at, heard, row, purpose: request.purpose });
    case "cancel":
      return isGone(given, row, heard) ? [] : checkCancel(heard, row);
    case "file":
      return checkFile(given, heard, row, request.fileName ?? "");
    case "log":
      return heard.status === 200 ? [] : [["log", `was answered with ${heard.status}: ${told(heard)}`]];
  }
}

/** Between the time that an end bears and the moment at which others see it, the database writes it down. */
const COMMIT_MS = 250;

interface Result {
  readonly asked: number;
  readonly heard: AnswerLine;
  readonly row: ExecutionRow;
  readonly purpose: "execute" | "result";
}

function checkResult(given: Case, { asked, heard, row, purpose }: Result): Flaw[] {
  const { body = {}, status } = heard;
  const otherwise = row.failure === "no_capacity" ? 503 : 500;
  const wanted = purpose === "result" || row.state === "success" ? 200 : otherwise;
  if (OPEN.includes(String(body.status))) {
    if (purpose === "execute" && status !== 202) return [["status", `is ${status} for an execution that is open`]];
    const isOld = row.finished_at !== null && row.finished_at + COMMIT_MS < asked;
    return isOld ? [["stale", `says ${String(body.status)} after it had ended as ${row.state}`]] : [];
  }
  const outputs = (given.filesOf.get(row.id) ?? []).filter(({ direction }) => direction === "output");
  const cost = (body.cost ?? {}) as Record<string, number>;
  const facts: readonly (readonly [string, unknown, unknown])[] = [
    ["HTTP status", status, wanted],
    ["status", body.status, row.state],
    ["duration", body.duration, Math.round(row.seconds_used * 1000) / 1000],
    ["cost.compute", Math.round((cost.compute ?? Number.NaN) * MICRO), row.charge_compute],
    ["cost.total", Math.round((cost.total ?? Number.NaN) * MICRO), row.charge_total],
    [
      "outputs",
      JSON.stringify(Object.keys((body.outputs ?? {}) as object).sort()),
      JSON.stringify(outputs.map(({ name }) => name).sort()),
    ],
  ];
  return facts.flatMap(([name, said, recorded]) =>
    said === recorded ? [] : [["differs", `says ${name} ${String(said)}, the record ${String(recorded)}`] as const],
  );
}

function checkCancel(heard: AnswerLine, row: ExecutionRow): Flaw[] {
  if (heard.status === 202)
    return row.cancel_requested_at === null ? [["cancel", "was accepted, and is not in the record"]] : [];
  if (heard.status !== 200) return [["cancel", `was answered with ${heard.status}: ${told(heard)}`]];
  const hadEnded = row.finished_at !== null && row.finished_at <= heard.at;
  return hadEnded ? [] : [["cancel", "was told that the execution had ended, and it had not"]];
}

/** With the workflow its key is gone, by which its executions are asked for. */
function isGone({ exchanges }: Case, { workflow_id }: ExecutionRow, { at, status }: AnswerLine): boolean {
  const isDeleted = exchanges.some(
    ({ request }) => request.purpose === "delete" && request.workflowId === workflow_id && request.at <= at,
  );
  return isDeleted && [401, 404].includes(status);
}

/** There are plenty of credits and of room, so nothing stops it. */
function checkBackfill(heard: AnswerLine): Flaw[] {
  if (heard.status === 200 && heard.body?.stopped === null) return [];
  return [["backfill", `was answered with ${heard.status}: ${told(heard)}`]];
}

/** A commit that was made while its client heard nothing moves the head under the client's next try. One that deletes meets nothing any more. */
function checkCommit({ exchanges }: Case, { token, purpose, request: number }: RequestLine, heard: AnswerLine): Flaw[] {
  const wasUnheard = exchanges.some(
    (other) =>
      other.request.token === token &&
      other.request.request < number &&
      (other.heard?.type !== "answer" || other.heard.status >= 500),
  );
  const again = purpose === "delete" ? 404 : 409;
  if (heard.status === 200 || (heard.status === again && wasUnheard)) return [];
  return [["commit", `was answered with ${heard.status}: ${told(heard)}`]];
}

function checkFile(given: Case, heard: AnswerLine, row: ExecutionRow, fileName: string): Flaw[] {
  const file = (given.filesOf.get(row.id) ?? []).find(
    (each) => each.direction === "output" && each.file_name === fileName,
  );
  if (file === undefined) return [["file", `${fileName} is not in the record`]];
  if (heard.status !== 200) return [["file", `${fileName} was answered with ${heard.status}: ${told(heard)}`]];
  const sha256 = heard.sha256 ?? given.evidence.storage[file.storage_key]?.sha256;
  return sha256 === file.sha256 ? [] : [["file", `${fileName} came with another content`]];
}

function told({ body, text }: AnswerLine): string {
  return (body === undefined ? (text ?? "") : JSON.stringify(body)).slice(0, 300);
}
