import type { CommitId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** What a host lacks for programs, in words for their callers. */
export interface HostLacks {
  readonly isolationProblems: readonly string[];
  readonly networkProblem: string | null;
  /** Why programs have no disks for scratch folders. Undefined for a host of a version without them. */
  readonly scratchProblem?: string | null;
  /** The most that one of them can hold; undefined where the operator allows no more than memory gives. */
  readonly scratchBytesMax?: number | undefined;
  /** Commits that cannot run there, and why; not all where there are many. */
  readonly commits: readonly {
    readonly workflowId: WorkflowId;
    readonly commitId: CommitId;
    readonly reason: string;
  }[];
}

/** What a workflow may ask for on a host. */
export interface HostOffers {
  /** Versions of Python, newest first: `3.13`. */
  readonly pythons: readonly string[];
  readonly network: boolean;
  /** How programs are kept apart: `bubblewrap`, `runsc`, or `none`. */
  readonly isolation: string;
  readonly memoryBytes: number;
  readonly cores: number;
  /** The most that one program gets. Absent of a process of an earlier release. */
  readonly ceilings?: HostCeilings;
  /** Of the whole machine, over the last minute: how many threads want a core. Absent of a process of an earlier release. */
  readonly loadAverage?: number;
}

/** The most that one program gets on a host. */
export interface HostCeilings {
  readonly memoryBytes: number;
  readonly cpu: number;
  readonly scratchBytes: number;
}

/** The programs of a process. */
export interface HostPrograms {
  /** How many run at a time. */
  readonly slots: number;
  readonly running: number;
  readonly waiting: number;
  readonly lacks: HostLacks;
  readonly offers: HostOffers;
}

/** What a process says of itself and its host. */
export interface HostWord {
  readonly role: "all" | "api" | "worker";
  readonly version: string;
  /** It is about to stop, and begins nothing. */
  readonly draining: boolean;
  /** The ids of its master keys, that which it seals with first. */
  readonly keyIds: readonly string[];
  /** Null where none are run. */
  readonly programs: HostPrograms | null;
}

/** A process, and the host that it stores outputs of. */
interface HostProcess {
  readonly hostId: string;
  readonly processId: string;
}

/** Records what the process of a host says. Good for so many seconds. Hosts that have said nothing for a day are forgotten. */
export async function notePresence(db: Db, presence: HostProcess & { seconds: number; word: HostWord }): Promise<void> {
  const { word, ...of } = presence;
  const { slots = null, running = null, waiting = null, lacks = null, offers = null } = word.programs ?? {};
  await queryRows(
    db,
    `with forgotten as (
       delete from hosts where present_until < now() - interval '1 day' and id <> :hostId
     )
     insert into hosts as h
       (id, process_id, present_until, said_at, role, version, draining, key_ids, slots, running, waiting, lacks, offers)
     values (:hostId, :processId, now() + make_interval(secs => :seconds), now(), :role, :version, :draining,
             cast(:keyIds as text[]), cast(:slots as int), cast(:running as int), cast(:waiting as int), cast(:lacks as jsonb),
             cast(:offers as jsonb))
         on conflict (id) do update
            set process_id = excluded.process_id, present_until = excluded.present_until, said_at = excluded.said_at,
                role = excluded.role, version = excluded.version, draining = excluded.draining,
                key_ids = excluded.key_ids, slots = excluded.slots,
                running = excluded.running, waiting = excluded.waiting, lacks = excluded.lacks, offers = excluded.offers`,
    {
      ...of,
      role: word.role,
      version: word.version,
      draining: word.draining,
      keyIds: [...word.keyIds],
      slots,
      running,
      waiting,
      lacks: lacks && JSON.stringify(lacks),
      offers: offers && JSON.stringify(offers),
    },
  );
}

/** Records that a process of a host has ended, unless the host has another by now. */
export async function endPresence(db: Db, { hostId, processId }: HostProcess): Promise<void> {
  await queryRows(db, `delete from hosts where id = :hostId and process_id = :processId`, { hostId, processId });
}

export interface HostRow extends HostWord {
  readonly hostId: string;
  readonly saidAt: Date;
  /** Whether it has said so lately. */
  readonly present: boolean;
}

/** Lists hosts by their names, those that are gone without a word among them. */
export async function listHosts(db: Db): Promise<HostRow[]> {
  return queryRows<HostRow>(
    db,
    `select id as "hostId", role, version, draining, coalesce(key_ids, '{}') as "keyIds",
            said_at as "saidAt", present_until > now() as present,
            case when slots is not null then
              jsonb_build_object('slots', slots, 'running', running, 'waiting', waiting, 'lacks', lacks, 'offers', offers)
            end as programs
       from hosts order by id collate "C"`,
  );
}

/** Executions that nothing keeps from beginning but a slot, by account. */
export interface Waiting {
  readonly accountId: string;
  readonly count: number;
}

/** Counts the executions of each account that wait for a slot of any host. */
export async function listWaiting(db: Db): Promise<Waiting[]> {
  return queryRows<Waiting>(
    db,
    `select account_id as "accountId", count(*)::int as count from executions
      where state = 'queued' and admitted_at is not null
      group by account_id`,
  );
}
