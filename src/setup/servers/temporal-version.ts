import type { RunCommand } from "./command.ts";

/** The version that is downloaded and built: the newest whose release files' checksums we know. */
export const TEMPORAL_VERSION = "1.8.2";
/** The newest that `go install` accepts by itself (later ones carry a `replace`), for a Go too old for the above. */
export const TEMPORAL_FALLBACK_VERSION = "1.5.1";

const CLI_MIN = [1, 5] as const;
const SERVER_MIN = [1, 29] as const;
/** It takes a tenth of a second, and much longer where 140 MB are read by a disk that others keep busy. */
const VERSION_TIMEOUT_MS = 60_000;

/** A Temporal CLI that can be executed and is new enough. */
export interface TemporalBinary {
  readonly path: string;
  /** Of the command line tool, like "1.8.2". */
  readonly version: string;
  /** Which rung of the ladder it came from, for people. */
  readonly source: string;
}

export type BinaryCheck =
  | { readonly kind: "suitable"; readonly version: string }
  | { readonly kind: "unsuitable"; readonly problem: string };

/** Asks a program for its version: is it a Temporal CLI, of 1.5 or later, with server 1.29 or later? */
export async function checkBinary(path: string, run: RunCommand, signal?: AbortSignal): Promise<BinaryCheck> {
  const { code, stdout, tail } = await run(path, ["--version"], { env: {}, timeoutMs: VERSION_TIMEOUT_MS, signal });
  const found = /temporal version v?(\d+)\.(\d+)(\S*) \(Server v?(\d+)\.(\d+)/i.exec(stdout);
  if (code !== 0 || found === null) {
    return {
      kind: "unsuitable",
      problem: `it does not answer --version like a Temporal CLI (${tail.at(-1) ?? explainEnd(code)})`,
    };
  }
  const [, cliMajor, cliMinor, cliRest, serverMajor, serverMinor] = found;
  const version = `${cliMajor}.${cliMinor}${cliRest}`;
  if (!isAtLeast([cliMajor, cliMinor], CLI_MIN) || !isAtLeast([serverMajor, serverMinor], SERVER_MIN)) {
    return {
      kind: "unsuitable",
      problem: `it is version ${version} with server ${serverMajor}.${serverMinor}; needed are ${CLI_MIN.join(".")} and ${SERVER_MIN.join(".")} or later`,
    };
  }
  return { kind: "suitable", version };
}

function explainEnd(code: number | undefined): string {
  return code === undefined
    ? `it was ended by a signal, or had no answer after ${VERSION_TIMEOUT_MS / 1000} s`
    : `exit code ${code}`;
}

function isAtLeast(version: readonly (string | undefined)[], least: readonly [number, number]): boolean {
  const [major, minor] = version.map(Number) as [number, number];
  return major > least[0] || (major === least[0] && minor >= least[1]);
}
