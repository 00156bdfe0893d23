import { Registry } from "prom-client";
import { openStorage } from "../activities/storage/open.ts";
import type { Storage } from "../activities/storage/storage.ts";
import { createThreads } from "../activities/threads/threads.ts";
import { connect, type DatabaseAddress, type Db } from "../db/connect.ts";
import { migrate } from "../db/migrate.ts";
import { microCredits, parseCredits } from "../domain/credits.ts";
import type { CommitId, WorkflowId } from "../domain/ids.ts";
import { createBanner } from "./banner.ts";
import { type CertificateWatchDeps, watchCertificate } from "./certificate-watch.ts";
import { boundsOf, type Environment, type Settings, storageOf } from "./config.ts";
import type { DescriptorBudget } from "./descriptors.ts";
import type { CallersDoor, Stopping } from "./draining.ts";
import { createEditorEvents, type EditorEvents } from "./editor-events/editor-events.ts";
import { publishExamples } from "./examples.ts";
import { openFrontDoor } from "./front-door.ts";
import { loadHostId } from "./host.ts";
import type { Host } from "./host-programs.ts";
import { countConnections } from "./http/connection-metrics.ts";
import { createConnections } from "./http/connections.ts";
import { QUICK_BUILD_MS } from "./http/editor/parts.ts";
import { createOperatorRouter } from "./http/operator/router.ts";
import { rateLimitsOf } from "./http/rates.ts";
import { createRequestMetrics } from "./http/request-metrics.ts";
import { createProcessId } from "./ids.ts";
import { prepareInstallation } from "./installation.ts";
import { loadOrCreateKey } from "./keys/key-file.ts";
import { demandMasterKey } from "./keys/master-key.ts";
import { createSecretBox, type SecretBox } from "./keys/secret-box.ts";
import type { Defer } from "./lifecycle.ts";
import type { Log } from "./log.ts";
import { showCertificate } from "./metrics/certificate.ts";
import { countEndedExecutions, type EndedExecutions } from "./metrics/ended.ts";
import { createProgramTimes } from "./metrics/programs.ts";
import { countTicks } from "./metrics/ticks.ts";
import { createMetrics } from "./metrics.ts";
import { openMetricsDoor } from "./metrics-door.ts";
import { createOpenAccess, type OpenAccess } from "./open-access.ts";
import { createDraftKeeper } from "./publish/keep-draft.ts";
import { createPreview } from "./publish/preview.ts";
import { createPublisher } from "./publish/publish.ts";
import { type Readiness, readyOnceOpen } from "./readiness.ts";
import { announceWhenReady, type ReadyFile, readyFileOf } from "./ready-file.ts";
import { retentionOf } from "./retention.ts";
import { type ExecutionParts, openExecutionParts, type ServiceDeps } from "./service.ts";
import type { Machine } from "./setup/machine.ts";
import type { Postgres } from "./setup/servers/postgres.ts";
import type { Temporal } from "./setup/servers/temporal.ts";
import { findVersion } from "./version.ts";
import { installTemporalRuntime } from "./workers.ts";

/** The embedded server takes 60 connections: enough for two processes and for looking in. */
const POOL_MAX = 20;
const CALLS_GRACE_MS = 3_000;
/** For the work of requests that callers choose the cost of: enough that one account leaves one to the others. */
const THREADS_MAX = 2;

export interface StartInput {
  readonly env: Environment;
  readonly settings: Settings;
  readonly machine: Machine;
  readonly examplesDir: string;
  readonly report: (line: string) => void;
  /** What `bench/` puts in the place of sandbox and Python, to measure the engine around them. */
  readonly runProgram?: ServiceDeps["runProgram"];
}

/** What the service stands on. */
export interface Ground {
  readonly postgres: Postgres;
  readonly temporal: Temporal;
  readonly host: Host;
  readonly descriptors: DescriptorBudget;
}

/**
 * Opens the service on its servers and this host, part by part, each one's closing handed to `defer`; announces it when it
 * is ready. Returns promises of the workers' end, and what drains it before it is closed.
 */
