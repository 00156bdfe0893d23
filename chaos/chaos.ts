import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { checkEvidence, type Finding } from "./checker/check.ts";
import { PRICES } from "./checker/money.ts";
import { CHECKOUT } from "./checkout.ts";
import { type Cluster, keepCluster } from "./cluster/cluster.ts";
import { askTimetables } from "./cluster/timetables.ts";
import { type Disk, openDisk } from "./disk.ts";
import { type Evidence, gatherEvidence, type Places, placesIn, readUnderWay } from "./evidence.ts";
import { injectFault } from "./faults/inject.ts";
import { planFaults } from "./faults/plan.ts";
import { type HostileWorkflow, publishAttacks, runHostile } from "./hostile/load.ts";
import { findLeftovers, lookBefore } from "./leftovers.ts";
import { runCanceller } from "./load/canceller.ts";
import { findCapabilities } from "./load/capabilities.ts";
import { type LoadDeps, type Progress, runClients } from "./load/clients.ts";
import { createClock, createCommitter } from "./load/committer.ts";
import { planCalls } from "./load/plan.ts";
import { addPlaces, openReceivers, type Receivers } from "./load/receivers.ts";
import { createScheduleDriver } from "./load/schedule-driver.ts";
import { planSchedules } from "./load/schedules.ts";
import { hastenNotices } from "./notices.ts";
import type { ChaosOptions } from "./options.ts";
import { freePort } from "./ports.ts";
import { createRandom } from "./random.ts";
import { type ClientRecord, openRecord } from "./record.ts";
import { keepService, type Published, type Service } from "./service.ts";
import { settleDown } from "./settling.ts";
import { readTimetables, type Timetable } from "./timetables.ts";

const WORKFLOWS = ["tally", "outward", "pack", "faulty", "greedy", "endless"];
/** A call waits no longer, so that some are answered with 202. */
const WAIT_MAX_SECONDS = 10;
const FAULTS_APART_MS = 1_000;
/** After a notice, more of its kind come as one: in ten minutes, or when this time is over. */
const HASTENED_MS = 5_000;
/** Programs that run at the same time: those that only sleep until their schedule is due again leave room for others. */
const SLOTS = 8;
/** Commits that change a schedule, for each kill. */
const CHANGES_PER_KILL = 0.5;
const MICRO = 1_000_000;

export interface Outcome {
  readonly evidence: Evidence;
  readonly findings: readonly Finding[];
  readonly seconds: number;
  /** Record, log and evidence; removed when there is nothing to look into. */
  readonly folder: string;
}

/** One whole run: service, load and faults, then the check. Leaves nothing behind but the folder of a run with findings. */
export async function runChaos(options: {
  chaos: ChaosOptions;
  env: Readonly<Record<string, string | undefined>>;
  say: (line: string) => void;
  /** Ends the load; what has happened by then is checked. */
  signal?: AbortSignal;
}): Promise<Outcome> {
  const startedAt = performance.now();
  let isKept = true; // Until it is known that there is nothing to look into.
  const folder = await mkdtemp(join(tmpdir(), "treadle-chaos-"));
  await chmod(folder, 0o755);
  const temporaryDir = join(folder, "tmp");
  await mkdir(temporaryDir);
  await chmod(temporaryDir, 0o1777);
  const before = lookBefore();
  const disk = await openDisk(folder);
  const record = openRecord(join(folder, "record.ndjson"));
  const receivers = await openReceivers(record);
  const start = options.chaos.cluster ? startCluster : startAlone;
  const stage = await start({
    dataDir: disk.dataDir,
    logFile: join(folder, "service.log"),
    record,
    env: { ...options.env, ...settingsOf(temporaryDir), TREADLE_NOTICE_HOSTS: receivers.hosts },
  });
  const { service, places } = stage;
  try {
    await service.ready();
    const deps = await openLoad(options.chaos, { service, record, receivers, folder: join(folder, "workflows") });
    options.say(`The service is up; ${JSON.stringify(deps.capabilities)}. Data and record are in ${folder}.`);
    const committedAt = await runUnderFire(options, { ...stage, disk, record, deps });
    await settleDown({ service, disk, places, say: options.say }, committedAt);
    const evidence = await gatherEvidence(places, join(folder, "record.ndjson"), {
      hostile: deps.hostile.map(({ published }) => published.workflowId),
      readTimetables: stage.readTimetables,
    });
    const left = await service.stop({ last: true });
    const findings = [
      ...checkEvidence(evidence),
      ...left.map(({ pid }) => ({ rule: "left_behind", subject: `process ${pid}`, text: "outlived the last stop" })),
      ...findLeftovers({ before, dataDirs: places.dataDirs, folder, seen: service.everSeen(), temporaryDir }),
    ];
    await writeFile(join(folder, "evidence.json"), JSON.stringify(evidence, undefined, 1));
    isKept = findings.length > 0 || options.chaos.keep;
    return { evidence, findings, seconds: (performance.now() - startedAt) / 1000, folder };
  } finally {
    await stage.close();
    await receivers.close();
    record.close();
    await disk.remove();
    if (!isKept) await rm(folder, { recursive: true, force: true });
  }
}

