import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import express from "express";
import pino from "pino";
import { insertOperatorToken } from "../../../db/access.ts";
import type { AccountId } from "../../../domain/ids.ts";
import { answerErrors } from "../../../src/http/answers.ts";
import { createOperatorRouter } from "../../../src/http/operator/router.ts";
import { createHttpsServer } from "../../../src/http/server.ts";
import { createAccessToken, hashToken } from "../../../src/keys/tokens.ts";
import { createLog } from "../../../src/log.ts";
import { createPreview } from "../../../src/publish/preview.ts";
import { createPublisher, type PublisherDeps } from "../../../src/publish/publish.ts";
import { aMember, anAccount, TEST_SECRET_BOX } from "../../support/builders.ts";
import { type Answer, aCertificate, type Call, createCaller } from "../../support/https.ts";
import { aDatabase, type TestDatabase } from "../../support/postgres.ts";
import { A_PYTHON, onlyInterpreter } from "../../support/python.ts";
import { someTicks } from "../../support/schedules.ts";
import { TEST_THREADS } from "../../support/threads.ts";

export const SILENT = createLog({ level: "silent", terminal: false });

/** Environments that exist at once: what they were asked for is in `built`. */
export function fakeEnvironments(): PublisherDeps["environments"] & {
  built: string[];
  readLog(key: string): Promise<string | undefined>;
} {
  const built: string[] = [];
  return {
    built,
    readLog: async (key) => (built.includes(key) ? `built ${key}` : undefined),
    lock: async (requirements) => {
      const text = requirements.list.map((one) => one.text).join("\n");
      return { ok: true, lock: `locked ${text}`, key: `key of ${text}` };
    },
    ensure: async (key) => void built.push(key),
    measure: async () => 0,
  };
}

export type Caller = (
  path: string,
  call?: Omit<Call, "body"> & { json?: unknown; body?: Call["body"] },
) => Promise<Answer>;

export interface OperatorService extends TestDatabase {
  readonly url: string;
  /** A data folder as the service leaves it for the command line, with the operator's token. */
  readonly dataDir: string;
  readonly accountId: AccountId;
  /** What the routes have logged. */
  readonly logged: readonly Record<string, unknown>[];
  /** The account's name is "main". */
  readonly operator: Caller;
  /** Calls with the token given, or none. */
  as(token: string | undefined): Caller;
  /** A new token of an owner of an account, or of the operator. */
  tokenOf(accountId: AccountId | null): Promise<string>;
  close(): Promise<void>;
}

/** The operator's routes over HTTPS on a database of their own, with one account called "main". */
export async function anOperatorService(
  options: {
    environments?: PublisherDeps["environments"];
    networkAvailable?: boolean;
    /** What building said, by the environment's key. */
    logs?: Record<string, string>;
  } = {},
): Promise<OperatorService> {
  const database = await aDatabase();
  const { db } = database;
  const abilities = {
    interpreters: onlyInterpreter(A_PYTHON),
    networkAvailable: options.networkAvailable ?? false,
    threads: TEST_THREADS,
  };
  const publish = createPublisher({
    db,
    secretBox: TEST_SECRET_BOX,
    environments: options.environments ?? fakeEnvironments(),
    log: SILENT,
    ...abilities,
  });
  const logged: Record<string, unknown>[] = [];
  const router = createOperatorRouter({
    db,
    secretBox: TEST_SECRET_BOX,
    publish,
    preview: createPreview({ db, ...abilities }),
    environments: { readLog: async (key) => options.logs?.[key] },
    ticks: someTicks(db),
    tickDays: 365,
    rateLimits: { perMinute: 120, burst: 40, accountPerMinute: 600 },
    keptBytesMax: 0,
    log: pino({ base: null }, { write: (line: string) => void logged.push(JSON.parse(line)) }),
  });
  const app = express().use("/api", router).use(answerErrors(SILENT));
  const tls = await aCertificate();
  const server = await createHttpsServer({ app, tls, host: "127.0.0.1", port: 0, trustProxy: false, log: SILENT });
  const url = `https://127.0.0.1:${server.port}`;
  const call = createCaller({ url, cert: tls.cert });

  async function tokenOf(accountId: AccountId | null): Promise<string> {
    if (accountId !== null) return (await aMember(db, accountId)).token;
    const token = createAccessToken();
    await insertOperatorToken(db, { tokenHash: hashToken(token), name: "test" });
    return token;
  }
  const as =
    (token: string | undefined): Caller =>
    (path, { json, headers, ...rest } = {}) =>
      call(path, {
        ...rest,
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(json === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
      });
  const accountId = await anAccount(db, { name: "main", credits: "100" });
  const operatorToken = await tokenOf(null);
  const dataDir = writeDataDir({ url, cert: tls.cert, token: operatorToken });
  return {
    ...database,
    url,
    dataDir,
    accountId,
    logged,
    operator: as(operatorToken),
    as,
    tokenOf,
    async close() {
      await server.close(0);
      await database.drop();
      rmSync(dataDir, { recursive: true });
    },
  };
}

function writeDataDir({ url, cert, token }: { url: string; cert: string; token: string }): string {
  const dataDir = mkdtempSync(join(tmpdir(), "data-dir-"));
  mkdirSync(join(dataDir, "keys"), { mode: 0o700 });
  writeFileSync(join(dataDir, "ca.pem"), cert);
  writeFileSync(join(dataDir, "keys", "operator-token"), `${token}\n`, { mode: 0o600 });
  const ready = { url, apiUrl: `${url}/api`, caFile: join(dataDir, "ca.pem"), pid: process.pid };
  writeFileSync(join(dataDir, "ready.json"), JSON.stringify(ready), { mode: 0o600 });
  return dataDir;
}
