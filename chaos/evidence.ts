import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { openDatabase } from "./database.ts";
import { type NoticeRow, readNotices } from "./notices.ts";
import { list } from "./processes.ts";
import { type Line, readRecord } from "./record.ts";
import type { Timetable } from "./timetables.ts";

const UNFINISHED = ["storage/incoming", "spool", "commits/.writing", "environments/.building"];
/** The log of five attempts has 20 kB: the checker has to read it whole. */
const TEXT_BYTES_MAX = 256 * 1024;

/** Amounts are whole micro-credits, times milliseconds since 1970. */
export interface ExecutionRow {
  readonly id: string;
  readonly workflow_id: string;
  readonly trigger: string;
  readonly schedule_name: string | null;
  readonly state: string;
  readonly failure: string | null;
  readonly message: string;
  readonly token: string | null;
  readonly timeout_seconds: number;
  readonly cpu: number;
  readonly attempts_max: number;
  readonly charge_max: number;
  readonly charge_compute: number;
  readonly charge_total: number;
  readonly seconds_used: number;
  readonly log_key: string | null;
  readonly cancel_requested_at: number | null;
  readonly created_at: number;
  readonly finished_at: number | null;
}

export interface AttemptRow {
  readonly execution_id: string;
  readonly attempt: number;
  readonly host_id: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly status: string | null;
  /** Whether its program was reached. */
  readonly begun: boolean;
  /** Whether its process was asked to stop: then no worker counts as lost. */
  readonly handed_over: boolean;
  readonly message: string;
  readonly seconds_used: number;
  /** 0 where a cgroup kept the program within its share. */
  readonly processor_seconds: number;
}

export interface ReservationRow {
  readonly execution_id: string;
  readonly amount: number;
  readonly state: string;
}

export interface LedgerRow {
  readonly account_id: string;
  readonly kind: string;
  readonly amount: number;
  readonly execution_id: string | null;
}

export interface AccountRow {
  readonly id: string;
  readonly balance: number;
  readonly reserved: number;
}

