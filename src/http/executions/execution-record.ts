import type { RequestHandler } from "express";
import type { z } from "zod";
import { findCommit } from "../../../db/commits/commits.ts";
import { type ExecutionDetails, findExecutionDetails } from "../../../db/executions/details.ts";
import { type ExecutionRecord, findExecution } from "../../../db/executions/executions.ts";
import { findCostEstimate } from "../../../db/ledger/estimate.ts";
import type { ExecutionRecord as RecordDocument } from "../../../domain/api/executions.ts";
import type { Sent } from "../../../domain/api/fields.ts";
import { type Connection, type Connections, destinationOf } from "../../../domain/connections.ts";
import { toCredits } from "../../../domain/credits.ts";
import { type ExecutionId, isExecutionId } from "../../../domain/ids.ts";
import { writeObject } from "../../../domain/manifest/json-text.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import type { Role } from "../../../domain/members.ts";
import { explainState, fileUrl, refusedAmounts } from "../../executions/envelope.ts";
import type { LiveState } from "../../executions/live-state.ts";
import type { SecretBox } from "../../keys/secret-box.ts";
import { unknownExecution } from "../auth/authenticate.ts";
import { authorizeAccount } from "../auth/authorize.ts";
import { findPagesUrl, type LinkDeps } from "../auth/temporal-link.ts";
import type { AppDeps } from "../deps.ts";
import { toEstimate } from "../execute/cost-estimate.ts";

/** What is shown in the place of a secret, however long it is. */
const SECRET = "•••";

type RecordDeps = Pick<
  AppDeps,
  "db" | "apiUrl" | "secretBox" | "executions" | "liveProgress" | "otherHosts" | "temporalNamespace"
> &
  LinkDeps;

/** The record of one execution in full. Secrets are named, and never shown. */
export function createExecutionRecordRoute(deps: RecordDeps): RequestHandler {
  return async (request, response) => {
    const { accountId, role } = await authorizeAccount(deps.db, request, "read");
    const { executionId } = request.params;
    if (typeof executionId !== "string" || !isExecutionId(executionId)) throw unknownExecution();
    const details = await findExecutionDetails(deps.db, { accountId, executionId });
    const record = details && (await findExecution(deps.db, executionId));
    if (record === undefined || details === undefined) throw unknownExecution();
    const [cost, commit, live] = await Promise.all([
      findCostEstimate(deps.db, record.workflowId),
      findCommit(deps.db, record.workflowId, record.commitId),
      findLive(deps, record),
    ]);
    const content = toContent({ ...deps, role, live }, record, details);
    const manifest = commit?.manifest as Manifest | undefined;
    const inputs = inOrder(content.inputs, manifest);
    const files = orderOutputs(content.files, manifest);
    const { inputTexts } = details;
    const estimate = toEstimate(cost).estimate ?? null;
    const answer: Sent<z.output<typeof RecordDocument>> = {
      ...toSummary(record, details),
      ...content,
      inputs,
      files,
      inputTexts,
      estimate,
    };
    response.type("json").send(writeObject(answer, { inputs: writeObject(inputs, inputTexts) }));
  };
}

/** Returns seconds as answers have them, to the millisecond. */
export function toSeconds(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}

function toSummary(record: ExecutionRecord, { workflowName, draft }: ExecutionDetails) {
  const { id, workflowId, commitId, trigger, createdAt, startedAt, finishedAt } = record;
  const hasEnded = finishedAt !== null;
  return {
    executionId: id,
    workflowId,
    workflowName,
    status: record.state,
    trigger,
    draft,
    commitId,
    createdAt,
    startedAt,
    finishedAt,
    duration: hasEnded ? toSeconds(record.secondsUsed) : null,
    message: explainState(record),
    failure: record.failure,
    ...refusedAmounts(record),
    cost: {
      compute: toCredits(record.chargeCompute),
      total: toCredits(record.chargeTotal),
      atMost: toCredits(record.chargeMax),
    },
  };
}

