import type { ScheduleRow } from "../evidence.ts";
import type { Declared } from "../record.ts";
import type { Finding } from "./case.ts";
import type { Commit } from "./commits.ts";
import { groupBy } from "./groups.ts";

/** Both sides have the same clock; the database keeps it to the microsecond. */
const CLOCK_MS = 2;

/** What PostgreSQL says was declared, and when, is what the clients committed. */
export function checkDeclarations(commits: readonly Commit[], rows: readonly ScheduleRow[]): Finding[] {
  const find = (subject: string, text: string): Finding => ({ rule: "declared", subject, text });
  const committed = groupBy(commits, ({ workflowId }) => workflowId);
  const declared = groupBy(rows, (row) => row.workflow_id);
  const strangers = [...declared.keys()].filter((id) => !committed.has(id));
  return [
    ...strangers.map((id) => find(id, "has a schedule, and nobody committed one")),
    ...commits.flatMap(({ token, answeredAt }) =>
      answeredAt === undefined
        ? [{ rule: "uncommitted", subject: token, text: "was never answered as committed" }]
        : [],
    ),
    ...[...committed].flatMap(([id, own]) => {
      if (own.some(({ answeredAt }) => answeredAt === undefined)) return [];
      const inOrder = (declared.get(id) ?? []).toSorted((one, other) => one.since - other.since);
      return compare(toStretches(own), inOrder).map((text) => find(`${own[0]?.workflow} (${id})`, text));
    }),
  ];
}

/** A declaration that held for a time, and the commits that began and ended that. */
interface Stretch {
  readonly declared: Declared;
  readonly begun: Commit;
  ended: Commit | undefined;
}

function toStretches(commits: readonly Commit[]): Stretch[] {
  const stretches: Stretch[] = [];
  let current: Stretch | undefined;
  for (const commit of commits) {
    if (isSame(current?.declared ?? null, commit.declared)) continue;
    if (current !== undefined) current.ended = commit;
    current = commit.declared === null ? undefined : { declared: commit.declared, begun: commit, ended: undefined };
    if (current !== undefined) stretches.push(current);
  }
  return stretches;
}

function compare(stretches: readonly Stretch[], rows: readonly ScheduleRow[]): string[] {
  if (stretches.length !== rows.length)
    return [`was declared ${stretches.length} times by the client, and ${rows.length} times in the record`];
  return stretches.flatMap(({ declared, begun, ended }, index) => {
    const row = rows[index] as ScheduleRow;
    const { token } = begun;
    return [
      ...(isSame(declared, toDeclared(row))
        ? []
        : [`is recorded as ${JSON.stringify(toDeclared(row))}, not as ${token} committed it`]),
      ...(isWithin(begun, row.since) ? [] : [`began at another time than ${token} was committed`]),
      ...((ended === undefined ? row.until === null : row.until !== null && isWithin(ended, row.until))
        ? []
        : [`of ${token} did not end when ${ended?.token ?? "nobody"} changed it`]),
    ];
  });
}

function isWithin({ askedAt, answeredAt = askedAt }: Commit, at: number): boolean {
  return at >= askedAt - CLOCK_MS && at <= answeredAt + CLOCK_MS;
}

function toDeclared({ enabled, cron, timezone, overlap, catchup, jitter_seconds }: ScheduleRow): Declared {
  return { enabled, cron, timezone, overlap, catchup, jitterSeconds: jitter_seconds };
}

function isSame(one: Declared | null, other: Declared | null): boolean {
  const tell = (declared: Declared | null): string => {
    const { enabled, cron, timezone, overlap, catchup, jitterSeconds } = declared ?? {};
    return JSON.stringify([enabled, cron, timezone, overlap, catchup, jitterSeconds]);
  };
  return tell(one) === tell(other);
}
