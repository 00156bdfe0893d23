import type { Registry } from "prom-client";
import type { Db } from "../../db/connect.ts";
import { microCredits, parseCredits } from "../../domain/credits.ts";
import type { ManifestBounds } from "../../domain/manifest/bounds.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Defer } from "../../system/releases.ts";
import { createThreads } from "../../system/threads/threads.ts";
import { boundsOf, type Settings } from "../config.ts";
import type { WorkersWatch } from "../executions/presence.ts";
import { retentionOf } from "../housekeeping/retention.ts";
import type { AppDeps } from "../http/deps.ts";
import { QUICK_BUILD_MS } from "../http/editor-parts.ts";
import { createRefusedCalls } from "../http/refused-calls.ts";
import { countConnections } from "../http/server/connection-metrics.ts";
import { createConnections } from "../http/server/connections.ts";
import { createRequestMetrics } from "../http/server/request-metrics.ts";
import type { SecretBox } from "../keys/secret-box.ts";
import type { Log, Output } from "../log.ts";
import { showCertificate } from "../metrics/certificate.ts";
import type { Readiness } from "../metrics/readiness.ts";
import { createDraftKeeper } from "../publish/keep-draft.ts";
import { createPreview } from "../publish/preview.ts";
import { createPublisher } from "../publish/publish.ts";
import { createPythonCheck } from "../publish/python-check.ts";
import { createPythonWarnings } from "../publish/python-warnings.ts";
import { createScriptReader } from "../publish/script-folder.ts";
import { createFindSetNames } from "../publish/set-names.ts";
import type { Machine } from "../setup/machine.ts";
import type { Temporal } from "../setup/servers/temporal.ts";
import { findVersion } from "../version.ts";
import { createBanner } from "./banner.ts";
import { watchCertificate } from "./certificate-watch.ts";
import type { DescriptorBudget } from "./descriptors.ts";
import type { CallersServer } from "./draining.ts";
import { publishExamples } from "./examples.ts";
import { grantRulesOf } from "./host-network.ts";
import { type Host, openSourceReader, type Programs } from "./host-programs.ts";
import { openHttpServer } from "./http-server.ts";
import { prepareInstallation } from "./installation.ts";
import { openPage } from "./page.ts";
import { announceWhenReady, type ReadyFile, readyFileOf } from "./ready-file.ts";

const CALLS_GRACE_MS = 3_000;
/** For the work of requests that callers choose the cost of: enough that one account leaves one to the others. */
const THREADS_MAX = 2;

export interface CallersDeps
  extends Pick<AppDeps, "executions" | "otherHosts" | "editorEvents" | "openAccess" | "keyUses" | "processId"> {
  readonly settings: Settings;
  readonly machine: Machine;
  /** The folder whose folders are published as examples, and are templates of workflows. */
  readonly examplesDir: string;
  /** Prints a line about what takes long at a start. */
  readonly report: (line: string) => void;
  readonly db: Db;
  readonly storage: Storage;
  readonly secretBox: SecretBox;
  readonly temporal: Temporal;
  readonly descriptors: DescriptorBudget;
  readonly programs: Programs;
  readonly host: Host;
  readonly offers: {
    readonly networkAvailable: () => boolean;
    readonly scratchProblem: () => string | undefined;
    /** The workers, in a process that runs no programs. */
    readonly workers: Pick<WorkersWatch, "pythons" | "ceilings"> | undefined;
  };
  /** Nobody learns that the service is there before. */
  readonly workersStarted: Promise<unknown> | undefined;
  readonly notices: AppDeps["notices"];
  readonly ticks: AppDeps["editor"]["ticks"];
  readonly readiness: () => Promise<Readiness>;
  /** Prometheus' text format. */
  readonly metrics: () => Promise<string>;
  /** Aborted when the process stops. */
  readonly leaving: AbortSignal;
  readonly registry: Registry;
  readonly log: Log;
}

interface Announcement {
  /** Prints the banner, and opens its page where that was asked for. To be called when nothing else is to be said. */
  readonly announce: (output: Output, opensPage: boolean) => void;
}

/**
 * Opens everything callers and operators need: publishing, the HTTP server, the examples, `ready.json` and the banner.
 * It is the last part that is opened and the first that is closed.
 */
