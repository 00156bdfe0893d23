import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import tar from "tar-stream";
import { request } from "undici";
import type { AnswerLine, Declared } from "../record.ts";
import type { Published } from "../service.ts";
import { type LoadDeps, publishedAs } from "./clients.ts";
import { type Asked, type Sending, sendRecorded } from "./requests.ts";
import type { PlannedCommit, ScheduledPlan } from "./schedules.ts";

const MINUTE_MS = 60_000;
const AGAIN_MS = 500;
/** A service that has not done what it was asked for after this time will not any more. */
const DONE_MAX_MS = 300_000;
const NUMBERS = [3, 1, 4, 1, 5, 9, 2, 6];

export type CommitterDeps = LoadDeps & {
  readonly operatorToken: string;
  /** The folder of the program, without any schedule. */
  readonly folder: string;
  /** Told of a workflow that is deleted: nothing of it can be asked for any more. */
  readonly forget: (name: string) => void;
};

/** Makes a workflow of the folder, without a schedule: to commit one is part of the record, this is not. */
export async function createClock(deps: Omit<CommitterDeps, "workflows">, name: string): Promise<Published> {
  const answer = await request(`${deps.apiUrl}/publish?${new URLSearchParams({ name }).toString()}`, {
    dispatcher: deps.agent,
    method: "POST",
    headers: { authorization: `Bearer ${deps.operatorToken}`, "content-type": "application/x-tar" },
    body: await packFolder(deps.folder, ""),
  });
  if (answer.statusCode !== 201) throw new Error(`${name} was not published: ${await answer.body.text()}`);
  return (await answer.body.json()) as Published;
}

/** Asks for something of a workflow, in the name of the operator, until it is done. Undefined: it was not within minutes. */
async function askUntilDone(
  deps: CommitterDeps,
  asked: Pick<Asked, "purpose" | "workflow" | "inputs" | "schedule" | "from" | "to"> & { token: string },
  toSending: (workflowId: string) => Omit<Sending, "headers">,
  ends: readonly number[] = [200],
): Promise<AnswerLine | undefined> {
  const { workflowId } = publishedAs(deps, asked.workflow);
  const deadline = Date.now() + DONE_MAX_MS;
  const headers = { authorization: `Bearer ${deps.operatorToken}` };
  while (Date.now() < deadline) {
    const heard = await sendRecorded(deps, { ...asked, workflowId }, { ...toSending(workflowId), headers });
    if (heard.type === "answer" && ends.includes(heard.status)) return heard;
    await sleep(AGAIN_MS);
  }
  return undefined;
}

/**
 * Commits schedules, asks for past ticks and deletes workflows, each until it is answered. So what is declared, and since when, is known to
 * the record but for the time a commit takes.
 */
export function createCommitter(
  deps: CommitterDeps,
  { seed, workflows }: { seed: string; workflows: readonly ScheduledPlan[] },
) {
  const heads = new Map(workflows.map(({ name }) => [name, publishedAs(deps, name).commitId]));
  const secondsOf = new Map(workflows.map(({ name, seconds }) => [name, seconds]));
  let steps = 0;
  const nextToken = (name: string): string => `${seed}-${name.replaceAll(" ", "-")}-${++steps}`;

  return {
    async commit({ name, declared }: PlannedCommit): Promise<void> {
      const token = nextToken(name);
      const numbers = NUMBERS.slice(0, 1 + (steps % NUMBERS.length));
      const inputs = { token, numbers, seconds: secondsOf.get(name) };
      const body = await packFolder(deps.folder, toSection(declared, inputs));
      const asked = { purpose: "publish", workflow: name, token, inputs, schedule: declared } as const;
      const heard = await askUntilDone(deps, asked, (workflow) => {
        const query = new URLSearchParams({ workflow, message: token, expectedHead: heads.get(name) ?? "" });
        return {
          url: `${deps.apiUrl}/publish?${query.toString()}`,
          method: "POST",
          message: { contentType: "application/x-tar", body: Readable.from([body]) },
        };
      });
      if (heard !== undefined) heads.set(name, String(heard.body?.commitId));
    },
    /** What was due in so many minutes that are past now. */
    async backfill(name: string, minutes: number): Promise<void> {
      const to = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
      const from = to - minutes * MINUTE_MS;
      const times = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
      const asked = { purpose: "backfill", workflow: name, token: nextToken(name), from, to } as const;
      await askUntilDone(deps, asked, (workflow) => ({
        url: `${deps.apiUrl}/workflows/${workflow}/backfills`,
        method: "POST",
        message: { contentType: "application/json", body: JSON.stringify(times) },
      }));
    },
    async remove(name: string): Promise<void> {
      const asked = { purpose: "delete", workflow: name, token: nextToken(name), schedule: null } as const;
      const toSending = (workflow: string): Omit<Sending, "headers"> => ({
        url: `${deps.apiUrl}/workflows/${workflow}`,
        method: "DELETE",
      });
      // When it was deleted by a try that was not answered, it is not found.
      await askUntilDone(deps, asked, toSending, [200, 404]);
      deps.forget(name);
    },
  };
}

export type Committer = ReturnType<typeof createCommitter>;

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
