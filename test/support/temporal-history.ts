import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestService } from "./service.ts";

export interface HistoryEvent {
  eventType: string;
  eventTime: string;
  [attributes: string]: unknown;
}

/** What Temporal's UI shows of an execution, through the interface the page itself uses. */
export async function readHistory(
  service: TestService,
  dataDir: string,
  executionId: string,
): Promise<{ info: Record<string, unknown>; events: HistoryEvent[]; text: string }> {
  const token = (await readFile(join(dataDir, "keys/operator-token"), "utf8")).trim();
  const read = async (url: string) => (await service.call(url, { headers: { authorization: `Bearer ${token}` } })).text;
  const base = `${service.ready.temporalUiUrl}/api/v1/namespaces/treadle/workflows/${executionId}`;
  for (;;) {
    const text = await read(`${base}/history`);
    // Temporal learns of a short execution a moment after its caller has the result.
    const events = (JSON.parse(text) as { history?: { events: HistoryEvent[] } }).history?.events ?? [];
    if (events.at(-1)?.eventType.includes("WORKFLOW_EXECUTION_COMPLETED")) {
      // Asked for last: before its end Temporal may not know of it at all.
      const described = JSON.parse(await read(base)) as { workflowExecutionInfo: Record<string, unknown> };
      return { info: described.workflowExecutionInfo, events, text: text + JSON.stringify(described) };
    }
    await sleep(100);
  }
}

/** What a payload of the history says. */
export function readPayload(payloads: unknown): unknown {
  const [first] = (payloads as { payloads: { data: string }[] }).payloads;
  return JSON.parse(Buffer.from(first?.data ?? "", "base64").toString("utf8"));
}

/** How many events of a type a history has. */
export const count = (events: HistoryEvent[], type: string): number =>
  events.filter((event) => event.eventType === `EVENT_TYPE_${type}`).length;
