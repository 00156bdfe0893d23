import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "@jest/globals";
import { listTree, waitForDeath } from "../../chaos/processes.ts";
import type { Timetable } from "../../chaos/timetables.ts";
import { TICKS_PAGE_MAX } from "../../domain/api/limits.ts";
import { aFolder, type CommandAnswer, treadle } from "../support/command-line.ts";
import { aPlace } from "../support/place.ts";
import type { TestService } from "../support/service.ts";

export interface Tick {
  readonly nominalAt: string;
  readonly outcome: string;
  readonly reason: string;
  readonly source: string;
  readonly lateSeconds: number;
  readonly executionId: string | null;
}

/** A tick that Temporal did not fire has its record some seconds after its time; a busy machine may take longer. */
const PATIENCE_MS = 300_000;
/** A killed service takes its processes with it within 20 seconds. */
const DEATH_MS = 60_000;
const LOOK_MS = 500;

/** A service with schedules, as its users have it: started, killed and asked from the outside. */
export async function aScheduledService() {
  const place = await aPlace();
  const { dataDir } = place;
  let service: TestService = await place.start();
  const command = (args: readonly string[]): Promise<CommandAnswer> => treadle(dataDir, args);

  /** Publishes a program with a schedule, which returns its region after some seconds. */
  const publish = (schedule: string, workflowId?: string) =>
    publishTriggers(`  schedule: { ${schedule} }\n`, workflowId);

  /** The same with any triggers, in lines that are indented. */
  async function publishTriggers(
    triggers: string,
    workflowId?: string,
  ): Promise<{ workflowId: string; apiKey: string }> {
    const inputs = "inputs:\n  region: { type: string, default: US }\n  seconds: { type: number, default: 0 }\n";
    const folder = await aFolder({
      "config.yaml": `${inputs}triggers:\n${triggers}`,
      "main.py":
        "import time\nimport treadle\n\n\ndef main(region, seconds):\n    time.sleep(seconds)\n    run = treadle.run\n    return {'region': region, 'due': [run.id, run.trigger, run.scheduled_for, run.previous_scheduled_for]}\n",
    });
    const given = workflowId === undefined ? [] : ["--workflow", workflowId];
    const published = await command(["publish", folder, ...given, "--json"]);
    expect([published.code, published.stderr]).toEqual([0, expect.any(String)]);
    return published.json() as { workflowId: string; apiKey: string };
  }

  /** The ticks of a workflow, or of the schedule of this name, the oldest first. */
  async function listTicks(workflowId: string, name?: string): Promise<Tick[]> {
    const of = name === undefined ? [] : ["--schedule", name];
    const { ticks } = (await command(["schedules", "ticks", workflowId, ...of, "-n", "500", "--json"])).json();
    return (ticks as Tick[]).toReversed();
  }

  /** The same, asked of the service itself, as a process for each look would take much of the machine. */
  async function askTicks(workflowId: string, name?: string): Promise<Tick[]> {
    const token = (await readFile(join(dataDir, "keys/operator-token"), "utf8")).trim();
    const query = `limit=${TICKS_PAGE_MAX}${name === undefined ? "" : `&schedule=${name}`}`;
    const headers = { authorization: `Bearer ${token}` };
    const { status, body } = await service.call(`/workflows/${workflowId}/ticks?${query}`, { method: "GET", headers });
    expect([status, body["nextBefore"]]).toEqual([200, null]);
    return (body["ticks"] as Tick[]).toReversed();
  }

  return {
    place,
    command,
    publish,
    publishTriggers,
    listTicks,
    service: () => service,
    /** Looks until a workflow's ticks are as wanted, and answers them. */
    async ticksUntil(
      workflowId: string,
      areWanted: (ticks: readonly Tick[]) => boolean,
      name?: string,
    ): Promise<Tick[]> {
      const deadline = Date.now() + PATIENCE_MS;
      for (;;) {
        const ticks = await askTicks(workflowId, name);
        if (areWanted(ticks)) return ticks;
        if (Date.now() > deadline)
          throw new Error(`The ticks are ${JSON.stringify(ticks)}.\n${service.output().slice(-5_000)}`);
        await sleep(LOOK_MS);
      }
    },
    async findSchedule(workflowId: string): Promise<object | undefined> {
      const { schedules } = (await command(["schedules", "list", "--json"])).json();
      return (schedules as { workflowId: string }[]).find((schedule) => schedule.workflowId === workflowId);
    },
    /** Kills it, does something while nothing of it is left, and starts it again. */
    async whileDead(act: () => Promise<void>): Promise<void> {
      const tree = listTree(service.child.pid as number);
      await service.stop("SIGKILL");
      expect(await waitForDeath(tree, DEATH_MS)).toEqual([]);
      await act();
      service = await place.start();
    },
    /** What its Temporal has to fire, once that is what is declared. */
    async readTimetables(declared: readonly string[]): Promise<Timetable[]> {
      const wanted = declared.toSorted().join();
      for (const deadline = Date.now() + PATIENCE_MS; ; ) {
        const timetables = await place.readTimetables(declared);
        if (timetables.map(({ workflowId }) => workflowId).join() === wanted || Date.now() > deadline)
          return timetables;
      }
    },
    async close(): Promise<void> {
      await service.stop();
      await place.remove();
    },
  };
}

export type ScheduledService = Awaited<ReturnType<typeof aScheduledService>>;
