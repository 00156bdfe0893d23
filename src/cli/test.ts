import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import { findDifferences } from "./case-difference.ts";
import type { TestCase } from "./case-files.ts";
import type { Client } from "./client.ts";
import { type Act, addCommand, type Context } from "./command.ts";
import { beginExecution, cancelExecution, follow, isEnd } from "./execution-result.ts";
import { keepFolderAsDraft, requireFolder } from "./folder-draft.ts";
import { toCall } from "./given-inputs.ts";
import { createInterruption } from "./interruption.ts";
import type { Answer } from "./io.ts";
import { type ReportedCase, toJunit } from "./junit.ts";
import { requireKnownWorkflow } from "./known-workflow.ts";
import type { Look } from "./look.ts";
import { workflowPathOf } from "./made-commit.ts";
import { Refusal } from "./refusal.ts";

/** How many cases run at a time. More would take the slots of others. */
const AT_ONCE = 4;

interface Options {
  readonly account?: string;
  readonly published?: boolean;
  readonly junit?: string;
}

/** What became of a case. `executionId` and `status` are null where it was not accepted. */
interface CaseResult extends ReportedCase {
  readonly column: number;
  readonly passed: boolean;
  readonly executionId: string | null;
  readonly status: string | null;
  readonly cost: number | null;
}

/** `test DIR`: runs the cases of `tests/*.yaml` and compares what they come to. Exit code 1 unless all pass. */
export function addTestCommand(program: Command, act: Act): void {
  addCommand(program, "test", "run the cases of a folder's tests/*.yaml, and compare what they come to")
    .argument("<dir>", "the folder, with its config.yaml; it was published before")
    .option("--published", "test the latest commit, and leave your draft as it is")
    .option("--junit <file>", "write a report as JUnit's XML")
    .option("--account <name>", "the account whose workflow it is")
    .action(act<Options>(testFolder));
}

async function testFolder(context: Context, [dir = ""]: readonly string[], options: Options): Promise<Answer> {
  const folder = await requireFolder(context.io, dir);
  const { readCases } = await import("./case-files.ts"); // no other command reads YAML
  const cases = await readCases(folder);
  const client = await context.client();
  const { workflowId, name } = await requireKnownWorkflow(client, folder, options.account);
  const published = options.published === true;
  if (!published) {
    const { version } = await keepFolderAsDraft(client, workflowId, folder);
    context.say(`Saved the folder as version ${version} of your draft of ${name} (${workflowId})`);
  }
  const path = `${workflowPathOf(workflowId)}/${published ? "" : "draft/"}execute`;
  const interruption = createInterruption(context.io, { once: true });
  const results = await runCases(context, client, { cases, path, signal: interruption.signal }).finally(() =>
    interruption.end(),
  );
  if (options.junit !== undefined) await writeReport(resolve(context.io.cwd, options.junit), results);
  const failed = results.filter(({ passed }) => !passed).length;
  const left = cases.length - results.length;
  const lines = [
    ...results.flatMap((result) => toLines(result, context.look)),
    `${results.length - failed} passed, ${failed} failed${left === 0 ? "" : `, ${left} not run`}`,
  ];
  const document = { workflowId, published, passed: results.length - failed, failed, left, cases: results };
  return { document, lines, good: failed === 0, interrupted: interruption.signal.aborted };
}

interface Round {
  readonly cases: readonly TestCase[];
  /** Of the route that executes. */
  readonly path: string;
  /** Aborted by Ctrl-C: what runs is cancelled then, and nothing more begun. */
  readonly signal: AbortSignal;
}

/** Runs all cases, some at a time, and answers what became of them in their order. */
async function runCases(context: Context, client: Client, round: Round): Promise<CaseResult[]> {
  const { cases, signal } = round;
  const results: (CaseResult | undefined)[] = cases.map(() => undefined);
  const waiting = cases.entries();
  let done = 0;
  async function work(): Promise<void> {
    for (const [index, one] of waiting) {
      if (signal.aborted) return;
      results[index] = await runCase(context, client, one, round);
      done += 1;
      context.status.show(`Testing  ${done} of ${cases.length} cases`);
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, cases.length) }, work));
  return results.filter((result) => result !== undefined);
}

/** Undefined when it was cancelled by Ctrl-C before it had ended. */
async function runCase(
  context: Context,
  client: Client,
  { name, file, line, column, inputs, files, expect }: TestCase,
  { path, signal }: Round,
): Promise<CaseResult | undefined> {
  const place = { name, file, line, column };
  try {
    const call = await toCall(context, { input: [], file: files }, inputs);
    const executionId = await beginExecution(client, path, call);
    const envelope = await follow(client, { executionId, signal });
    if (!isEnd(envelope)) {
      await cancelExecution(client, executionId);
      context.say(`Cancelling ${executionId}, of the case ${name}`);
      return undefined;
    }
    const differences = await findDifferences(client, envelope, expect);
    return Object.assign(place, {
      passed: differences.length === 0,
      executionId,
      status: envelope.status,
      seconds: envelope.duration ?? 0,
      cost: envelope.cost?.total ?? null,
      differences,
    });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const nothing = { executionId: null, status: null, seconds: 0, cost: null };
    return Object.assign(place, nothing, { passed: false, differences: error.toLines() });
  }
}

function toLines(result: CaseResult, look: Look): string[] {
  const { name, file, line, column, passed, seconds, executionId, differences } = result;
  const run = executionId === null ? "not accepted" : `${seconds} s, ${executionId}`;
  return [
    `${look.status(passed ? "passed" : "failed")}  ${name} (${file}:${line}:${column}, ${run})`,
    ...differences.flatMap((difference) => difference.split("\n").map((text) => `  ${text}`)),
  ];
}

async function writeReport(path: string, results: readonly CaseResult[]): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, toJunit(results));
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw new Refusal("Not allowed", `${path} cannot be written (${code}).`, { cause: error });
  }
}
