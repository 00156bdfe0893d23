import type { ExecutionId, WorkflowId } from "../../domain/ids.ts";
import type { JsonTexts } from "../../domain/manifest/json-text.ts";
import type { Input } from "../../domain/manifest/manifest.ts";
import type { UploadedFile } from "../../domain/manifest/uploads.ts";
import { type Db, queryRows } from "../connect.ts";

/** Larger inputs are not read: a hundred of them are to fit into memory. Bytes, as the database keeps them. */
const INPUTS_BYTES_MAX = 100_000;

/** An accepted call with what it gave. */
export interface RecentCall {
  readonly id: ExecutionId;
  readonly trigger: "api" | "form";
  readonly createdAt: Date;
  /** With the defaults of its commit. */
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly inputTexts: JsonTexts;
  readonly secretInputs: Buffer | null;
  readonly files: readonly (UploadedFile & { readonly name: string })[];
  /** What its commit declares. */
  readonly declared: readonly Input[];
}

/** The last accepted calls of a workflow by its API and its form, the newest first. Without drafts, and without very large ones. */
export async function listRecentCalls(db: Db, workflowId: WorkflowId, most: number): Promise<RecentCall[]> {
  return queryRows<RecentCall>(
    db,
    `select e.id, e.trigger, e.created_at as "createdAt", e.inputs, e.input_texts as "inputTexts", e.secret_inputs as "secretInputs",
            c.manifest -> 'inputs' as declared,
            coalesce((select jsonb_agg(jsonb_build_object('name', f.name, 'fileName', f.file_name, 'bytes', f.bytes,
                                                          'contentType', f.content_type) order by f.position)
                        from execution_files f where f.execution_id = e.id and f.direction = 'input'), '[]') as files
       from (select * from executions x where x.workflow_id = :workflowId and x.trigger in ('api', 'form')
                and x.failure is distinct from 'insufficient_credits'
              order by x.created_at desc limit :most) e
       join commits c on c.workflow_id = e.workflow_id and c.id = e.commit_id and not c.draft
      where pg_column_size(e.inputs) + pg_column_size(e.input_texts) <= :bytesMax
      order by e.created_at desc`,
    { workflowId, most, bytesMax: INPUTS_BYTES_MAX },
  );
}
