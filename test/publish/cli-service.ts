import type { EventEmitter } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { insertOperatorToken } from "../../db/accounts/access.ts";
import { type CliParts, runCli } from "../../src/cli/main.ts";
import type { EditorParts } from "../../src/http/editor-parts.ts";
import { createAccessToken, hashToken } from "../../src/keys/tokens.ts";
import { fakeEnvironments, someEditorParts } from "../http/editor/parts.ts";
import { aService, type TestService, type TestServiceOptions } from "../http/service.ts";
import { anAccount } from "../support/builders.ts";

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
  /** The same on a terminal, whose Ctrl-C is `interrupt`. */
  cliOnTerminal(interrupt: EventEmitter, ...argv: string[]): Promise<CliResult>;
  /** The same as somebody with a token of their own, on a terminal where they have an `interrupt`. */
  cliAs(who: { readonly token: string; readonly interrupt?: EventEmitter }, ...argv: string[]): Promise<CliResult>;
  /** A new folder with these files. */
  folder(files: Readonly<Record<string, string>>): string;
}

function collect(isTTY: boolean): Writable & { text: () => string; isTTY: boolean } {
  const chunks: Buffer[] = [];
  const stream = new Writable({ write: (chunk: Buffer, _encoding, done) => (chunks.push(chunk), done()) });
  return Object.assign(stream, { text: () => Buffer.concat(chunks).toString(), isTTY });
}

/** Runs one command with nothing of this process's environment. */
export async function cli(
  argv: readonly string[],
  options: {
    env?: Record<string, string>;
    cwd?: string;
    parts?: CliParts;
    interrupt?: EventEmitter;
    input?: string;
  } = {},
): Promise<CliResult> {
  const { interrupt, env = {}, cwd = tmpdir(), input = "typed-value\n" } = options;
  const stdin = Readable.from([Buffer.from(input)]);
  const [stdout, stderr] = [collect(interrupt !== undefined), collect(interrupt !== undefined)];
  const onInterrupt = (act: () => void) => {
    interrupt?.on("interrupt", act);
    return () => void interrupt?.off("interrupt", act);
  };
  const code = await runCli(argv, { env, cwd, stdin, stdout, stderr, onInterrupt }, options.parts);
  const [out, err] = [stdout.text(), stderr.text()];
  return { code, out, err, json: () => JSON.parse(out) as Record<string, unknown> };
}

/** The whole HTTP interface, one account called "main" with 100 credits, and a data folder for the CLI. */
export async function aCliService(
  options: TestServiceOptions & Pick<EditorParts, "commitProblems"> = {},
): Promise<CliService> {
  const fake = fakeEnvironments();
  const environments: typeof fake = {
    ...fake,
    async ensure(key, lock, options) {
      for (let line = 1; line <= 20; line += 1) options.report(`line ${line} of ${key}`);
      await fake.ensure(key, lock, options);
    },
  };
  const { commitProblems, ...rest } = options;
  const service = await aService({
    editorParts: (db) => ({ ...someEditorParts(db, { environments, commitProblems }), environments }),
    ...rest,
  });
  const { db } = service;
  await anAccount(db, { name: "main", credits: "100" });
  const operatorToken = createAccessToken();
  await insertOperatorToken(db, { tokenHash: hashToken(operatorToken), name: "operator" });

  const base = mkdtempSync(join(tmpdir(), "cli-"));
  const dataDir = join(base, "data");
  mkdirSync(join(dataDir, "keys"), { recursive: true, mode: 0o700 });
  writeFileSync(join(dataDir, "ca.pem"), service.cert);
  writeFileSync(join(dataDir, "keys", "operator-token"), `${operatorToken}\n`, { mode: 0o600 });
  const { url, apiUrl } = service;
  const ready = { url, apiUrl, local: { url, serverName: null }, caFile: join(dataDir, "ca.pem"), pid: process.pid };
  writeFileSync(join(dataDir, "ready.json"), JSON.stringify(ready), { mode: 0o600 });
  let folders = 0;
  return {
    ...service,
    dataDir,
    operatorToken,
    cli: (...argv) => cli(argv, { env: { TREADLE_DATA_DIR: dataDir }, cwd: base }),
    cliOnTerminal: (interrupt, ...argv) => cli(argv, { env: { TREADLE_DATA_DIR: dataDir }, cwd: base, interrupt }),
    async cliAs({ token, interrupt }, ...argv) {
      // The certificate is not one that this process trusts, so the data folder's is used with another token.
      const own = mkdtempSync(join(base, "token-"));
      cpSync(dataDir, own, { recursive: true });
      writeFileSync(join(own, "keys", "operator-token"), token);
      return cli(argv, {
        env: { TREADLE_DATA_DIR: own },
        cwd: base,
        ...(interrupt === undefined ? {} : { interrupt }),
      });
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