export async function openService(
  input: StartInput,
  { log, ...ground }: Ground & { log: Log },
  defer: Defer,
): Promise<Pick<ExecutionParts, "workersEnded"> & { readonly drain: (asked: boolean) => Promise<void> }> {
  const { settings } = input;
  const stopping: Stopping = { isStopping: false, leaving: new AbortController() };
  const foundation = await openFoundation(input, ground.postgres, defer);
  installTemporalRuntime(log);
  const registry = new Registry();
  const endedExecutions = countEndedExecutions({ db: foundation.db, registry });
  const editorEvents = createEditorEvents({ db: foundation.db, log });
  const openAccess = createOpenAccess({ db: foundation.db, log });
  defer(() => openAccess.close());
  const hearing = {
    notices: [endedExecutions.notice, ...editorEvents.notices, ...openAccess.notices],
    onRun: createProgramTimes(registry),
    onTick: countTicks(registry),
  };
  const { temporal, host, descriptors } = ground;
  const on = { temporal, host, descriptors, stopping, log };
  const parts = await openExecutionParts({ ...foundation, ...input, ...hearing, ...on }, defer);
  const metrics = openMetrics(input, { ...foundation, ...parts, registry, endedExecutions }).read;
  const counting = { ...foundation, ...parts, registry, metrics, log };
  let isOpen = settings.TREADLE_ROLE === "worker";
  const readiness = readyOnceOpen(parts.readiness, () => isOpen);
  if (settings.TREADLE_METRICS_PORT !== undefined) await openDoorForMetrics(input, { ...counting, readiness }, defer);
  const following = { editorEvents, openAccess, leaving: stopping.leaving.signal };
  const called = { ...counting, temporal, descriptors, following };
  const door = settings.TREADLE_ROLE === "worker" ? undefined : await openForCallers(input, called, defer);
  isOpen = true;
  return { workersEnded: parts.workersEnded, drain: (asked) => parts.drain(door, asked) };
}

interface Foundation {
  readonly db: Db;
  readonly databaseAddress: DatabaseAddress;
  readonly storage: Storage;
  readonly secretBox: SecretBox;
  readonly hostId: string;
  readonly processId: string;
}

async function openFoundation(
  { settings, machine }: StartInput,
  postgres: Postgres,
  defer: Defer,
): Promise<Foundation> {
  const db = connect(postgres.connection, { poolMax: POOL_MAX, applicationName: "treadle" });
  defer(() => db.destroy());
  await migrate(db);
  const file = settings.TREADLE_MASTER_KEY_FILE ?? `${machine.paths.keys}/master`;
  const secretBox = createSecretBox(await loadOrCreateKey(file));
  await demandMasterKey(db, { secretBox, file });
  return {
    db,
    databaseAddress: postgres.connection,
    storage: await openStorage({ ...storageOf(settings), dir: machine.paths.storage }),
    secretBox,
    hostId: await loadHostId(machine.dataDir),
    processId: createProcessId(),
  };
}

/** Makes a lane for what was published. That there is none is no fault: the commit's executions start cold. */
function warmInBackground({ warm, log }: ExecutionParts & { log: Log }) {
  return (workflowId: WorkflowId, commitId: CommitId): void => {
    warm?.(workflowId, commitId).then(
      (warmth) => log.debug({ event: "workflow.warmed", workflowId, commitId, ...warmth }, "A commit was warmed up."),
      (error: unknown) => log.warn({ event: "fault", workflowId, commitId, error }, "A commit could not be warmed up."),
    );
  };
}

interface Following {
  readonly editorEvents: EditorEvents;
  readonly openAccess: OpenAccess;
  readonly leaving: AbortSignal;
}

/** Opens everything callers and operators need; the last thing opened and the first closed. */
async function openForCallers(
  input: StartInput,
  parts: Foundation &
    ExecutionParts &
    Counting & { following: Following } & Pick<Ground, "temporal" | "descriptors"> & { log: Log },
  defer: Defer,
): Promise<CallersDoor> {
  const { settings, machine, report, examplesDir } = input;
  const { db, secretBox } = parts;
  const installation = await prepareInstallation({
    db,
    secretBox,
    keysDir: machine.paths.keys,
    initialCredits: parseCredits(settings.TREADLE_INITIAL_CREDITS) ?? microCredits(0),
  });
  const { abilities, publish, preview, keepDraft } = openPublishing(parts, settings);
  const { environments, ticks } = parts;
  const tickDays = retentionOf(settings).executionDays;
  const operator = {
    ...{ db, secretBox, publish, preview, environments, ticks, tickDays, log: parts.log },
    commitProblems: parts.commitEnvironments.problems,
    ...{ rateLimits: rateLimitsOf(settings), keptBytesMax: settings.TREADLE_ACCOUNT_STORAGE_BYTES_MAX },
  };
  const connections = createConnections(parts.descriptors, { trustProxy: settings.TREADLE_TRUST_PROXY });
  countConnections(parts.registry, connections);
  const door = await openFrontDoor({
    ...parts,
    settings,
    connections,
    editor: {
      ...{ publish, preview, keepDraft, abilities, environments, examplesDir },
      quickBuildMs: QUICK_BUILD_MS,
    },
    tls: machine.certificate,
    liveLog: parts.spool.readLog,
    countRequest: createRequestMetrics(parts.registry),
    routers: [createOperatorRouter(operator)],
  });
  defer(() => door.close(CALLS_GRACE_MS));
  followCertificate({ ...parts, machine, serve: door.setCertificate }, defer);
  // Before that: streams without an end are no calls to wait for.
  defer(() => parts.following.editorEvents.close());

  // A cluster's operator publishes what is wanted there; one machine shows what it can.
  const examples =
    settings.TREADLE_ROLE === "all"
      ? await publishExamples({
          ...parts,
          publish,
          accountId: installation.account.id,
          folder: examplesDir,
          wanted: settings.TREADLE_EXAMPLES,
          dataDir: machine.dataDir,
          report,
        })
      : { workflows: {}, notes: [] };
  const readiness = await parts.readiness();
  const ready = {
    ...{ url: door.url, apiUrl: door.apiUrl, local: door.local },
    caFile: machine.certificate.caFile,
    temporalUiUrl: door.temporalUiUrl,
    signIn: installation.signIn,
    workflows: examples.workflows,
    pid: process.pid,
  };
  await announce(machine.dataDir, ready, parts, defer);
  const place = { isTerminal: process.stdout.isTTY === true, readyFile: readyFileOf(machine.dataDir) };
  process.stdout.write(
    createBanner(ready, { isReady: readiness.ready, notes: [...examples.notes, ...problemsOf(readiness)] }, place),
  );
  return { leave: () => door.leave(), endStreams: () => parts.following.editorEvents.close() };
}

