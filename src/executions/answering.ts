import type { Readable } from "node:stream";
import type { Db } from "../../db/connect.ts";
import {
  answerLive,
  LIVE_ASKED,
  LIVE_BYTES_MAX,
  type LiveRequest,
  listLiveRequests,
} from "../../db/executions/live-requests.ts";
import type { Subscription } from "../../db/subscription.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import type { Progress } from "../../sandbox/sandbox.ts";
import type { Log } from "../log.ts";
import type { LiveState } from "./live-state.ts";

/** How long a line waits at most before its host sees it: with the way through the database, less than 300 ms. */
const LOOK_MS = 100;
/** Who still wants an answer has asked again by then. */
const KEPT_MS = 15_000;
/** Of all followers of all other processes; those beyond ask again. */
const REQUESTS_MAX = 2_000;

/** What this process knows of the executions that it runs. */
export interface OwnExecutions {
  /** Whether its program runs here, waits for a slot, or has its outputs recorded. */
  isHere(executionId: ExecutionId): boolean;
  readLog(executionId: ExecutionId, start: number, bytesMax?: number): Promise<Readable | undefined>;
  progressOf(executionId: ExecutionId): Progress | undefined;
  placeOf(executionId: ExecutionId): number | undefined;
}

export interface Answering {
  readonly subscription: Subscription;
  close(): void;
}

/**
 * Sends what is new to those who follow executions of this process from others. Nothing is read or written while nobody does. A
 * question for an execution that is not here is kept for a while: it may be about to begin here.
 */
export function answerFollowers(deps: { db: Db; hostId: string; own: OwnExecutions; log: Log }): Answering {
  const { db, hostId, own, log } = deps;
  const open = new Map<string, { readonly request: LiveRequest; readonly until: number }>();
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const complain = (error: unknown): void =>
    log.warn({ event: "fault", error }, "Those who follow an execution from another process could not be answered.");

  function keep(request: LiveRequest): void {
    if (closed || (open.size >= REQUESTS_MAX && !open.has(request.id))) return;
    open.set(request.id, { request, until: Date.now() + KEPT_MS });
    timer ??= setTimeout(look, LOOK_MS).unref();
    void answer(request).catch(complain);
  }

  function look(): void {
    const now = Date.now();
    const all = [...open.values()];
    for (const { request, until } of all) if (until < now) open.delete(request.id);
    const answers = all.filter(({ until }) => until >= now).map(({ request }) => answer(request));
    void Promise.allSettled(answers).then((results) => {
      for (const result of results) if (result.status === "rejected") complain(result.reason);
      timer = closed || open.size === 0 ? undefined : setTimeout(look, LOOK_MS).unref();
    });
  }

  async function answer(request: LiveRequest): Promise<void> {
    const { id, turn, executionId, known, wants } = request;
    if (!own.isHere(executionId)) return;
    const state = JSON.stringify(stateOf(executionId));
    const start = request.hostId === hostId ? request.start : 0;
    const lines = wants === "state" ? Buffer.alloc(0) : await readLines(own, executionId, start);
    if (wants === "news" && lines.length === 0 && state === known) return;
    if (open.get(id)?.request !== request) return;
    open.delete(id);
    await answerLive(db, { id, turn, hostId, lines, state });
  }

  function stateOf(executionId: ExecutionId): LiveState {
    return { progress: own.progressOf(executionId) ?? null, slotPosition: own.placeOf(executionId) ?? null };
  }

  return {
    subscription: {
      channel: LIVE_ASKED,
      onNotify: (payload) => keep(JSON.parse(payload) as LiveRequest),
      onReconnect: () => void listLiveRequests(db).then((requests) => requests.forEach(keep), complain),
    },
    close() {
      closed = true;
      clearTimeout(timer);
      open.clear();
    },
  };
}

async function readLines(own: OwnExecutions, executionId: ExecutionId, start: number): Promise<Buffer> {
  const log = await own.readLog(executionId, start, LIVE_BYTES_MAX);
  const chunks: Buffer[] = [];
  for await (const chunk of log ?? []) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
