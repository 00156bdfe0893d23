import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Agent } from "undici";
import type { AnswerLine, ClientRecord } from "../record.ts";
import type { Published } from "../service.ts";
import type { Capabilities } from "./capabilities.ts";
import { toMessage } from "./messages.ts";
import type { CallPlan } from "./plan.ts";
import { type Heard, sendRecorded } from "./requests.ts";

const REFUSED_PAUSE_MS = 250;
const LOOK_AGAIN_MS = 500;
const LOOKS_MAX = 60;
const REPEATS_MAX = 8;
const ENDED: readonly unknown[] = ["success", "failed", "timed_out", "out_of_memory", "cancelled"];

export interface LoadDeps {
  readonly record: ClientRecord;
  readonly agent: Agent;
  readonly apiUrl: string;
  readonly workflows: Readonly<Record<string, Published>>;
  readonly capabilities: Capabilities;
}

/** What the load has reached so far. */
export interface Progress {
  /** Executions that a client has been told of. */
  readonly accepted: Set<string>;
}

/** Between two calls of a client, when there are as many executions as were asked for: what is left waits for faults and clocks. */
const CALM_MS = 500;

/** Several clients, each making one call after the other from the same list, until `isOver`; fewer calls after `executions`. */
export async function runClients(
  deps: LoadDeps,
  load: { calls: Generator<CallPlan>; clients: number; executions: number; progress: Progress; isOver: () => boolean },
): Promise<void> {
  const client = async (): Promise<void> => {
    while (!load.isOver()) {
      const { value: call } = load.calls.next() as { value: CallPlan };
      await makeCall(deps, call, load.progress);
      await sleep(call.restMs + (load.progress.accepted.size < load.executions ? 0 : CALM_MS));
    }
  };
  await Promise.all(Array.from({ length: load.clients }, client));
}

async function makeCall(deps: LoadDeps, call: CallPlan, progress: Progress): Promise<void> {
  const keyed = deps.capabilities.idempotency && call.keyed !== "no";
  const key = keyed ? randomUUID() : undefined;
  const once = async (): Promise<string | undefined> => note(await execute(deps, call, key), progress);
  const ids = await Promise.all(keyed && call.keyed === "doubled" ? [once(), once()] : [once()]);
  const executionId = ids.find((id) => id !== undefined);
  if (executionId !== undefined && call.follows) await follow(deps, call.workflow, executionId);
}

function note(heard: Heard, { accepted }: Progress): string | undefined {
  const id = heard.type === "answer" ? heard.body?.executionId : undefined;
  if (typeof id !== "string") return undefined;
  accepted.add(id);
  return id;
}

/** Sends a call until it is sent; with a key, until it is answered. */
async function execute(deps: LoadDeps, call: CallPlan, idempotencyKey: string | undefined): Promise<Heard> {
  const { workflowId, apiKey } = publishedAs(deps, call.workflow);
  const prefer = deps.capabilities.preferences ? call.prefer : undefined;
  for (let repeats = 0; ; repeats += 1) {
    const heard = await sendRecorded(
      deps,
      {
        purpose: "execute",
        workflow: call.workflow,
        token: call.token,
        inputs: call.inputs,
        files: call.files,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        ...(prefer === undefined ? {} : { prefer }),
      },
      {
        url: `${deps.apiUrl}/workflows/${workflowId}/execute`,
        method: "POST",
        headers: {
          "x-api-key": apiKey,
          ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
          ...(prefer === undefined ? {} : { prefer }),
        },
        message: toMessage(call),
        hangUpMs: call.hangUpMs,
      },
    );
    const isUnsent = heard.type === "silence" && heard.cause === "refused";
    if (isUnsent) repeats -= 1;
    const isOpen = isUnsent || isWorthRepeating(heard, idempotencyKey !== undefined);
    if (!isOpen || repeats >= REPEATS_MAX) return heard;
    await sleep(retryAfterMs(heard));
  }
}

/** Told to come again; or, with a key, told nothing that is final. */
function isWorthRepeating(heard: Heard, isKeyed: boolean): boolean {
  if (heard.type === "silence") return isKeyed && heard.cause === "broken";
  if (heard.status === 429) return true;
  return isKeyed && heard.status >= 500 && heard.body?.executionId === undefined;
}

function retryAfterMs(heard: Heard): number {
  const seconds = heard.type === "answer" ? Number(heard.headers["retry-after"] ?? Number.NaN) : Number.NaN;
  return Number.isFinite(seconds) ? Math.min(seconds, 5) * 1_000 : REFUSED_PAUSE_MS;
}

/** Looks at an execution until it has ended, then at its log and all of its files. */
async function follow(deps: LoadDeps, workflow: string, executionId: string): Promise<void> {
  const { apiKey } = publishedAs(deps, workflow);
  const get = (path: string, asked: { purpose: "result" | "log" | "file"; fileName?: string }): Promise<Heard> =>
    sendRecorded(
      deps,
      { ...asked, workflow, executionId },
      { url: `${deps.apiUrl}/run-logs/${executionId}${path}`, method: "GET", headers: { "x-api-key": apiKey } },
    );
  const seen = await lookUntilEnded(() => get("", { purpose: "result" }));
  if (seen === undefined) return;
  await get("/logs", { purpose: "log" });
  for (const url of Object.values((seen.body?.outputs ?? {}) as Record<string, string>)) {
    const name = url.slice(url.lastIndexOf("/") + 1);
    await get(`/files/${name}`, { purpose: "file", fileName: decodeURIComponent(name) });
  }
}

async function lookUntilEnded(look: () => Promise<Heard>): Promise<AnswerLine | undefined> {
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    const heard = await look();
    if (heard.type === "answer" && heard.status === 200 && ENDED.includes(heard.body?.status)) return heard;
    await sleep(LOOK_AGAIN_MS);
  }
  return undefined;
}

export function publishedAs({ workflows }: Pick<LoadDeps, "workflows">, name: string): Published {
  const published = workflows[name];
  if (published === undefined) throw new Error(`The workflow ${name} was not published.`);
  return published;
}
