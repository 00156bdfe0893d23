import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect } from "@jest/globals";
import type { Express } from "express";
import pino from "pino";
import { createListener, type Db, queryRows } from "../../db/connect.ts";
import { findExecution, findStartable } from "../../db/executions/executions.ts";
import { insertOutputs } from "../../db/executions/outputs.ts";
import { reserve, settle } from "../../db/ledger/credits.ts";
import { giveUpNotice, noteAttempt } from "../../db/notices/notices.ts";
import { microCredits } from "../../domain/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { createGrantRules } from "../../sandbox/network/grant-rules.ts";
import type { Executions } from "../../src/executions/executions.ts";
import { startListener } from "../../src/executions/listener.ts";
import { createApp } from "../../src/http/app.ts";
import { type AppDeps, httpLimitsOf } from "../../src/http/deps.ts";
import { createEditorEvents } from "../../src/http/editor-events/editor-events.ts";
import { createRefusedCalls, type RefusedCalls } from "../../src/http/refused-calls.ts";
import { createHttpsServer } from "../../src/http/server/server.ts";
import { createKeyUses, type KeyUses } from "../../src/keys/key-uses.ts";
import { createOpenAccess } from "../../src/keys/open-access.ts";
import { createReceiverAddresses } from "../../src/notices/addresses.ts";
import { findVersion } from "../../src/version.ts";
import { createDiskStorage } from "../../storage/disk.ts";
import type { Storage } from "../../storage/storage.ts";
import { anExecution, TEST_SECRET_BOX, type TestWorkflow } from "../support/builders.ts";
import { type Answer, aCertificate, aForm, type Call, createCaller, type Part } from "../support/https.ts";
import { aDatabase } from "../support/postgres.ts";
import { DEFAULT_SETTINGS, serverDefaults } from "../support/server-defaults.ts";
import { TEST_THREADS } from "../support/threads.ts";
import { someEditorParts } from "./editor/parts.ts";

export type Start = Parameters<Executions["start"]>[0];

export interface TestService {
  readonly app: Express;
  readonly keyUses: KeyUses;
  readonly refusedCalls: RefusedCalls;
  readonly db: Db;
  readonly storage: Storage;
  /** The folder of the storage. */
  readonly dir: string;
  readonly url: string;
  readonly apiUrl: string;
  readonly port: number;
  readonly cert: string;
  /** What was started, in order. */
  readonly started: Start[];
  readonly cancelled: { executionId: ExecutionId; by: string }[];
  /** Everything the service logged. */
  readonly logged: Record<string, unknown>[];
  call(path: string, call?: Call): Promise<Answer>;
  close(): Promise<void>;
}

export interface TestServiceOptions extends Partial<Omit<AppDeps, "db" | "storage" | "log" | "editor">> {
  /** What the editor's routes publish with; see `someEditorParts`. */
  readonly editorParts?: (db: Db) => AppDeps["editor"];
  /** What an execution does once it is started; succeeds unless given. */
  readonly run?: (db: Db, start: Start) => Promise<void>;
  /** The record of another service, which two processes share. That one's to drop. */
  readonly db?: Db;
  /** Hears what the database announces, and tells open pages. */
  readonly listens?: boolean;
  /** Puts a wrapper around the real storage. */
  readonly wrapStorage?: (storage: Storage) => Storage;
}

/** What `succeed` charges, in credits. */
export const SUCCESS_COST = { compute: 0.05, total: 0.051 };

export async function succeed(db: Db, { executionId }: Pick<Start, "executionId">): Promise<void> {
  await reserve(db, executionId);
  await settle(db, {
    executionId,
    status: "success",
    secondsUsed: 1.234,
    compute: microCredits(50_000n),
    total: microCredits(51_000n),
  });
}

/** Forgets what was started, and every row of an execution. For the end of each test of a file. */
export async function forgetExecutions({ db, started }: TestService): Promise<void> {
  started.length = 0;
  await queryRows(
    db,
    "truncate call_receivers, executions, workflow_starts, attempts, execution_files, reservations, rate_buckets",
  );
}

/** Starts the service of a whole test file, at its top. Closes it after the last test. */
export async function aFileService(options: TestServiceOptions = {}): Promise<TestService> {
  const service = await aService(options);
  afterAll(() => service.close());
  return service;
}

