import type { TickRow } from "../evidence.ts";
import type { Declared } from "../record.ts";
import type { Case, Finding } from "./case.ts";
import { listDue } from "./minutes.ts";

/** Past ticks that a client asked for, until it was told that all are begun. */
interface Backfill {
  readonly token: string;
  readonly workflowId: string;
  readonly askedAt: number;
  /** Undefined: nobody was ever told. */
  readonly answeredAt: number | undefined;
  /** When the schedule was due in that time, as it was declared when they were asked for. Unix milliseconds. */
  readonly due: readonly number[];
}

/** Whatever was due in a time that somebody asked for has started by the answer. */
export function checkBackfills(given: Case): Finding[] {
  const { ticks } = given.evidence;
  return listBackfills(given).flatMap(({ token, workflowId, answeredAt, due }) => {
    const find = (text: string): Finding => ({ rule: "backfill", subject: token, text });
    if (answeredAt === undefined) return [find("was never answered as done")];
    const started = new Set(
      ticks
        .filter(
          (tick) => tick.workflow_id === workflowId && tick.outcome === "started" && tick.decided_at <= answeredAt,
        )
        .map(({ nominal_at }) => nominal_at),
    );
    return due
      .filter((at) => !started.has(at))
      .map((at) => find(`was answered as done, and ${workflowId} ${new Date(at).toISOString()} had not started`));
  });
}

/** Whether somebody had asked for a tick that is said to be a past one when it was decided. */
export function wasAskedFor(given: Case, { workflow_id, nominal_at, decided_at }: TickRow): boolean {
  return listBackfills(given).some(
    ({ workflowId, askedAt, due }) => workflowId === workflow_id && askedAt <= decided_at && due.includes(nominal_at),
  );
}

const known = new WeakMap<Case, readonly Backfill[]>();

function listBackfills(given: Case): readonly Backfill[] {
  const found = known.get(given) ?? readBackfills(given);
  known.set(given, found);
  return found;
}

function readBackfills(given: Case): Backfill[] {
  const asked = given.exchanges.filter(({ request }) => request.purpose === "backfill");
  const firsts = asked.filter(
    ({ request }, index) => asked.findIndex((other) => other.request.token === request.token) === index,
  );
  return firsts.map(({ request }) => {
    const { token = "", workflowId = "", from = 0, to = 0, at: askedAt } = request;
    const answer = asked.find(
      ({ request: other, heard }) => other.token === token && heard?.type === "answer" && heard.status === 200,
    );
    const declared = findDeclared(given, workflowId, askedAt);
    const due = declared === null ? [] : listDue(declared, from - 1, to - 1);
    return { token, workflowId, askedAt, answeredAt: answer?.heard?.at, due };
  });
}

/** The schedule whose commit was answered last: nobody changes it while past ticks of it are asked for. */
function findDeclared({ commits }: Case, workflowId: string, at: number): Declared | null {
  const isBefore = (answeredAt: number | undefined): boolean => answeredAt !== undefined && answeredAt <= at;
  return (
    commits.findLast((commit) => commit.workflowId === workflowId && isBefore(commit.answeredAt))?.declared ?? null
  );
}
