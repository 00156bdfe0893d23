import { execFile } from "node:child_process";

const MINUTES_MS = 60_000;
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

/** What the programs of generators are about, as they read it in `site.json`. */
export interface Site {
  readonly url: string;
  /** PEM file of the certificate's authority. */
  readonly caFile: string;
  readonly examples: Readonly<Record<string, { readonly workflowId: string; readonly apiKey: string }>>;
  /** Paths: of tables to merge, and of an export of orders. */
  readonly files: readonly string[];
  readonly orders: string;
}

/** One output, as a generated client has downloaded it. */
export interface Downloaded {
  readonly executionId: string;
  readonly fileName: string;
  readonly sha256: string;
}

/** An output for each document that was called by, in which words a wrong key was refused, and of some the log of `hello`. */
export type Found = Readonly<Record<string, Downloaded>> & { readonly refused: string; readonly log?: string };

/** The documents that clients are made of: the service's, and that of each example. */
export const DOCUMENTS = ["service", "hello", "nightly", "merge-files", "sales-report"];

/** In the long form also that of a workflow with an input of every kind but files. */
export const KINDS = "kinds";

/** Makes clients of the documents `NAME.json` in a folder, compiles them, and calls the site by each. */
export interface Generator {
  use(folder: string, site: Site): Promise<Found[]>;
  remove(): Promise<void>;
}

/** Runs a program to its end and returns what it printed; throws with all that it said when it fails. */
export function run(
  command: string,
  args: readonly string[],
  given: { cwd: string; env?: Readonly<Record<string, string>> },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      cwd: given.cwd,
      env: { ...process.env, ...given.env },
      timeout: 10 * MINUTES_MS,
      maxBuffer: OUTPUT_BYTES_MAX,
    };
    execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`));
    });
  });
}
