import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import tar from "tar-stream";
import { request } from "undici";
import type { Declared } from "../record.ts";
import type { Published } from "../service.ts";
import { type LoadDeps, type Progress, publishedAs } from "./clients.ts";
import { sendRecorded } from "./requests.ts";
import type { SchedulesPlan } from "./schedules.ts";

const MINUTE_MS = 60_000;
const LOOK_MS = 100;
const AGAIN_MS = 500;
/** A service that has not taken a commit after this time will not any more. */
const COMMITTED_MAX_MS = 300_000;
/** After the first ticks were due, so long is waited for one that has started something: a record may take 75 seconds. */
const STARTED_MAX_MS = 150_000;
/** The last commits, after which nothing is due, come at this share of the run. */
const LAST_AT = 0.9;
const NUMBERS = [3, 1, 4, 1, 5, 9, 2, 6];

export type CommitterDeps = LoadDeps & {
  readonly operatorToken: string;
  /** The folder of the program, without any schedule. */
  readonly folder: string;
};

/** Makes a workflow of the folder, without a schedule: to commit one is part of the record, this is not. */
export async function createClock(deps: Omit<CommitterDeps, "workflows">, name: string): Promise<Published> {
  const answer = await request(`${deps.apiUrl}/operator/publish?${new URLSearchParams({ name }).toString()}`, {
    dispatcher: deps.agent,
    method: "POST",
    headers: { authorization: `Bearer ${deps.operatorToken}`, "content-type": "application/x-tar" },
    body: await packFolder(deps.folder, ""),
  });
  if (answer.statusCode !== 201) throw new Error(`${name} was not published: ${await answer.body.text()}`);
  return (await answer.body.json()) as Published;
}

/**
 * Commits schedules, one after the other and each until it is answered: `begin` the first, `run` the changes and, when a tick has
 * started something at least, the last. So what is declared, and since when, is known to the record but for the time a commit takes.
 */
export function createCommitter(deps: CommitterDeps, { seed, plan }: { seed: string; plan: SchedulesPlan }) {
  const heads = new Map(plan.workflows.map(({ name }) => [name, publishedAs(deps, name).commitId]));
  const secondsOf = new Map(plan.workflows.map(({ name, seconds }) => [name, seconds]));
  let commits = 0;
  let begunAt = 0;

  async function commit(name: string, declared: Declared | null): Promise<void> {
    commits += 1;
    const token = `${seed}-${name.replaceAll(" ", "-")}-${commits}`;
    const inputs = { token, numbers: NUMBERS.slice(0, 1 + (commits % NUMBERS.length)), seconds: secondsOf.get(name) };
    const { workflowId } = publishedAs(deps, name);
    const body = await packFolder(deps.folder, toSection(declared, inputs));
    const deadline = Date.now() + COMMITTED_MAX_MS;
    while (Date.now() < deadline) {
      const query = new URLSearchParams({ workflow: workflowId, message: token, expectedHead: heads.get(name) ?? "" });
      const heard = await sendRecorded(
        deps,
        { purpose: "publish", workflow: name, workflowId, token, inputs, schedule: declared },
        {
          url: `${deps.apiUrl}/operator/publish?${query.toString()}`,
          method: "POST",
          headers: { authorization: `Bearer ${deps.operatorToken}` },
          message: { contentType: "application/x-tar", body: Readable.from([body]) },
        },
      );
      if (heard.type === "answer" && heard.status === 200) {
        heads.set(name, String(heard.body?.commitId));
        return;
      }
      await sleep(AGAIN_MS);
    }
  }

  return {
    async begin(): Promise<void> {
      for (const { name, first } of plan.workflows) await commit(name, first);
      begunAt = Date.now();
    },
    async run(load: {
      executions: number;
      progress: Progress;
      isLate: () => boolean;
      /** Whether a tick has started something. */
      hasStarted: () => Promise<boolean>;
      say: (change: string) => void;
    }): Promise<void> {
      const wait = async (isTime: () => boolean): Promise<void> => {
        while (!isTime() && !load.isLate()) await sleep(LOOK_MS);
      };
      const hasCome = (share: number): boolean => load.progress.accepted.size >= share * load.executions;
      for (const { at, name, declared } of plan.changes) {
        await wait(() => hasCome(at));
        if (load.isLate()) break;
        load.say(`commit ${name}: ${describe(declared)}`);
        await commit(name, declared);
      }
      await wait(() => hasCome(LAST_AT));
      const dueAt = (Math.floor(begunAt / MINUTE_MS) + 1) * MINUTE_MS;
      if (plan.workflows.length > 0) await wait(() => Date.now() > dueAt);
      while (plan.workflows.length > 0 && Date.now() < dueAt + STARTED_MAX_MS && !load.isLate()) {
        if (await load.hasStarted()) break;
        await sleep(AGAIN_MS);
      }
      for (const { name, declared } of plan.last) await commit(name, declared);
    },
  };
}

function describe(declared: Declared | null): string {
  return declared === null ? "no schedule" : `${declared.cron}${declared.enabled ? "" : ", paused"}`;
}

/** What a commit adds to the manifest of the folder, which ends with its triggers. JSON is YAML. */
function toSection(declared: Declared | null, payload: Readonly<Record<string, unknown>>): string {
  if (declared === null) return `# ${String(payload.token)}\n`;
  const { jitterSeconds: jitter, ...rest } = declared;
  return `  schedule: ${JSON.stringify({ ...rest, jitter, payload })}\n`;
}

async function packFolder(folder: string, section: string): Promise<Buffer> {
  const pack = tar.pack();
  pack.entry({ name: "main.py" }, await readFile(join(folder, "main.py"), "utf8"));
  pack.entry({ name: "config.yaml" }, (await readFile(join(folder, "config.yaml"), "utf8")) + section);
  pack.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of pack as unknown as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
