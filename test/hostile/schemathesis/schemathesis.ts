import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  collectPackageSettings,
  toUvArguments,
  toUvVariables,
} from "../../../activities/environments/package-settings.ts";
import { findPython } from "../../../src/setup/python.ts";
import { runCommand } from "../../../src/setup/servers/command.ts";
import { findCacheDir } from "../../../src/setup/servers/temporal-cache.ts";
import { findUv } from "../../../src/setup/uv.ts";

const REQUIREMENTS = fileURLToPath(new URL("./requirements.txt", import.meta.url));
const INSTALL_MS = 300_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/** What every answer has to be, whatever was sent. */
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "missing_required_header",
  "unsupported_method",
  "allow_header_conformance",
  "ignored_auth",
];

export interface Attack {
  /** An OpenAPI document. */
  readonly document: object;
  readonly url: string;
  /** PEM of the only certificate that is trusted. */
  readonly cert: string;
  readonly headers: Readonly<Record<string, string>>;
  /** By operationId; all unless given. */
  readonly operations?: readonly string[];
  /** Of Schemathesis; all unless given. */
  readonly phases?: readonly ("examples" | "coverage" | "fuzzing" | "stateful")[];
  readonly casesPerOperation: number;
  readonly seed: number;
  readonly timeoutMs: number;
}

export interface Findings {
  /** 0: nothing found. 1: something is not as documented. Anything else: it could not work. */
  readonly code: number;
  readonly output: string;
}

export interface Schemathesis {
  attack(attack: Attack): Promise<Findings>;
  remove(): Promise<void>;
}

/** Schemathesis, installed by uv from the pinned list into a folder of its own, as this machine is set to install packages. */
export async function installSchemathesis(): Promise<Schemathesis> {
  const dir = await mkdtemp(join(tmpdir(), "treadle-schemathesis-"));
  const { env } = process;
  const common = { env, runAs: undefined, isRoot: process.getuid?.() === 0, mayInstall: false, run: runCommand };
  const report = (): void => undefined;
  const python = await findPython({ ...common, report });
  const places = { cacheDir: findCacheDir(env), runtimeDir: dir, pythonPath: python.path };
  const uv = await findUv({ ...common, ...places, report, now: Date.now });
  if (uv === undefined)
    throw new Error("There is no uv, and pip could not install it: the schema fuzzer cannot be had.");
  const settings = await collectPackageSettings(env, homedir());
  const surroundings = { PATH: env.PATH, HOME: homedir(), ...toUvVariables(settings), UV_NO_PROGRESS: "1" };
  const venv = join(dir, "venv");
  const wheels = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", REQUIREMENTS];
  for (const args of [
    ["venv", "--python", python.path, venv],
    ["pip", "install", ...toUvArguments(settings), "--python", join(venv, "bin/python"), ...wheels],
  ]) {
    const { code, tail } = await runCommand(uv.path, args, { env: surroundings, timeoutMs: INSTALL_MS });
    if (code !== 0) throw new Error(`uv ${args[0]} failed:\n${tail.join("\n")}`);
  }
  return {
    attack: (attack) => runAttack(join(venv, "bin/schemathesis"), dir, attack),
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}

async function runAttack(program: string, dir: string, attack: Attack): Promise<Findings> {
  const folder = await mkdtemp(join(dir, "attack-"));
  const [documentPath, certPath] = [join(folder, "openapi.json"), join(folder, "cert.pem")];
  await writeFile(documentPath, JSON.stringify(attack.document));
  await writeFile(certPath, attack.cert);
  const headers = Object.entries(attack.headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const selected = (attack.operations ?? []).flatMap((name) => ["--include-operation-id", name]);
  const phases = attack.phases === undefined ? [] : ["--phases", attack.phases.join(",")];
  const args = [
    ...["run", documentPath, "--url", attack.url, "--tls-verify", certPath, ...headers, ...selected, ...phases],
    ...[
      "--checks",
      CHECKS.join(","),
      "--max-examples",
      String(attack.casesPerOperation),
      "--seed",
      String(attack.seed),
    ],
    ...["--continue-on-failure", "--generation-database", "none", "--suppress-health-check", "all", "--no-color"],
    ...["--workers", "1", "--warnings", "off", "--request-timeout", "20"],
  ];
  return new Promise((resolve, reject) => {
    const options = {
      cwd: folder,
      env: { PATH: process.env["PATH"], HOME: folder },
      timeout: attack.timeoutMs,
      maxBuffer: OUTPUT_BYTES_MAX,
    };
    execFile(program, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === "number") resolve({ code, output: `${stdout}${stderr}` });
      else reject(new Error(`Schemathesis did not come to its end: ${error?.message}\n${stdout.slice(-4_000)}`));
    });
  });
}
