import type { Connections } from "../../domain/connections.ts";
import type { ExecutionEnd, StoredFile } from "../../domain/execution.ts";
import type { AccountId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import type { JsonTexts } from "../../domain/manifest/json-text.ts";
import { type Db, queryRows } from "../connect.ts";
import type { ValueKind } from "../secrets/stored-values.ts";

export interface AttemptRecord {
  readonly attempt: number;
  readonly startedAt: string;
  readonly endedAt: string | null;
  /** Null with `endedAt` set: the worker was lost. */
  readonly status: ExecutionEnd | null;
  readonly message: string;
  readonly secondsUsed: number;
  /** What its program used at most; null where that was not seen. */
  readonly peakMemoryBytes: number | null;
  readonly processorSeconds: number | null;
  /** What it connected to; null without a network, and where that was not seen. */
  readonly connections: Connections | null;
  /** The versions of secrets and variables that it got. */
  readonly values: readonly {
    readonly kind: ValueKind;
    readonly name: string;
    readonly version: number;
    /** It was that of the workflow itself, not of its account. */
    readonly workflow: boolean;
  }[];
}

/** What the record has of an execution beside what every caller sees. */
export interface ExecutionDetails {
  readonly workflowName: string;
  readonly draft: boolean;
  /** Which of the workflow's schedules started it; null: `triggers.schedule`, or none. */
  readonly scheduleName: string | null;
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Those of kind `json` as they were written; fewer, or none, for executions from before that was kept. */
  readonly inputTexts: JsonTexts;
  readonly secretInputs: Buffer | null;
  readonly inputFiles: readonly (Pick<StoredFile, "name" | "fileName" | "bytes" | "contentType"> & {
    readonly position: number;
  })[];
  readonly outputFiles: readonly Pick<StoredFile, "name" | "fileName" | "bytes" | "contentType" | "sha256">[];
  readonly attempts: readonly AttemptRecord[];
  /** Destinations that no run of the workflow had connected to before, as `destinationOf` writes them. */
  readonly newDestinations: readonly string[];
  /** Null for an execution that runs, has ended, is being cancelled, or has not failed yet. */
  readonly nextAttemptAt: Date | null;
  readonly timeoutSeconds: number;
  readonly cpu: number;
  /** What the commit may hold at most. */
  readonly memoryBytes: number;
  readonly attemptsMax: number;
  readonly logBytes: number;
  readonly uploadedAt: Date | null;
  readonly cancelRequestedAt: Date | null;
}

/** Undefined for an execution that is unknown, or another account's. */
export async function findExecutionDetails(
  db: Db,
  { accountId, executionId }: { accountId: AccountId; executionId: ExecutionId },
): Promise<ExecutionDetails | undefined> {
  const [row] = await queryRows<
    Omit<ExecutionDetails, "logBytes" | "memoryBytes"> & { logBytes: bigint; memoryBytes: bigint }
  >(
    db,
    `select w.name as "workflowName", c.draft, e.schedule_name as "scheduleName", e.inputs, e.input_texts as "inputTexts", e.secret_inputs as "secretInputs",
            e.timeout_seconds as "timeoutSeconds", e.cpu, cast(c.manifest #>> '{limits,memoryBytes}' as bigint) as "memoryBytes", e.attempts_max as "attemptsMax", e.log_bytes as "logBytes",
            e.uploaded_at as "uploadedAt", e.cancel_requested_at as "cancelRequestedAt",
            coalesce((select jsonb_agg(jsonb_build_object('name', f.name, 'position', f.position, 'fileName', f.file_name,
                       'bytes', f.bytes, 'contentType', f.content_type) order by f.name, f.position)
                        from execution_files f where f.execution_id = e.id and f.direction = 'input'), '[]') as "inputFiles",
            coalesce((select jsonb_agg(jsonb_build_object('name', f.name, 'fileName', f.file_name, 'bytes', f.bytes,
                       'contentType', f.content_type, 'sha256', f.sha256) order by f.name)
                        from execution_files f where f.execution_id = e.id and f.direction = 'output'), '[]') as "outputFiles",
            coalesce((select jsonb_agg(jsonb_build_object('attempt', a.attempt, 'startedAt', a.started_at, 'endedAt', a.ended_at,
                       'status', a.status, 'message', a.message, 'secondsUsed', a.seconds_used, 'peakMemoryBytes', a.peak_memory_bytes, 'processorSeconds', a.used_processor_seconds,
                       'connections', a.connections,
                       'values', coalesce(a.values_used, '[]')) order by a.attempt)
                        from attempts a where a.execution_id = e.id), '[]') as attempts,
            array(select k.destination from known_destinations k
                   where k.workflow_id = e.workflow_id and k.first_execution_id = e.id) as "newDestinations",
            case when e.finished_at is null and e.cancel_requested_at is null then
              (select l.retry_at from attempts l where l.execution_id = e.id order by l.attempt desc limit 1)
            end as "nextAttemptAt"
       from executions e
       join workflows w on w.id = e.workflow_id
       join commits c on c.workflow_id = e.workflow_id and c.id = e.commit_id
      where e.id = :executionId and e.account_id = :accountId`,
    { accountId, executionId },
  );
  return row && Object.assign(row, { logBytes: Number(row.logBytes), memoryBytes: Number(row.memoryBytes) });
}

/** Those of the given executions that are the account's. */
export async function listOwnExecutions(
  db: Db,
  { accountId, ids }: { accountId: AccountId; ids: readonly ExecutionId[] },
): Promise<ExecutionId[]> {
  const rows = await queryRows<{ id: ExecutionId }>(
    db,
    `select id from executions where account_id = :accountId and id = any(cast(:ids as text[]))`,
    { accountId, ids: [...ids] },
  );
  return rows.map(({ id }) => id);
}

/** Where an input file is, and whether it is still kept. */
export interface KeptFile extends StoredFile {
  readonly position: number;
  readonly removedAt: Date | null;
}

/** One of the files that an execution of this account was given, also when it is not kept any more. Undefined: there is none such. */
export async function findInputFile(
  db: Db,
  of: { accountId: AccountId; executionId: ExecutionId; input: string; position: number },
): Promise<KeptFile | undefined> {
  const [row] = await queryRows<Omit<KeptFile, "bytes"> & { bytes: bigint }>(
    db,
    `select f.name, f.position, f.file_name as "fileName", f.storage_key as "storageKey", f.bytes, f.sha256,
            f.content_type as "contentType", e.files_removed_at as "removedAt"
       from executions e join execution_files f on f.execution_id = e.id
      where e.id = :executionId and e.account_id = :accountId
        and f.direction = 'input' and f.name = :input and f.position = :position`,
    of,
  );
  return row && { ...row, bytes: Number(row.bytes) };
}

/** The input files of an execution of this account and workflow. Undefined: there is no such execution. */
export async function findInputFiles(
  db: Db,
  from: { accountId: AccountId; workflowId: WorkflowId; executionId: ExecutionId },
): Promise<readonly KeptFile[] | undefined> {
  const rows = await queryRows<Omit<KeptFile, "bytes" | "name"> & { name: string | null; bytes: bigint }>(
    db,
    `select f.name, f.position, f.file_name as "fileName", f.storage_key as "storageKey", f.bytes, f.sha256,
            f.content_type as "contentType", e.files_removed_at as "removedAt"
       from executions e left join execution_files f on f.execution_id = e.id and f.direction = 'input'
      where e.id = :executionId and e.account_id = :accountId and e.workflow_id = :workflowId
      order by f.name, f.position`,
    from,
  );
  if (rows.length === 0) return undefined;
  return rows.flatMap(({ name, ...file }) => (name === null ? [] : [{ ...file, name, bytes: Number(file.bytes) }]));
}
