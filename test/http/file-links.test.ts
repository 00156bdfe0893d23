import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, test } from "@jest/globals";
import { aWorkflow, type TestWorkflow } from "../support/builders.ts";
import type { Answer } from "../support/https.ts";
import { aFileService, anEndedExecution } from "./service.ts";

let workflow: TestWorkflow;

const service = await aFileService();

beforeAll(async () => {
  workflow = await aWorkflow(service.db);
});

const NAME = "sub/ä b?.txt";

async function aFile(): Promise<string> {
  const executionId = await anEndedExecution(service, workflow, {
    outputs: { [NAME]: { content: "the content" }, "other.txt": { content: "another" } },
  });
  return `/api/run-logs/${executionId}/files/`;
}

function ask(path: string, body?: unknown, key = workflow.apiKey): Promise<Answer> {
  return service.call(path, {
    method: "POST",
    headers: { "x-api-key": key, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** The next letter of base64: in the last place of 43 it stands for the same 32 bytes, whose last four bits it begins with. */
function sameBytes(last: string): string {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return letters[letters.indexOf(last) + 1] as string;
}

/** The path and query of a new link. */
async function aLink(files: string, body?: unknown): Promise<URL> {
  const answer = await ask(`${files}${encodeURIComponent(NAME)}/link`, body);
  expect(answer.status).toBe(200);
  return new URL((answer.json() as { url: string }).url);
}

test("link, to a file, lets anybody read it, in parts too, until it expires", async () => {
  const files = await aFile();
  const answer = await ask(`${files}${encodeURIComponent(NAME)}/link`);
  const { url, expiresAt } = answer.json() as { url: string; expiresAt: string };
  expect(new Date(expiresAt).getTime() - Date.now()).toBeGreaterThan(3_500_000);
  const { pathname, search } = new URL(url);
  expect(pathname).toBe(`${files}${encodeURIComponent(NAME)}`);
  const read = await service.call(`${pathname}${search}`, { headers: { range: "bytes=4-6" } });
  expect([read.status, read.text()]).toEqual([206, "con"]);
});

test("link, once its time is over, is refused, whoever brings a key as well", async () => {
  const { pathname, search } = await aLink(await aFile(), { expiresInSeconds: 4 });
  expect((await service.call(`${pathname}${search}`)).status).toBe(200);
  await sleep(5_100);
  const late = await service.call(`${pathname}${search}`, { headers: { "x-api-key": workflow.apiKey } });
  expect([late.status, late.json()]).toEqual([
    401,
    { error: "Unauthorized", message: expect.stringContaining("expired") },
  ]);
});

test.each<[what: string, change: (link: URL, files: string) => string]>([
  ["for another file", ({ search }, files) => `${files}other.txt${search}`],
  ["with a later end", ({ pathname, search }) => `${pathname}${search.replace(/expires=\d+/, "expires=9999999999")}`],
  ["without its signature", ({ pathname, search }) => `${pathname}${search.replace(/&signature=.*/, "")}`],
  [
    "with one character changed",
    ({ pathname, search }) =>
      `${pathname}${search.replace(/signature=(.)/, (_all, first) => `signature=${first === "A" ? "B" : "A"}`)}`,
  ],
  [
    "with its last letter as another of the same bytes",
    ({ pathname, search }) => `${pathname}${search.replace(/.$/, (last) => sameBytes(last))}`,
  ],
  ["with padding", ({ pathname, search }) => `${pathname}${search}%3D`],
  ["with another character among the letters", ({ pathname, search }) => `${pathname}${search}.`],
  ["with a zero before its end", ({ pathname, search }) => `${pathname}${search.replace("expires=", "expires=0")}`],
  ["with two signatures", ({ pathname, search }) => `${pathname}${search}&signature=x`],
])("link, %s, is refused", async (_what, change) => {
  const files = await aFile();
  const answer = await service.call(change(await aLink(files), files));
  expect([answer.status, answer.json()]).toEqual([401, { error: "Unauthorized", message: expect.any(String) }]);
});

test.each<[what: string, body: unknown, message: RegExp]>([
  ["more than a week", { expiresInSeconds: 604_801 }, /at most 604800/],
  ["no time", { expiresInSeconds: 0 }, /at least 1/],
  ["a text", { expiresInSeconds: "600" }, /whole number/],
  ["something else", { seconds: 5 }, /seconds/],
])("link, asked for with %s, is not made", async (_what, body, message) => {
  const answer = await ask(`${await aFile()}other.txt/link`, body);
  expect([answer.status, answer.json()]).toMatchObject([400, { message: expect.stringMatching(message) }]);
});

test("link, to a file that is not there, or asked for with a foreign key, is not made", async () => {
  const files = await aFile();
  expect((await ask(`${files}nothing.txt/link`)).status).toBe(404);
  expect((await ask(`${files}other.txt/link`, undefined, (await aWorkflow(service.db)).apiKey)).status).toBe(401);
});
