import type { CommitId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** What a host lacks for programs, in words for their callers. */
export interface HostLacks {
  readonly isolationProblems: readonly string[];
  readonly networkProblem: string | null;
  /** Commits that cannot run there, and why; not all where there are many. */
  readonly commits: readonly {
    readonly workflowId: WorkflowId;
    readonly commitId: CommitId;
    readonly reason: string;
  }[];
}

/** A process, and the host that it stores outputs of. */
interface HostProcess {
  readonly hostId: string;
  readonly processId: string;
}

/** Records that a host has a process, and what programs lack there. Good for so many seconds. */
export async function notePresence(
  db: Db,
  presence: HostProcess & {
    readonly seconds: number;
    /** Null where no programs are run. */
    readonly lacks: HostLacks | null;
  },
): Promise<void> {
  const { lacks, ...of } = presence;
  await queryRows(
    db,
    `insert into hosts as h (id, process_id, present_until, lacks)
       values (:hostId, :processId, now() + make_interval(secs => :seconds), cast(:lacks as jsonb))
         on conflict (id) do update
            set process_id = excluded.process_id, present_until = excluded.present_until, lacks = excluded.lacks`,
    { ...of, lacks: lacks && JSON.stringify(lacks) },
  );
}

/** Records that a process of a host has ended, unless the host has another by now. */
export async function endPresence(db: Db, { hostId, processId }: HostProcess): Promise<void> {
  await queryRows(db, `delete from hosts where id = :hostId and process_id = :processId`, { hostId, processId });
}

/** Lists what programs lack on each host that runs some and is there. */
export async function listHostLacks(db: Db): Promise<HostLacks[]> {
  const rows = await queryRows<{ lacks: HostLacks }>(
    db,
    `select lacks from hosts where lacks is not null and present_until > now() order by id`,
  );
  return rows.map(({ lacks }) => lacks);
}
