import { join, resolve } from "node:path";
import type { Command } from "commander";
import type { z } from "zod";
import type { ExecutionRecord } from "../../domain/api/executions.ts";
import { textOf } from "../../domain/manifest/json-text.ts";
import type { Client } from "./client.ts";
import { type Act, addCommand, type Context } from "./command.ts";
import { execute } from "./execution-result.ts";
import { type GivenInputs, takeInputs, toCall } from "./given-inputs.ts";
import { type Answer, toTable } from "./io.ts";
import { workflowPathOf } from "./made-commit.ts";
import { Refusal } from "./refusal.ts";
import { saveFile } from "./saved-file.ts";

type RecordDocument = z.infer<typeof ExecutionRecord>;

interface Options {
  readonly account?: string;
}

const OF_ACCOUNT = ["--account <name>", "of this account instead of the first"] as const;

/** `executions record|download|rerun`. */
export function addRecordCommands(executions: Command, act: Act): void {
  addCommand(executions, "record", "show all that is on record of an execution: inputs, files, attempts, cost")
    .argument("<execution>")
    .option(...OF_ACCOUNT)
    .action(
      act<Options>(async (context, [id = ""], { account }) =>
        toAnswer(await getRecord(await context.client(), id, account)),
      ),
    );
  addCommand(executions, "download", "write the output files of an execution into a folder")
    .argument("<execution>")
    .argument("[dir]", "the folder, made if it is not there", ".")
    .option("--inputs", "the files that it was given instead, those of each input in a folder of its name")
    .option(...OF_ACCOUNT)
    .action(act<Options & { inputs?: boolean }>(download));
  takeInputs(
    addCommand(
      executions,
      "rerun",
      "execute the workflow again with an execution's inputs and files, other than those given",
    ),
  )
    .argument("<execution>")
    .option(...OF_ACCOUNT)
    .action(act<Options & GivenInputs>(rerun));
}

function getRecord(client: Client, id: string, account: string | undefined): Promise<RecordDocument> {
  return client.get<RecordDocument>(`/api/executions/${encodeURIComponent(id)}`, { query: { account } });
}

function toAnswer(document: RecordDocument): Answer {
  const { inputs, inputTexts, inputFiles, files, attempts, cost, message } = document;
  const given = [
    ...Object.entries(inputs ?? {}).map(([name, value]) => [name, textOf(inputTexts, name) ?? JSON.stringify(value)]),
    ...inputFiles.map(({ input, fileName, bytes }) => [input, `${fileName}, ${bytes} bytes`]),
  ];
  const lines = [
    `Execution  ${document.executionId}: ${document.status}`,
    `Workflow   ${document.workflowName} (${document.workflowId})`,
    `Commit     ${document.commitId}${document.draft ? " (a draft)" : ""}`,
    `Trigger    ${document.trigger}${document.schedule === undefined ? "" : ` ${document.schedule}`}`,
    `Accepted   ${document.createdAt}`,
    `Began      ${document.startedAt ?? "-"}`,
    ...(document.slotPosition === null ? [] : [`Waiting    number ${document.slotPosition} for a free slot`]),
    ...(document.nextAttemptAt === null ? [] : [`Next       attempt at ${document.nextAttemptAt}`]),
    `Ended      ${document.finishedAt ?? "-"}`,
    `Cost       ${cost.total} credits, at most ${cost.atMost}`,
    ...(message === "" ? [] : [`Message    ${message}`]),
    ...toSection(["Input", "Value"], given),
    ...toSection(
      ["Output", "File", "Bytes"],
      files.map((file) => [file.name, file.fileName, file.bytes]),
    ),
    ...toSection(
      ["Attempt", "Status", "Seconds", "Message"],
      attempts.map((one) => [one.attempt, one.status, one.secondsUsed, one.message]),
    ),
    ...toSection(
      ["Attempt", "Connected to", "Sent bytes", "Received bytes", "Refused", ""],
      attempts.flatMap(({ attempt, connections }) => listConnections(connections).map((row) => [attempt, ...row])),
    ),
  ];
  return { document, lines };
}

