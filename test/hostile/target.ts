import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { insertOperatorToken } from "../../db/accounts/access.ts";
import { queryRows } from "../../db/connect.ts";
import { insertTicks } from "../../db/schedules/ticks.ts";
import { createAccessToken, hashToken } from "../../src/keys/tokens.ts";
import { anEndedExecution, aService, type TestService, type TestServiceOptions } from "../http/service.ts";
import { anAccount, anInput, aSession, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { aScheduledWorkflow } from "../support/schedules.ts";
import { aRequest, FILE_NAME, type Target } from "./requests.ts";
import { type Address, exchange } from "./wire.ts";

/** Small enough that going over them costs little. */
export const LIMITS = { jsonBytesMax: 1_048_576, fileBytesMax: 2_000_000, requestBytesMax: 6_000_000, filesMax: 100 };
export const FILE_BYTES = 1_000;

/** One of each kind, none required: so that an entry is refused for what it is about and nothing else. */
export const INPUTS = [
  anInput("select", "region", { required: false, options: ["EU", "US"] }),
  anInput("integer", "count", { required: false }),
  anInput("number", "share", { required: false }),
  anInput("string", "note", { required: false }),
  anInput("boolean", "flag", { required: false }),
  anInput("date", "day", { required: false }),
  anInput("json", "data", { required: false }),
  anInput("multi_select", "tags", { required: false }),
  anInput("secret", "token", { required: false }),
  anInput("file", "orders", { required: false, bytesMax: 1_000_000 }),
  anInput("file_list", "extras", { required: false, filesMax: 100 }),
];

export interface HostileService extends TestService {
  readonly target: Target;
  readonly workflow: TestWorkflow;
  readonly address: Address;
}

/** A service with everything that the corpus aims at. */
export async function aTarget(options: TestServiceOptions = {}): Promise<HostileService> {
  const service = await aService({ limits: LIMITS, ...options });
  const accountId = await anAccount(service.db, { credits: "1000000" });
  const since = new Date("2026-05-04T08:30:00Z");
  const workflow = await aScheduledWorkflow(service.db, { accountId, since, manifest: { inputs: INPUTS } });
  const missed = {
    outcome: "missed",
    reason: "It was so.",
    source: "repair",
    executionId: null,
    decidedAt: since,
  } as const;
  await insertTicks(service.db, [{ ...missed, workflowId: workflow.workflowId, nominalAt: since }]);
  const other = await aWorkflow(service.db);
  const executionId = await anEndedExecution(service, workflow, {
    outputs: { [FILE_NAME]: { content: "0123456789".repeat(FILE_BYTES / 10) } },
    log: [`${JSON.stringify({ id: 1, time: "2026-01-01T00:00:00Z", stream: "stdout", text: "line" })}\n`],
  });
  const token = createAccessToken();
  await insertOperatorToken(service.db, { tokenHash: hashToken(token), name: "test" });
  const cookie = await aSession(service.db, accountId);
  return {
    ...service,
    workflow,
    address: { port: service.port, cert: service.cert },
    target: { ...workflow, executionId, foreignKey: other.apiKey, cookie, token },
  };
}

/** What the service holds. Files are counted by what they have no business to be: unknown to the record, or half written. */
export interface Holdings {
  readonly executions: number;
  readonly openReservations: number;
  readonly strayFiles: readonly string[];
  readonly lostFiles: readonly string[];
  /** Rows of every other table that only people and programs with a right to it may add to. */
  readonly rows: Readonly<Record<string, number>>;
}

const QUIET_TABLES = [
  "accounts",
  "users",
  "sessions",
  "access_tokens",
  "workflows",
  "commits",
  "api_keys",
  "git_objects",
];

export async function takeStock(service: Pick<TestService, "db" | "dir">): Promise<Holdings> {
  const counts = QUIET_TABLES.map((table) => `'${table}', (select count(*) from ${table})`).join(", ");
  const [row] = await queryRows<{ executions: number; open: number; rows: Record<string, number>; keys: string[] }>(
    service.db,
    `select (select count(*)::int from executions) as executions,
            (select count(*)::int from reservations where state = 'open') as open,
            json_build_object(${counts}) as rows,
            array(select storage_key from execution_files
                  union select log_key from executions where log_key is not null) as keys`,
  );
  const known = new Set(row?.keys);
  const files = await listFiles(service.dir);
  return {
    executions: row?.executions ?? -1,
    openReservations: row?.open ?? -1,
    strayFiles: files.filter((file) => !known.has(file.replace(/^objects\//, ""))),
    lostFiles: [...known].filter((key) => !files.includes(`objects/${key}`)),
    rows: row?.rows ?? {},
  };
}

/** Every file below a folder, half-written ones too, by its path. Looks again when a folder disappears under its eyes. */
async function listFiles(dir: string): Promise<string[]> {
  for (;;) {
    try {
      const entries = await readdir(dir, { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

/** Whether the service still answers a stranger who knocks. */
export async function isAlive(address: Address): Promise<boolean> {
  const { replies } = await exchange(address, [aRequest("GET", "/healthz")]);
  return replies[0]?.status === 200;
}
