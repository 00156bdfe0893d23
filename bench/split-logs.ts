import { request } from "undici";
import { type Figure, toFigure } from "./figures.ts";
import type { BenchService, Published } from "./service.ts";

/** It begins to print when whoever follows is there, and prints at what time it did. */
export const PRINTING = `import time

def main(name):
    time.sleep(0.5)
    print(time.time_ns())
    time.sleep(0.2)
`;
const NANOSECONDS_PER_MS = 1_000_000;

/** Measures how long after a program has printed its first line a follower has it, in milliseconds, through a process that runs nothing. */
export async function measureFirstLines(api: BenchService, workflow: Published, rounds: number): Promise<Figure> {
  const delays: number[] = [];
  for (let round = 0; round < rounds; round += 1) delays.push(await measureFirstLine(api, workflow));
  return toFigure(delays);
}

async function measureFirstLine({ ready, agent }: BenchService, workflow: Published): Promise<number> {
  const headers = { "x-api-key": workflow.apiKey };
  const begun = await request(`${ready.apiUrl}/workflows/${workflow.workflowId}/execute`, {
    method: "POST",
    dispatcher: agent,
    headers: { ...headers, "content-type": "application/json", prefer: "respond-async" },
    body: JSON.stringify({ name: "Ada" }),
  });
  const { executionId } = (await begun.body.json()) as { executionId: string };
  const followed = await request(`${ready.apiUrl}/run-logs/${executionId}/logs`, {
    dispatcher: agent,
    headers: { ...headers, accept: "text/event-stream" },
  });
  let seen = "";
  let delay: number | undefined;
  for await (const part of followed.body.setEncoding("utf8")) {
    seen += String(part);
    const printed = /"text":"(\d{19})"/.exec(seen)?.[1];
    if (printed !== undefined) delay ??= Date.now() - Number(BigInt(printed) / BigInt(NANOSECONDS_PER_MS));
  }
  if (delay === undefined) throw new Error(`The log of ${executionId} had no line: ${seen}`);
  return delay;
}