/** A service that runs, and where its things are. */
interface Stage {
  readonly service: Service;
  readonly places: Places;
  /** Where there are several processes. */
  readonly cluster: Cluster | undefined;
  readTimetables(declared: readonly string[]): Promise<Timetable[]>;
  close(): Promise<void>;
}

interface Start {
  readonly dataDir: string;
  readonly logFile: string;
  readonly record: ClientRecord;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** As a user starts it: one process with its servers, all in one folder. Its port is chosen once, so that its address stays. */
async function startAlone({ dataDir, env, ...rest }: Start): Promise<Stage> {
  const port = await freePort();
  const url = `https://localhost:${port}`;
  const own = { ...env, TREADLE_DATA_DIR: dataDir, TREADLE_PORT: String(port) };
  const service = await keepService({ ...rest, url, members: [{ dataDir, url, saysSo: true, env: own }] });
  return {
    service,
    places: placesIn(dataDir),
    cluster: undefined,
    close: service.close,
    readTimetables: (declared) => readTimetables(dataDir, declared),
  };
}

async function startCluster(start: Start): Promise<Stage> {
  const cluster = await keepCluster(start);
  return {
    service: cluster.service,
    places: cluster.places,
    cluster,
    close: cluster.close,
    readTimetables: (declared) => askTimetables({ address: cluster.temporalAddress }, "treadle", declared),
  };
}

function settingsOf(temporaryDir: string): Record<string, string> {
  return {
    TMPDIR: temporaryDir,
    // One of them has a schedule, which no client of the drive committed.
    TREADLE_EXAMPLES: "none",
    TREADLE_WAIT_MAX_SECONDS: String(WAIT_MAX_SECONDS),
    TREADLE_SANDBOX_SLOTS: String(SLOTS),
    TREADLE_INITIAL_CREDITS: "1000000",
    TREADLE_CREDITS_PER_CPU_SECOND: String(PRICES.perCpuSecond / MICRO),
    TREADLE_CREDITS_PER_EXECUTION: String(PRICES.perExecution / MICRO),
    // A program begins when its worst case fits the disk, and the disk of a run is small.
    TREADLE_OUTPUT_BYTES_MAX: String(64 * 1024 ** 2),
    TREADLE_RATE_LIMIT_PER_MINUTE: "100000",
    TREADLE_RATE_LIMIT_BURST: "1000",
    TREADLE_ACCOUNT_RATE_LIMIT_PER_MINUTE: "100000",
  };
}

async function openLoad(
  { seed, schedules, kills, hostile }: ChaosOptions,
  {
    service,
    record,
    receivers,
    folder,
  }: { service: Service; record: ClientRecord; receivers: Receivers; folder: string },
): Promise<Load> {
  const workflows: Record<string, Published> = {};
  // Publishing leaves its memory in the folder, and the checkout is to stay as it is.
  await cp(join(CHECKOUT, "chaos/workflows"), folder, { recursive: true });
  const agent = await service.agent();
  const { apiUrl } = service;
  const operatorToken = await service.operatorToken();
  await addPlaces({ apiUrl, agent, operatorToken }, receivers.urls);
  for (const name of WORKFLOWS) workflows[name] = await service.publish(join(folder, name));
  const tally = workflows.tally as Published;
  const capabilities = await findCapabilities({ record, agent, apiUrl, tally, seed });
  const forget = (name: string): void => void delete workflows[name];
  const deps = { record, agent, apiUrl, workflows, capabilities, operatorToken, folder: join(folder, "clock"), forget };
  const plan = planSchedules(seed, { count: schedules, changes: Math.ceil(kills * CHANGES_PER_KILL) });
  for (const { name } of plan.workflows) workflows[name] = await createClock(deps, name);
  return {
    ...deps,
    schedules: createScheduleDriver(createCommitter(deps, { seed, workflows: plan.workflows }), plan),
    hostile: hostile ? await publishAttacks(service, join(folder, "hostile")) : [],
  };
}

type Load = LoadDeps & {
  readonly operatorToken: string;
  readonly schedules: ReturnType<typeof createScheduleDriver>;
  /** What a hostile tenant has published; empty unless one was asked for. */
  readonly hostile: readonly HostileWorkflow[];
};

interface Scene extends Pick<Stage, "service" | "places" | "cluster"> {
  readonly disk: Disk;
  readonly record: ClientRecord;
  readonly deps: Load;
}

/** The load goes on until enough executions were accepted and every fault and commit has come. Answers when the last commit was made. */
async function runUnderFire(
  { chaos, say, signal }: { chaos: ChaosOptions; say: (line: string) => void; signal?: AbortSignal },
  { service, places, cluster, disk, record, deps }: Scene,
): Promise<number> {
  const progress: Progress = { accepted: new Set() };
  const deadline = Date.now() + (chaos.secondsMax ?? Number.POSITIVE_INFINITY) * 1000;
  const faults = planFaults(chaos.seed, chaos.kills, chaos.cluster);
  let faultsLeft = faults.length;
  let committedAt: number | undefined;
  const isLate = (): boolean => Date.now() > deadline || signal?.aborted === true;
  const isOver = (): boolean =>
    isLate() || (faultsLeft === 0 && committedAt !== undefined && progress.accepted.size >= chaos.executions);

  const tell = (what: string): void => say(`${progress.accepted.size} accepted; ${what}`);
  const fire = async (): Promise<void> => {
    for (const fault of faults) {
      while (!isLate() && progress.accepted.size < fault.at * chaos.executions) await sleep(50);
      if (isLate()) return;
      const { at: _, ...what } = fault;
      tell(
        Object.values(what)
          .filter((word) => word !== undefined)
          .join(" "),
      );
      await injectFault({ service, disk, record, cluster }, fault);
      await service.ready();
      await sleep(FAULTS_APART_MS);
      faultsLeft -= 1;
    }
  };
  const hasStarted = async (): Promise<boolean> => {
    const found = await readUnderWay(places.database).catch(() => undefined);
    return found?.ticks.some(({ outcome }) => outcome === "started") === true;
  };
  const commit = async (): Promise<void> => {
    await deps.schedules.run({ executions: chaos.executions, progress, isLate, hasStarted, say: tell });
    committedAt = Date.now();
  };
  const hasten = async (): Promise<void> => {
    for (; !isOver(); await sleep(HASTENED_MS)) await hastenNotices(places.database).catch(() => undefined);
  };
  const { clients, executions } = chaos;
  await deps.schedules.begin();
  await Promise.all([
    fire(),
    commit(),
    runClients(deps, { calls: planCalls(chaos.seed), clients, executions, progress, isOver }),
    hasten(),
    runCanceller(deps, { random: createRandom(chaos.seed, "cancels"), progress, isOver }),
    ...(deps.hostile.length === 0
      ? []
      : [runHostile(deps, { random: createRandom(chaos.seed, "hostile"), workflows: deps.hostile, isOver })]),
  ]);
  return committedAt ?? Date.now();
}