/** A row for each destination, with its name and its address. */
function listConnections(connections: RecordDocument["attempts"][number]["connections"]): unknown[][] {
  if (connections === null) return [];
  const { destinations, more } = connections;
  const rows = destinations.map((one) => [
    `${one.name === null ? "" : `${one.name} `}${one.address}:${one.port}/${one.protocol}`,
    one.sentBytes,
    one.receivedBytes,
    one.refused,
    one.isNew ? "new" : "",
  ]);
  if (more === null) return rows;
  return [...rows, [`and ${more.connections} more`, more.sentBytes, more.receivedBytes, more.refused, ""]];
}

function toSection(headings: readonly string[], rows: readonly (readonly unknown[])[]): string[] {
  return rows.length === 0 ? [] : ["", ...toTable(headings, rows)];
}

async function download(
  context: Context,
  [id = "", dir = "."]: readonly string[],
  { account, inputs = false }: Options & { inputs?: boolean },
): Promise<Answer> {
  const client = await context.client();
  const record = await getRecord(client, id, account);
  const folder = resolve(context.io.cwd, dir);
  const saved: { fileName: string; path: string; bytes: number }[] = [];
  for (const { place, source, ...file } of inputs ? listInputs(record, account) : listOutputs(record)) {
    const path = join(folder, place);
    // The service has made sure of it; what a program or a caller named must not lead out of the folder all the same.
    if (!path.startsWith(join(folder, "/")))
      throw new Refusal("Not allowed", `${file.fileName} is no name of a file in ${dir}.`);
    saved.push({ ...file, path, bytes: await saveFile(client, source, path) });
  }
  const none = inputs ? "It was given no files." : "It has no output files.";
  const lines = saved.length === 0 ? [none] : saved.map(({ path, bytes }) => `${path}  ${bytes} bytes`);
  return { document: { executionId: record.executionId, files: saved }, lines };
}

/** A file that can be had: where in a folder it goes, and where it comes from. */
interface FileToSave {
  readonly fileName: string;
  readonly place: string;
  readonly source: string;
}

function listOutputs({ executionId, files }: RecordDocument): FileToSave[] {
  return files.map(({ fileName }) => ({
    fileName,
    place: fileName,
    source: `/api/run-logs/${executionId}/files/${encodeURIComponent(fileName)}`,
  }));
}

/** Names of files differ only among those of one input. */
function listInputs({ executionId, inputFiles }: RecordDocument, account: string | undefined): FileToSave[] {
  const query = account === undefined ? "" : `?account=${encodeURIComponent(account)}`;
  return inputFiles.map(({ input, position, fileName }) => ({
    input,
    position,
    fileName,
    place: join(input, fileName),
    source: `/api/executions/${executionId}/inputs/${encodeURIComponent(input)}/${position}${query}`,
  }));
}

/**
 * Starts an execution with the inputs of an earlier one. Leaves out secrets, and inputs the workflow no longer takes.
 */
async function rerun(
  context: Context,
  [id = ""]: readonly string[],
  { account, ...given }: Options & GivenInputs,
): Promise<Answer> {
  const client = await context.client();
  const record = await getRecord(client, id, account);
  const { manifest } = await client.get<{ manifest: { inputs: readonly { name: string; kind: string }[] } | null }>(
    workflowPathOf(record.workflowId),
  );
  const before: Record<string, unknown> = {};
  for (const { name, kind } of manifest?.inputs ?? []) {
    const kept = record.inputFiles.filter(({ input }) => input === name);
    const files = kept.map(({ input, position }) => ({ from: { executionId: record.executionId, input, position } }));
    if (files.length > 0) before[name] = kind === "file" ? files[0] : files;
    else if (kind !== "secret" && Object.hasOwn(record.inputs ?? {}, name)) before[name] = record.inputs?.[name];
  }
  const call = await toCall(context, given, { values: before, texts: record.inputTexts });
  return execute(context, client, `/api/workflows/${record.workflowId}/execute`, call);
}
