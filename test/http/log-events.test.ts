import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, test } from "@jest/globals";
import type { ExecutionId } from "../../domain/ids.ts";
import { anExecution, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import type { Answer } from "../support/https.ts";
import { aFileService, anEndedExecution, succeed } from "./service.ts";

let workflow: TestWorkflow;
const live = new Map<string, Buffer>();
/** How often somebody looked how far a program is. */
let looks = 0;
const leaving = new AbortController();
const progress = new Map<string, { fraction: number; message: string }>();

const service = await aFileService({
  liveLog: async (id, start = 0) => (live.has(id) ? Readable.from([live.get(id)?.subarray(start)]) : undefined),
  leaving: leaving.signal,
  liveProgress: (id) => {
    looks += 1;
    return progress.get(id);
  },
});

beforeAll(async () => {
  workflow = await aWorkflow(service.db);
});

const lineOf = (id: number, text = `line ${id}`): string =>
  `${JSON.stringify({ id, time: "2026-05-01T10:00:00.000Z", stream: "stdout", text })}\n`;

function follow(executionId: ExecutionId, headers: Record<string, string> = {}): Promise<Answer> {
  return service.call(`/api/run-logs/${executionId}/logs`, {
    headers: { "x-api-key": workflow.apiKey, accept: "text/event-stream", ...headers },
  });
}

/** Numbers of the lines, then the name of the last event. */
function eventsOf(answer: Answer): string[] {
  return answer
    .text()
    .split("\n\n")
    .filter((event) => event !== "" && !event.startsWith(":"))
    .map((event) => /^(?:id|event): (.*)$/m.exec(event)?.[1] ?? event);
}

test("events, of an ended execution, are its lines and its result, and then the end", async () => {
  const executionId = await anEndedExecution(service, workflow, { log: [lineOf(1, "größe\n😀"), lineOf(2)] });
  const answer = await follow(executionId);
  expect(answer.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
  const [first, second, result] = answer.text().split("\n\n");
  expect(first).toBe(
    `id: 1\ndata: ${JSON.stringify({ time: "2026-05-01T10:00:00.000Z", stream: "stdout", text: "größe\n😀" })}`,
  );
  expect(second).toContain("id: 2\n");
  expect(JSON.parse(/^event: result\ndata: (.*)$/.exec(result ?? "")?.[1] ?? "")).toMatchObject({
    status: "success",
    executionId,
  });
});

test("events, asked for behind a line, go on exactly there", async () => {
  const executionId = await anEndedExecution(service, workflow, { log: [1, 2, 3, 4].map((id) => lineOf(id)) });
  expect(eventsOf(await follow(executionId, { "last-event-id": "2" }))).toEqual(["3", "4", "result"]);
  expect(eventsOf(await follow(executionId, { "last-event-id": "no number" }))).toEqual(["1", "2", "3", "4", "result"]);
});

test("events, while it runs, come as lines are written, each once, also where a line was half written", async () => {
  const executionId = await anExecution(service.db, { workflow });
  const whole = Buffer.from([1, 2, 3].map((id) => lineOf(id, `ä ${id}`)).join(""));
  const append = async (end: number): Promise<void> => {
    live.set(executionId, whole.subarray(0, end));
    await sleep(350);
  };
  const answer = follow(executionId);
  const firstLine = whole.indexOf("\n") + 1;
  for (const end of [0, firstLine, firstLine + 20, whole.length]) await append(end);
  await succeed(service.db, { executionId });
  expect(eventsOf(await answer)).toEqual(["status", "1", "2", "3", "result"]);
});

test("events, while a program says how far it is, tell it once each time", async () => {
  const executionId = await anExecution(service.db, { workflow });
  const answer = follow(executionId);
  for (const [fraction, message] of [
    [0.25, "reading"],
    [0.5, "writing"],
  ] as const) {
    progress.set(executionId, { fraction, message });
    for (const before = looks; looks < before + 2; ) await sleep(10);
  }
  await succeed(service.db, { executionId });
  const events = (await answer)
    .text()
    .split("\n\n")
    .filter((event) => event.startsWith("event: progress"));
  expect(events.map((event) => JSON.parse(event.split("\ndata: ")[1] ?? "") as unknown)).toEqual([
    { fraction: 0.25, message: "reading" },
    { fraction: 0.5, message: "writing" },
  ]);
});

test("events, of a program that ends as soon as it has said how far it is, tell that before the result", async () => {
  const executionId = await anExecution(service.db, { workflow });
  const answer = follow(executionId);
  for (const before = looks; looks === before; ) await sleep(10);
  progress.set(executionId, { fraction: 1, message: "done" });
  await succeed(service.db, { executionId });
  expect(eventsOf(await answer)).toEqual(["status", "progress", "result"]);
});

test("logs, for who takes anything, are plain text as before", async () => {
  const executionId = await anEndedExecution(service, workflow, { log: [lineOf(1)] });
  const answer = await follow(executionId, { accept: "*/*" });
  expect(answer.text()).toBe("2026-05-01T10:00:00.000Z stdout line 1\n");
});

// The last test: the service is stopping from then on.
test("events, of a process that stops, tell what there is and end with the time to ask again; of what has ended, the result", async () => {
  const executionId = await anExecution(service.db, { workflow });
  live.set(executionId, Buffer.from(lineOf(1)));
  const answer = follow(executionId);
  for (const before = looks; looks < before + 2; ) await sleep(10);
  live.set(executionId, Buffer.from(lineOf(1) + lineOf(2)));
  leaving.abort();
  expect(eventsOf(await answer)).toEqual(["status", "1", "2", "retry: 2000"]);
  const ended = await anEndedExecution(service, workflow, { log: [lineOf(1)] });
  expect(eventsOf(await follow(ended))).toEqual(["1", "result"]);
});
