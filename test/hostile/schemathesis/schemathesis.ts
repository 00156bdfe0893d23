import { execFile } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installPythonPackages } from "../../support/python-packages.ts";

const REQUIREMENTS = fileURLToPath(new URL("./requirements.txt", import.meta.url));
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

/** Schemathesis, from its pinned list. */
export async function installSchemathesis(): Promise<Schemathesis> {
  const { bin, dir, remove } = await installPythonPackages(REQUIREMENTS);
  return { attack: (attack) => runAttack(join(bin, "schemathesis"), dir, attack), remove };
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
    ["run", documentPath, "--url", attack.url, "--tls-verify", certPath, ...headers, ...selected, ...phases],
    ["--checks", CHECKS.join(","), "--max-examples", String(attack.casesPerOperation), "--seed", String(attack.seed)],
    ["--continue-on-failure", "--generation-database", "none", "--suppress-health-check", "all", "--no-color"],
    ["--workers", "1", "--warnings", "off", "--request-timeout", "20"],
  ].flat();
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
