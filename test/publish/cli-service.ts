import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Writable } from "node:stream";
import { Router } from "express";
import { insertOperatorToken } from "../../db/access.ts";
import { type CliParts, runCli } from "../../src/cli/main.ts";
import { createOperatorRouter, type OperatorDeps } from "../../src/http/operator/router.ts";
import { createAccessToken, hashToken } from "../../src/keys/tokens.ts";
import { createPreview } from "../../src/publish/preview.ts";
import { createPublisher } from "../../src/publish/publish.ts";
import { fakeEnvironments, SILENT } from "../http/operator/operator-service.ts";
import { aService, type TestService, type TestServiceOptions } from "../http/service.ts";
import { anAccount, TEST_SECRET_BOX } from "../support/builders.ts";
import { A_PYTHON, onlyInterpreter } from "../support/python.ts";
import { someTicks } from "../support/schedules.ts";
import { TEST_THREADS } from "../support/threads.ts";

export interface CliResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** Standard output, which has to be one JSON document. */
  json(): Record<string, unknown>;
}

export interface CliService extends TestService {
  readonly dataDir: string;
  readonly operatorToken: string;
  /** Runs a command in a folder of this service's tests, with its data folder in the environment. */
  cli(...argv: string[]): Promise<CliResult>;
  /** The same as somebody with a token of their own. */
  cliAs(who: { readonly token: string }, ...argv: string[]): Promise<CliResult>;
  /** A new folder with these files. */
  folder(files: Readonly<Record<string, string>>): string;
}

function collect(): Writable & { text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({ write: (chunk: Buffer, _encoding, done) => (chunks.push(chunk), done()) });
  return Object.assign(stream, { text: () => Buffer.concat(chunks).toString() });
}

/** Runs one command with nothing of this process's environment. */
export async function cli(
  argv: readonly string[],
  options: { env?: Record<string, string>; cwd?: string; parts?: CliParts } = {},
): Promise<CliResult> {
  const [stdout, stderr] = [collect(), collect()];
  const code = await runCli(
    argv,
    { env: options.env ?? {}, cwd: options.cwd ?? tmpdir(), stdout, stderr },
    options.parts,
  );
  const [out, err] = [stdout.text(), stderr.text()];
  return { code, out, err, json: () => JSON.parse(out) as Record<string, unknown> };
}

/** The whole HTTP interface with the operator's routes, one account called "main" with 100 credits, and a data folder for the CLI. */
export async function aCliService(
  options: TestServiceOptions & Pick<OperatorDeps, "commitProblems"> = {},
): Promise<CliService> {
  // The routes need the database, which is made with the service.
  const routes = Router();
  const service = await aService({ ...options, routers: [routes] });
  const { db } = service;
  const abilities = { interpreters: onlyInterpreter(A_PYTHON), networkAvailable: false, threads: TEST_THREADS };
  const fake = fakeEnvironments();
  const environments: typeof fake = {
    ...fake,
    async ensure(key, lock, options) {
      for (let line = 1; line <= 20; line += 1) options.report(`line ${line} of ${key}`);
      await fake.ensure(key, lock, options);
    },
  };
  const publish = createPublisher({
    db,
    secretBox: TEST_SECRET_BOX,
    environments,
    log: SILENT,
    ...abilities,
  });
  routes.use(
    createOperatorRouter({
      db,
      secretBox: TEST_SECRET_BOX,
      publish,
      preview: createPreview({ db, ...abilities }),
      environments,
      ticks: someTicks(db),
      tickDays: 365,
      rateLimits: { perMinute: 120, burst: 40, accountPerMinute: 600 },
      keptBytesMax: 0,
      log: SILENT,
      ...(options.commitProblems === undefined ? {} : { commitProblems: options.commitProblems }),
    }),
  );
  await anAccount(db, { name: "main", credits: "100" });
  const operatorToken = createAccessToken();
  await insertOperatorToken(db, { tokenHash: hashToken(operatorToken), name: "operator" });

  const base = mkdtempSync(join(tmpdir(), "cli-"));
  const dataDir = join(base, "data");
  mkdirSync(join(dataDir, "keys"), { recursive: true, mode: 0o700 });
  writeFileSync(join(dataDir, "ca.pem"), service.cert);
  writeFileSync(join(dataDir, "keys", "operator-token"), `${operatorToken}\n`, { mode: 0o600 });
  const ready = { url: service.url, apiUrl: service.apiUrl, caFile: join(dataDir, "ca.pem"), pid: process.pid };
  writeFileSync(join(dataDir, "ready.json"), JSON.stringify(ready), { mode: 0o600 });
  let folders = 0;
  return {
    ...service,
    dataDir,
    operatorToken,
    cli: (...argv) => cli(argv, { env: { TREADLE_DATA_DIR: dataDir }, cwd: base }),
    async cliAs({ token }, ...argv) {
      // The certificate is not one that this process trusts, so the data folder's is used with another token.
      const own = mkdtempSync(join(base, "token-"));
      cpSync(dataDir, own, { recursive: true });
      writeFileSync(join(own, "keys", "operator-token"), token);
      return cli(argv, { env: { TREADLE_DATA_DIR: own }, cwd: base });
    },
    folder(files) {
      const dir = join(base, `folder-${(folders += 1)}`);
      for (const [path, content] of Object.entries(files)) {
        mkdirSync(dirname(join(dir, path)), { recursive: true });
        writeFileSync(join(dir, path), content);
      }
      return dir;
    },
    async close() {
      await service.close();
      rmSync(base, { recursive: true });
    },
  };
}