export async function openForCallers(deps: CallersDeps, defer: Defer): Promise<CallersServer & Announcement> {
  const { settings, machine, examplesDir, db, storage, secretBox, programs } = deps;
  const { interpreters } = deps.host;
  const { readiness, registry, editorEvents, log } = deps;
  const { dataDir, certificate } = machine;
  const { environments, commitEnvironments } = programs;

  const installation = await prepareInstallation({
    db,
    secretBox,
    keysDir: machine.paths.keys,
    initialCredits: parseCredits(settings.TREADLE_INITIAL_CREDITS) ?? microCredits(0),
  });
  const threads = createThreads({ threadsMax: THREADS_MAX });
  const { networkAvailable, scratchProblem, workers } = deps.offers;
  const readSource = openSourceReader(deps.host, machine);
  const checkPython = readSource && createPythonCheck(readSource);
  const findSetNames = createFindSetNames(db);
  const findPythonWarnings = createPythonWarnings(threads);
  const abilities = {
    interpreters,
    networkAvailable,
    scratchProblem,
    threads,
    checkPython,
    findPythonWarnings,
    findSetNames,
    workerPythons: workers?.pythons,
    bounds: createBounds(settings, workers),
  };
  const publish = createPublisher({
    ...abilities,
    db,
    secretBox,
    environments,
    commitEnvironments,
    log,
  });
  const preview = createPreview(Object.assign({ db, secretBox }, abilities));
  const keepDraft = createDraftKeeper({ ...abilities, db, secretBox, environments, log });

  const refusedCalls = createRefusedCalls({ db, log });
  defer(() => refusedCalls.close());
  const connections = createConnections(deps.descriptors, { trustProxy: settings.TREADLE_TRUST_PROXY });
  countConnections(registry, connections);
  const server = await openHttpServer({
    settings,
    connections,
    certificate,
    temporal: deps.temporal,
    app: {
      db,
      storage,
      secretBox,
      executions: deps.executions,
      editor: {
        publish,
        preview,
        keepDraft,
        abilities,
        readScript: readSource && createScriptReader(readSource, interpreters),
        environments,
        ticks: deps.ticks,
        tickDays: retentionOf(settings).executionDays,
        examplesDir,
        commitProblems: commitEnvironments.problems,
        quickBuildMs: QUICK_BUILD_MS,
      },
      threads,
      notices: deps.notices,
      grantRules: grantRulesOf(settings),
      processId: deps.processId,
      version: findVersion(),
      readiness,
      metrics: deps.metrics,
      countRequest: createRequestMetrics(registry),
      liveLog: programs.spool.readLog,
      liveProgress: programs.progressOf,
      otherHosts: deps.otherHosts,
      editorEvents,
      openAccess: deps.openAccess,
      keyUses: deps.keyUses,
      refusedCalls,
      leaving: deps.leaving,
      log,
    },
  });
  defer(() => server.close(CALLS_GRACE_MS));
  const watch = watchCertificate({
    first: certificate,
    read: machine.readCertificate,
    serve: server.setCertificate,
    log,
  });
  defer(() => watch.close());
  showCertificate(registry, watch.endsAt);
  const reload = (): void => void watch.reload();
  process.on("SIGHUP", reload);
  defer(() => process.off("SIGHUP", reload));
  // Closed before the server: its streams have no end, so the server's calls would never be over.
  defer(() => editorEvents.close());

  // One machine shows what it can. What a cluster serves is its operator's choice.
  const examples =
    settings.TREADLE_ROLE === "all"
      ? await publishExamples({
          db,
          secretBox,
          publish,
          accountId: installation.account.id,
          folder: examplesDir,
          wanted: settings.TREADLE_EXAMPLES,
          dataDir,
          report: deps.report,
        })
      : { workflows: {}, notes: [] };
  await deps.workersStarted;
  const state = await readiness();
  const ready: ReadyFile = {
    url: server.url,
    apiUrl: server.apiUrl,
    local: server.local,
    caFile: certificate.caFile,
    temporalUiUrl: server.temporalUiUrl,
    signIn: installation.signIn,
    workflows: examples.workflows,
    pid: process.pid,
  };
  const removeReadyFile = await announceWhenReady({
    dataDir,
    content: ready,
    isReady: async () => (await readiness()).ready,
    onLate: (error) =>
      error === undefined
        ? log.info({ event: "service.announced" }, "Ready now.")
        : log.warn({ event: "fault", error }, "It could not be announced that the service is ready."),
  });
  defer(removeReadyFile);
  const place = { isTerminal: process.stdout.isTTY === true, readyFile: readyFileOf(dataDir) };
  const notes = [...examples.notes, ...listProblems(state)];
  const news = { isReady: state.ready, notes, isCertificateOwn: certificate.selfSigned };
  const announce = (output: Output, opensPage: boolean): void => {
    output.write(createBanner(ready, news, place));
    if (opensPage) openPage(machine.env, server.url);
  };
  return { announce, leave: () => server.leave(), endStreams: () => editorEvents.close() };
}

/** Returns what returns the most that a manifest may ask for: as much as the settings allow here, and on some worker. */
function createBounds(settings: Settings, workers: CallersDeps["offers"]["workers"]): () => ManifestBounds {
  const own = boundsOf(settings);
  return () => {
    const ceilings = workers?.ceilings();
    if (ceilings === undefined) return own;
    return {
      ...own,
      memoryBytesMax: Math.min(own.memoryBytesMax, ceilings.memoryBytes),
      cpuMax: Math.min(own.cpuMax, ceilings.cpu),
      scratchBytesMax: Math.min(own.scratchBytesMax, ceilings.scratchBytes),
    };
  };
}

/** Lists what is not as it could be. A note says that executions run all the same. */
function listProblems({ ready, checks }: Readiness): string[] {
  return Object.entries(checks)
    .filter(([, check]) => !check.ok)
    .map(([name, check]) => `${ready ? "Note" : "Not ready"} (${name}): ${check.message}`);
}
