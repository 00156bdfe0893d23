import type { Request } from "express";
import type { Db } from "../../db/connect.ts";
import {
  REFUSED_CALLS_KEPT,
  type RefusedCall,
  recordRefusedCalls,
  removeOldRefusedCalls,
} from "../../db/executions/refused-calls.ts";
import { ERROR_TEXT } from "../../domain/errors.ts";
import { isWorkflowId, type WorkflowId } from "../../domain/ids.ts";
import { repeat } from "../../system/repeating.ts";
import type { Log } from "../log.ts";
import { toApiError } from "./errors.ts";

const STORE_EVERY_MS = 5_000;
const REMOVE_EVERY = 720;
/** Of one interval. Ids can be invented, so their number has a bound; more are not noted then. */
const WORKFLOWS_MAX = 1_000;
const MESSAGE_CHARACTERS_MAX = 500;
const KEY_END_CHARACTERS = 4;
/** Of something shorter the end would be too much of it. */
const KEY_CHARACTERS_MIN = 16;

/** The calls that were refused, for the owners of the workflows. */
export interface RefusedCalls {
  /** Notes that a program's call was refused with this error. */
  note(request: Request, error: unknown): void;
  /** Stores what was noted since the last time. */
  store(): Promise<void>;
  /** Stores what is left, and stops. */
  close(): Promise<void>;
}

/**
 * Starts to note refused calls. It keeps the newest of each workflow in memory and stores them every five seconds, so a
 * flood of them costs one write. A process that is killed loses five seconds of them.
 */
export function createRefusedCalls({ db, log }: { db: Db; log: Log }): RefusedCalls {
  let noted = new Map<WorkflowId, RefusedCall[]>();
  let rounds = 0;

  async function store(): Promise<void> {
    const calls = [...noted].flatMap(([workflowId, list]) => list.map((call) => ({ ...call, workflowId })));
    noted = new Map();
    if (calls.length > 0) await recordRefusedCalls(db, calls);
    if (rounds % REMOVE_EVERY === 0) await removeOldRefusedCalls(db);
    rounds += 1;
  }

  const onError = (error: unknown): void => log.warn({ event: "fault", error }, "Refused calls were not stored.");
  const storing = repeat(store, { everyMs: STORE_EVERY_MS, onError, first: "later" });
  return {
    note(request, error) {
      const { workflowId } = request.params;
      const call = toRefusedCall(request, error);
      if (call === undefined || typeof workflowId !== "string" || !isWorkflowId(workflowId)) return;
      const list = noted.get(workflowId) ?? [];
      if (list.length === 0 && noted.size >= WORKFLOWS_MAX) return;
      // Those without the right key have a room of their own here, too.
      const alike = list.filter(({ status }) => (status === 401) === (call.status === 401));
      const others = list.filter((one) => !alike.includes(one));
      noted.set(workflowId, [...others, ...alike.slice(1 - REFUSED_CALLS_KEPT), call]);
    },
    store: storing.now,
    async close() {
      await storing.close();
      await store().catch(onError);
    },
  };
}

/** Undefined for what people in the editor are refused, which they are shown, and for faults of ours. */
function toRefusedCall(request: Request, error: unknown): RefusedCall | undefined {
  const key = request.get("x-api-key");
  if (key === undefined && (request.get("cookie") ?? request.get("authorization")) !== undefined) return undefined;
  const refusal = toApiError(error);
  if (refusal === undefined) return undefined;
  const keyEnd = key === undefined || key.length < KEY_CHARACTERS_MIN ? "" : key.slice(-KEY_END_CHARACTERS);
  const { status, code, message } = refusal;
  return {
    refusedAt: new Date(),
    status,
    error: ERROR_TEXT[code],
    // It may quote what was sent, and that may hold what cannot be stored.
    message: Buffer.from(message.slice(0, MESSAGE_CHARACTERS_MAX)).toString().replaceAll("\0", ""),
    keyEnd: /^[\w-]+$/.test(keyEnd) ? keyEnd : "",
  };
}