/** Serves what the certificate's files have: looks at them every minute, and at SIGHUP. */
function followCertificate(
  given: Pick<StartInput, "machine"> & Counting & { serve: CertificateWatchDeps["serve"]; log: Log },
  defer: Defer,
): void {
  const { certificate: first, readCertificate: read } = given.machine;
  const watch = watchCertificate({ first, read, serve: given.serve, log: given.log });
  defer(watch.close);
  showCertificate(given.registry, watch.endsAt);
  const reload = (): void => void watch.reload();
  process.on("SIGHUP", reload);
  defer(() => process.off("SIGHUP", reload));
}

/** What checks, publishes and keeps files. */
function openPublishing(parts: Foundation & ExecutionParts & { log: Log }, settings: Settings) {
  const { db, secretBox, environments, commitEnvironments, interpreters, log } = parts;
  const networkAvailable = parts.networkProblem() === undefined;
  const threads = createThreads({ threadsMax: THREADS_MAX });
  const abilities = { db, secretBox, interpreters, networkAvailable, bounds: boundsOf(settings), threads, log };
  return {
    abilities,
    publish: createPublisher({ ...abilities, environments, commitEnvironments, onPublished: warmInBackground(parts) }),
    preview: createPreview(abilities),
    keepDraft: createDraftKeeper({ ...abilities, environments }),
  };
}

/** What is counted, and how it is told. */
interface Counting {
  readonly registry: Registry;
  readonly metrics: () => Promise<string>;
}

/** By a port of its own, for processes that take no calls, and for who would not have figures on the port of callers. */
async function openDoorForMetrics(
  { settings }: StartInput,
  { metrics, readiness, log }: ExecutionParts & Counting & { log: Log },
  defer: Defer,
): Promise<void> {
  const { TREADLE_HOST: host, TREADLE_METRICS_PORT: port = 0 } = settings;
  const door = await openMetricsDoor({ host, port, readiness, metrics });
  defer(() => door.close());
  log.info({ event: "metrics.listening", port: door.port }, "Metrics are told on a port of their own.");
}

function openMetrics(
  { settings, machine }: StartInput,
  parts: Foundation & ExecutionParts & { registry: Registry; endedExecutions: EndedExecutions },
) {
  return createMetrics({
    ...parts,
    waitingCalls: parts.waiters.count,
    waitingCallsMax: settings.TREADLE_WAITING_CALLS_MAX,
    programsRunning: parts.python.runningCount,
    programsWaiting: () => parts.slots.waiting(),
    programsMax: parts.host.slotCount,
    programsByPath: parts.runsByPath,
    dataDir: machine.dataDir,
    build: { version: findVersion(), node: process.versions.node, role: settings.TREADLE_ROLE },
  });
}

/** `ready.json` is there from when the service is ready, now or later, until it closes. */
async function announce(
  dataDir: string,
  content: ReadyFile,
  { readiness, log }: ExecutionParts & { log: Log },
  defer: Defer,
): Promise<void> {
  const isReady = async (): Promise<boolean> => (await readiness()).ready;
  const onLate = (error: unknown): void =>
    error === undefined
      ? log.info({ event: "service.announced" }, "Ready now.")
      : log.warn({ event: "fault", error }, "It could not be announced that the service is ready.");
  defer(await announceWhenReady({ dataDir, content, isReady, onLate }));
}

/** What is not as it could be; where executions run all the same, it does not say that the service is not ready. */
function problemsOf({ ready, checks }: Readiness): string[] {
  return Object.entries(checks)
    .filter(([, check]) => !check.ok)
    .map(([name, check]) => `${ready ? "Note" : "Not ready"} (${name}): ${check.message}`);
}