/** How far its program is, and its place among those that wait for a slot, on whichever host that is. */
async function findLive(deps: RecordDeps, record: ExecutionRecord): Promise<LiveState> {
  const { id, hostId, finishedAt, queuePosition } = record;
  if (finishedAt !== null) return { progress: null, slotPosition: null };
  if (queuePosition === null && deps.otherHosts?.mayHave(hostId))
    return (await deps.otherHosts.look(id)) ?? { progress: null, slotPosition: null };
  const progress = deps.liveProgress?.(id);
  return { progress: progress ?? null, slotPosition: deps.executions.placeOf(id) ?? null };
}

function toContent(
  deps: RecordDeps & { role: Role; live: LiveState },
  record: ExecutionRecord,
  details: ExecutionDetails,
) {
  const { id, filesRemovedAt } = record;
  const { timeoutSeconds, memoryBytes, cpu, attemptsMax, logBytes, uploadedAt, cancelRequestedAt } = details;
  return {
    inputs: { ...details.inputs, ...hideSecrets(deps.secretBox, id, details.secretInputs) },
    inputFiles: details.inputFiles.map(({ name: input, ...file }) => ({ input, ...file })),
    outputs: Object.fromEntries(
      details.outputFiles.map(({ name, fileName }) => [name, fileUrl(deps.apiUrl(), id, fileName)]),
    ),
    files: details.outputFiles.map((file) => ({ ...file, url: fileUrl(deps.apiUrl(), id, file.fileName) })),
    attempts: details.attempts.map((attempt) => ({
      ...attempt,
      startedAt: toTime(attempt.startedAt),
      endedAt: attempt.endedAt && toTime(attempt.endedAt),
      connections: attempt.connections && markNew(attempt.connections, details.newDestinations),
    })),
    ...(details.scheduleName === null ? {} : { schedule: details.scheduleName }),
    nextAttemptAt: details.nextAttemptAt,
    limits: { timeoutSeconds, memoryBytes, cpu, attemptsMax },
    logBytes,
    queuePosition: record.queuePosition,
    ...deps.live,
    temporalUrl: toTemporalUrl(deps, id),
    uploadedAt,
    cancelRequestedAt,
    cancelRequestedBy: record.cancelRequestedBy,
    filesRemovedAt,
    logRemovedAt: record.logRemovedAt,
  };
}

/** Marks what no earlier run of the workflow had connected to. */
function markNew({ destinations, more }: Connections, newDestinations: readonly string[]) {
  const isNew = (one: Connection) => one.sentBytes > 0 && newDestinations.includes(destinationOf(one));
  return { destinations: destinations.map((one) => ({ ...one, isNew: isNew(one) })), more };
}

/** Inputs in the order in which the manifest declares them: the database keeps none. */
function inOrder(given: Readonly<Record<string, unknown>>, manifest: Manifest | undefined): Record<string, unknown> {
  const names = (manifest?.inputs ?? []).map(({ name }) => name).filter((name) => Object.hasOwn(given, name));
  return { ...Object.fromEntries(names.map((name) => [name, given[name]])), ...given };
}

/** Outputs in the order in which the manifest declares them; the others after them, by name. */
function orderOutputs<File extends { readonly name: string }>(files: readonly File[], manifest: Manifest | undefined) {
  const names = (manifest?.outputs ?? []).map(({ name }) => name);
  const placeOf = ({ name }: File): number => (names.includes(name) ? names.indexOf(name) : names.length);
  return files.toSorted((one, other) => placeOf(one) - placeOf(other));
}

/** The names of the secrets that were given, each with the same text in its place. */
function hideSecrets(secretBox: SecretBox, id: ExecutionId, sealed: Buffer | null): Record<string, string> {
  if (sealed === null) return {};
  const names = Object.keys(JSON.parse(secretBox.open(sealed, id).toString()) as object);
  return Object.fromEntries(names.map((name) => [name, SECRET]));
}

/** PostgreSQL writes times into JSON with its own zone. */
function toTime(text: string): string {
  return new Date(text).toISOString();
}

/** Where Temporal's own pages show it: its Workflow Id is the execution's id. */
function toTemporalUrl(deps: RecordDeps & { role: Role }, id: ExecutionId): string | null {
  const { temporalNamespace } = deps;
  const pagesUrl = findPagesUrl(deps, deps.role);
  if (pagesUrl === null || temporalNamespace === undefined) return null;
  return `${pagesUrl.replace(/\/+$/, "")}/namespaces/${encodeURIComponent(temporalNamespace)}/workflows/${id}`;
}