export interface FileRow {
  readonly execution_id: string;
  readonly direction: "input" | "output";
  readonly name: string;
  readonly position: number;
  readonly file_name: string;
  readonly storage_key: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** A declaration of a schedule: for ticks after `since`, up to and with `until`. */
export interface ScheduleRow {
  readonly workflow_id: string;
  readonly enabled: boolean;
  readonly cron: string;
  readonly timezone: string;
  readonly overlap: "skip" | "queue" | "allow" | "cancel_previous";
  readonly catchup: "none" | "latest" | "all";
  readonly max_lateness_seconds: number;
  readonly jitter_seconds: number;
  readonly since: number;
  readonly until: number | null;
}

export interface TickRow {
  readonly workflow_id: string;
  readonly nominal_at: number;
  readonly outcome: string;
  readonly reason: string;
  readonly source: string;
  readonly execution_id: string | null;
  readonly decided_at: number;
}

export interface StoredObject {
  readonly bytes: number;
  readonly sha256: string;
  /** The content, where it is short. */
  readonly text: string | undefined;
}

/** All the checker knows: what clients wrote down, what PostgreSQL says, what Temporal is to fire, what is in storage. */
export interface Evidence {
  readonly lines: readonly Line[];
  /** Workflows of the hostile tenant. */
  readonly hostile: readonly string[];
  readonly executions: readonly ExecutionRow[];
  readonly attempts: readonly AttemptRow[];
  readonly reservations: readonly ReservationRow[];
  readonly ledger: readonly LedgerRow[];
  readonly accounts: readonly AccountRow[];
  readonly files: readonly FileRow[];
  readonly schedules: readonly ScheduleRow[];
  readonly ticks: readonly TickRow[];
  readonly timetables: readonly Timetable[];
  /** Names of places that each workflow tells of failures, recoveries and missed ticks. */
  readonly places: readonly string[];
  readonly notices: readonly NoticeRow[];
  readonly storage: Readonly<Record<string, StoredObject>>;
  /** Names in folders of the data dir that must be empty when nothing is under way. */
  readonly unfinished: readonly string[];
}

/** Where things are. */
export interface Places {
  /** The folder that PostgreSQL's is in. */
  readonly database: string;
  /** The folder of all files of storage, with those that are being written, where it is a folder. */
  readonly storage: string | undefined;
  /** Reads what has a key in storage. */
  readObjects(): Promise<Record<string, StoredObject>>;
  readonly dataDirs: readonly string[];
}

/** The places of a service that has everything in one folder. */
export function placesIn(dataDir: string): Places {
  const storage = join(dataDir, "storage");
  return {
    database: dataDir,
    storage,
    readObjects: async () => readStorage(join(storage, "objects")),
    dataDirs: [dataDir],
  };
}

const ms = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8 as ${column}`;
const SCHEDULES = `
  select workflow_id, enabled, cron, timezone, overlap, catchup, max_lateness_seconds, jitter_seconds, ${ms("since")}, ${ms("until")}
    from schedules order by workflow_id, schedules.since, id`;
const TICKS = `
  select workflow_id, ${ms("nominal_at")}, outcome, reason, source, execution_id, ${ms("decided_at")}
    from ticks order by workflow_id, ticks.nominal_at`;

/** What there is to do: executions that have not ended, and what schedules wait for. */
export interface UnderWay {
  readonly open: number;
  readonly schedules: readonly ScheduleRow[];
  readonly ticks: readonly TickRow[];
  /** Schedules and executions that Temporal has yet to learn of. */
  readonly untold: number;
  /** Requests that may have left files in storage, and no execution. */
  readonly uploads: number;
}

type Counts = Pick<UnderWay, "open" | "untold" | "uploads">;

export async function readUnderWay(dataDir: string): Promise<UnderWay> {
  const client = await openDatabase(dataDir);
  try {
    const { rows } = await client.query<Counts>(
      `select (select count(*) from executions where finished_at is null)::int as open,
              ((select count(*) from schedule_changes) + (select count(*) from workflow_starts))::int as untold,
              (select count(*) from uploads)::int as uploads`,
    );
    const schedules = (await client.query<ScheduleRow>(SCHEDULES)).rows;
    const ticks = (await client.query<TickRow>(TICKS)).rows;
    return { ...(rows[0] as Counts), schedules, ticks };
  } finally {
    await client.end();
  }
}

/** Looks at everything. `hostile` are the hostile tenant's workflows, timetables what Temporal has to fire. */
export async function gatherEvidence(
  places: Places,
  recordPath: string,
  {
    hostile,
    readTimetables,
  }: { hostile: readonly string[]; readTimetables: (declared: readonly string[]) => Promise<Timetable[]> },
): Promise<Evidence> {
  const client = await openDatabase(places.database);
  const query = async <Row>(sql: string): Promise<Row[]> => (await client.query(sql)).rows as Row[];
  try {
    // First: what is moved to storage meanwhile is seen twice, and never missed.
    const small = toStored(await query<SmallObjectRow>("select storage_key, content from small_objects"));
    const schedules = await query<ScheduleRow>(SCHEDULES);
    const declared = schedules.flatMap((row) => (row.until === null ? [row.workflow_id] : []));
    return {
      lines: readRecord(recordPath),
      hostile,
      schedules,
      ticks: await query<TickRow>(TICKS),
      timetables: await readTimetables(declared),
      executions: await query<ExecutionRow>(
        `select id, workflow_id, trigger, schedule_name, state, failure, message, inputs ->> 'token' as token, timeout_seconds::float8, cpu::float8,
                attempts_max, charge_max::float8, charge_compute::float8, charge_total::float8, seconds_used::float8,
                log_key, ${ms("cancel_requested_at")}, ${ms("created_at")}, ${ms("finished_at")}
           from executions order by created_at, id`,
      ),
      attempts: await query<AttemptRow>(
        `select execution_id, attempt, host_id, ${ms("started_at")}, ${ms("ended_at")}, status, begun, handed_over, message, seconds_used::float8,
                processor_seconds::float8
           from attempts order by execution_id, attempt`,
      ),
      reservations: await query<ReservationRow>("select execution_id, amount::float8, state from reservations"),
      ledger: await query<LedgerRow>(
        "select account_id, kind, amount::float8, execution_id from ledger_entries order by id",
      ),
      accounts: await query<AccountRow>("select id, balance::float8, reserved::float8 from accounts"),
      files: await query<FileRow>(
        `select execution_id, direction, name, position, file_name, storage_key, bytes::float8, sha256
           from execution_files order by execution_id, direction, name, position`,
      ),
      places: (await query<{ name: string }>("select name from notice_places")).map(({ name }) => name),
      notices: await readNotices(client),
      storage: Object.assign(small, await places.readObjects()),
      unfinished: [
        ...places.dataDirs.flatMap((dataDir) =>
          UNFINISHED.flatMap((folder) => list(join(dataDir, folder)).map((name) => `${folder}/${name}`)),
        ),
        ...(await query<{ id: string }>("select execution_id as id from workflow_starts")).map(
          ({ id }) => `the start of ${id} in Temporal`,
        ),
      ],
    };
  } finally {
    await client.end();
  }
}

/** Every file in storage by its key, read and hashed. */
export function readStorage(objects: string): Record<string, StoredObject> {
  const found: Record<string, StoredObject> = {};
  for (const entry of readdirSync(objects, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    found[relative(objects, path)] = describeObject(readFileSync(path));
  }
  return found;
}

/** What the checker looks at. */
export function describeObject(content: Buffer): StoredObject {
  return {
    bytes: content.length,
    sha256: createHash("sha256").update(content).digest("hex"),
    text: content.length <= TEXT_BYTES_MAX ? content.toString("utf8") : undefined,
  };
}

interface SmallObjectRow {
  readonly storage_key: string;
  readonly content: Buffer;
}

/** What the database keeps on its way to storage, by its key there. */
function toStored(rows: readonly SmallObjectRow[]): Record<string, StoredObject> {
  return Object.fromEntries(rows.map(({ storage_key, content }) => [storage_key, describeObject(content)]));
}