/** The app behind real HTTPS, with a database and a storage of its own. Executions are a fake that writes the record as the real ones do. */
export async function aService(options: TestServiceOptions = {}): Promise<TestService> {
  const [database, certificate, dir] = await Promise.all([
    options.db === undefined ? aDatabase() : { db: options.db, drop: async () => undefined, address: undefined },
    aCertificate(),
    mkdtemp(join(tmpdir(), "treadle-http-")),
  ]);
  const { db } = database;
  const disk = await createDiskStorage({ dir });
  const storage = options.wrapStorage?.(disk) ?? disk;
  const started: Start[] = [];
  const cancelled: TestService["cancelled"] = [];
  const logged: Record<string, unknown>[] = [];
  const log = pino(
    { level: "debug", serializers: { error: pino.stdSerializers.errWithCause } },
    { write: (line: string) => void logged.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const executions: Executions = {
    beginsAtOnce: () => false,
    lead: () => undefined,
    chooseHost: () => undefined,
    begin: () => undefined,
    async start(start) {
      started.push(start);
      await (options.run ?? succeed)(db, start);
    },
    async startAgain(executionId) {
      const execution = await findStartable(db, executionId);
      if (execution === undefined) return;
      started.push({ ...execution, executionId });
      await (options.run ?? succeed)(db, { ...execution, executionId });
    },
    waitForEnd: (executionId, timeoutMs, gone) => waitForEnd(db, executionId, timeoutMs, gone),
    cancel: async (executionId, by) => void cancelled.push({ executionId, by }),
    placeOf: () => undefined,
    capacity: () => ({ accepting: true, retryAfterSeconds: 7 }),
    ...options.executions,
  };
  const editorEvents = createEditorEvents({ db, log });
  const openAccess = createOpenAccess({ db, log });
  const keyUses = createKeyUses({ db, log });
  const refusedCalls = createRefusedCalls({ db, log });
  const { address } = database;
  const listener =
    options.listens === true && address !== undefined
      ? startListener({
          db,
          openSession: () => createListener(address, "test listener"),
          subscriptions: [...editorEvents.subscriptions, ...openAccess.subscriptions],
          onError: (error) => log.warn({ error }, "Listening was interrupted."),
        })
      : undefined;
  let url = "";
  const app = createApp({
    db,
    storage,
    secretBox: TEST_SECRET_BOX,
    grantRules: createGrantRules({ protectedHosts: ["198.51.100.7"], ungrantableHosts: ["198.51.100.8"] }),
    prices: { perCpuSecond: microCredits(10_000n), perExecution: microCredits(1_000n) },
    apiUrl: () => `${url}/api`,
    limits: httpLimitsOf(DEFAULT_SETTINGS),
    waitMaxSeconds: 20,
    waitingCallsMax: 5_000,
    // Tests of other things are not to be counted.
    rateLimits: { perMinute: 0, burst: 1, accountPerMinute: 0 },
    keptBytesMax: 0,
    processId: "proc_test",
    version: findVersion(),
    editor: (options.editorParts ?? someEditorParts)(db),
    threads: TEST_THREADS,
    notices: {
      addresses: createReceiverAddresses({ allowedHosts: ["127.0.0.1"], protectedHosts: [], ungrantableHosts: [] }),
      callHosts: ["127.0.0.1", "hooks.example.com", "10.99.0.9"],
      sendsMail: true,
      async send(id) {
        await noteAttempt(db, { id, state: "delivered", answer: "204" });
        return "over";
      },
      giveUp: (id) => giveUpNotice(db, id),
    },
    contact: undefined,
    trustProxy: false,
    readiness: async () => ({ ready: true, checks: {} }),
    editorEvents,
    openAccess,
    keyUses,
    refusedCalls,
    checksAnswers: true,
    log,
    ...options,
    executions,
  });
  const server = await createHttpsServer({
    ...serverDefaults({ trustProxy: options.trustProxy }),
    app,
    tls: certificate,
    log,
  });
  url = `https://localhost:${server.port}`;
  return {
    app,
    keyUses,
    refusedCalls,
    db,
    storage,
    dir,
    url,
    apiUrl: `${url}/api`,
    port: server.port,
    cert: certificate.cert,
    started,
    cancelled,
    logged,
    call: createCaller({ url, cert: certificate.cert }),
    async close() {
      editorEvents.close();
      await openAccess.close();
      await keyUses.close();
      await refusedCalls.close();
      await server.close(0);
      await listener?.close();
      await database.drop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function waitForEnd(db: Db, executionId: ExecutionId, timeoutMs: number, gone?: AbortSignal): Promise<boolean> {
  for (const deadline = Date.now() + timeoutMs; Date.now() < deadline && gone?.aborted !== true; await sleep(5)) {
    if ((await findExecution(db, executionId))?.finishedAt != null) return true;
  }
  return false;
}

interface LeftRows {
  readonly executions: number;
  readonly reservations: number;
  /** Requests whose files would be looked for later. */
  readonly uploads: number;
}

/** What must be nothing after a refusal: executions, reservations and notes of uploads, files in storage. */
export async function findLeftovers(service: TestService): Promise<LeftRows & { files: string[] }> {
  const [row] = await queryRows<LeftRows>(
    service.db,
    `select (select count(*)::int from executions) as executions, (select count(*)::int from reservations) as reservations,
            (select count(*)::int from uploads) as uploads`,
  );
  return { ...(row as LeftRows), files: await listFiles(service.dir) };
}

export const NOTHING = { executions: 0, reservations: 0, uploads: 0, files: [] };

/** Every file below a folder, half-written ones too. Looks again when a folder disappears under its eyes. */
async function listFiles(dir: string): Promise<string[]> {
  for (;;) {
    try {
      const entries = await readdir(dir, { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

/** Calls a workflow with its own key; objects are sent as JSON. */
export function execute(
  service: TestService,
  workflow: Pick<TestWorkflow, "workflowId" | "apiKey">,
  body: unknown = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  return service.call(`/api/workflows/${workflow.workflowId}/execute`, {
    method: "POST",
    headers: { "x-api-key": workflow.apiKey, "content-type": "application/json", ...headers },
    body: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  });
}

/** A refusal: status, exact body, JSON, and that nothing was started or kept. */
export async function expectRefused(
  service: TestService,
  answer: Answer,
  status: number,
  body: Record<string, unknown>,
): Promise<void> {
  expect([answer.status, answer.json()]).toEqual([status, body]);
  expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
  expect(service.started).toEqual([]);
  expect(await findLeftovers(service)).toEqual(NOTHING);
}

/** An ended execution with these outputs and this log in storage. */
export async function anEndedExecution(
  service: TestService,
  workflow: TestWorkflow,
  given: { outputs?: Record<string, { content: string; contentType?: string }>; log?: string[] } = {},
): Promise<ExecutionId> {
  const executionId = await anExecution(service.db, { workflow });
  const outputs = Object.entries(given.outputs ?? {});
  const files = [];
  for (const [index, [fileName, { content, contentType = "text/plain; charset=utf-8" }]] of outputs.entries()) {
    const storageKey = `executions/${executionId}/outputs/${index}`;
    const stored = await service.storage.put(storageKey, Readable.from([Buffer.from(content)]));
    files.push({ name: `output ${index}`, fileName, storageKey, contentType, ...stored });
  }
  const logKey = given.log === undefined ? null : `executions/${executionId}/log.ndjson`;
  if (logKey !== null) await service.storage.put(logKey, Readable.from([Buffer.from((given.log ?? []).join(""))]));
  await insertOutputs(service.db, { executionId, files, logKey, logBytes: 0 });
  await succeed(service.db, { executionId });
  return executionId;
}

/** Calls a workflow with a form, or with the bytes of one. */
export function sendForm(
  service: TestService,
  workflow: TestWorkflow,
  form: readonly Part[] | { headers: Record<string, string>; body: Buffer | Readable },
  more: Record<string, string> = {},
): Promise<Answer> {
  const { headers, body } = "body" in form ? form : aForm(form);
  return service.call(`/api/workflows/${workflow.workflowId}/execute`, {
    method: "POST",
    headers: { "x-api-key": workflow.apiKey, ...headers, ...more },
    body,
  });
}
