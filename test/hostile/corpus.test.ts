import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { FILE_NAME_ENTRIES } from "./corpus/file-names.ts";
import { FILE_ENTRIES } from "./corpus/files.ts";
import { FORM_TEXT_ENTRIES } from "./corpus/form-texts.ts";
import { FORM_ENTRIES } from "./corpus/forms.ts";
import { FRAMING_ENTRIES } from "./corpus/framing.ts";
import { HEADER_VALUE_ENTRIES } from "./corpus/header-values.ts";
import { HEADER_ENTRIES } from "./corpus/headers.ts";
import { JSON_ENTRIES, MEDIA_TYPE_ENTRIES } from "./corpus/json-bodies.ts";
import { KEY_ENTRIES } from "./corpus/keys.ts";
import { METHOD_ENTRIES } from "./corpus/methods.ts";
import { OPERATOR_ENTRIES } from "./corpus/operator.ts";
import { PATH_ENTRIES } from "./corpus/paths.ts";
import { PLAIN_ENTRIES } from "./corpus/plain.ts";
import { REQUEST_LINE_ENTRIES } from "./corpus/request-lines.ts";
import { SESSION_ENTRIES } from "./corpus/sessions.ts";
import { expectDocumented } from "./documented.ts";
import { KNOWN } from "./known.ts";
import type { Entry } from "./requests.ts";
import { aTarget, type Holdings, type HostileService, isAlive, takeStock } from "./target.ts";
import { type Exchange, exchange } from "./wire.ts";

const GROUPS: Readonly<Record<string, readonly Entry[]>> = {
  "a method": METHOD_ENTRIES,
  "a request line": REQUEST_LINE_ENTRIES,
  "a path": PATH_ENTRIES,
  "a header": HEADER_ENTRIES,
  "the value of a header": HEADER_VALUE_ENTRIES,
  "a key": KEY_ENTRIES,
  "the framing": FRAMING_ENTRIES,
  "a JSON body": JSON_ENTRIES,
  "a media type": MEDIA_TYPE_ENTRIES,
  "a form": FORM_ENTRIES,
  "a text of a form": FORM_TEXT_ENTRIES,
  "a file name": FILE_NAME_ENTRIES,
  "an output file": FILE_ENTRIES,
  "a session": SESSION_ENTRIES,
  "an operator's call": OPERATOR_ENTRIES,
  "plain bytes": PLAIN_ENTRIES,
};
const ENTRIES_MIN = 400;
const SETTLE_MS = 15_000;
/** Longer than a refused caller is listened to: 10 s. */
const SOCKETS_GONE_MS = 15_000;
const KNOWN_SETTLE_MS = 150;
/** As pino counts: what a person would have to look at. */
const ERROR_LEVEL = 50;
const TLS_ALERT = "\x15";

let service: HostileService;
let before: Holdings;
let socketsBefore: number;

/** Both ends of every connection are this process's. */
const countSockets = (): number => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;

beforeAll(async () => {
  service = await aTarget();
  before = await takeStock(service);
  socketsBefore = countSockets();
});

afterAll(() => service?.close());

function expectRight(entry: Entry, exchanged: Exchange): void {
  const rest = exchanged.rest.toString("latin1").slice(0, 200);
  expect({ hung: exchanged.hung, rest: rest.startsWith(TLS_ALERT) ? "" : rest }).toEqual({ hung: false, rest: "" });
  const statuses = exchanged.replies.map(({ status }) => status);
  const count = entry.statuses.length === 0 ? 0 : (entry.replies ?? 1);
  expect(statuses).toHaveLength(count);
  expect(statuses.filter((status) => !entry.statuses.includes(status))).toEqual([]);
  for (const reply of exchanged.replies) if (reply.status >= 400 && entry.isHead !== true) expectDocumented(reply);
  const last = exchanged.replies.at(-1);
  if (entry.says !== undefined) expect(last?.body.toString("utf8")).toMatch(entry.says);
}

/** Executions that answered 200 are kept, with their files, and nothing else: looked at until what was under way has gone. */
async function expectNothingLeft(accepted: number): Promise<void> {
  const wanted = { ...before, executions: before.executions + accepted };
  let stock = await takeStock(service);
  for (const until = Date.now() + SETTLE_MS; Date.now() < until && !isSame(stock, wanted); await sleep(20)) {
    stock = await takeStock(service);
  }
  before = stock;
  expect(stock).toEqual(wanted);
}

function isSame(one: Holdings, other: Holdings): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

async function check(entry: Entry, isPlain: boolean): Promise<void> {
  const pieces = entry.send(service.target);
  const address = isPlain ? { ...service.address, cert: undefined } : service.address;
  const startedBefore = service.started.length;
  service.logged.length = 0;
  const exchanged = await exchange(address, Array.isArray(pieces) ? pieces : [pieces as Buffer], {
    replies: Math.max(1, entry.replies ?? 1),
    isHead: entry.isHead ?? false,
  });
  expectRight(entry, exchanged);
  await expectNothingLeft(service.started.length - startedBefore);
  const accepted = exchanged.replies.filter(({ status, body }) => status < 300 && body.includes('"executionId"'));
  expect(service.started.length - startedBefore).toBeLessThanOrEqual(accepted.length);
  expect(service.logged.filter(({ level }) => Number(level) >= ERROR_LEVEL)).toEqual([]);
  expect(await isAlive(service.address)).toBe(true);
}

test("corpus, counted, has at least 400 requests and no two of one name in a group", () => {
  const names = Object.entries(GROUPS).flatMap(([group, entries]) => entries.map(({ name }) => `${group}: ${name}`));
  expect(names.length).toBeGreaterThanOrEqual(ENTRIES_MIN);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  expect([...KNOWN.keys()].filter((name) => !names.includes(name))).toEqual([]);
});

describe.each(Object.keys(GROUPS))("service, attacked by %s", (group) => {
  const entries = GROUPS[group] ?? [];
  const isKnown = ({ name }: Entry): boolean => KNOWN.has(`${group}: ${name}`);
  const rows = (of: readonly Entry[]): [string, Entry][] => of.map((entry) => [entry.name, entry]);
  const right = rows(entries.filter((entry) => !isKnown(entry)));
  const wrong = rows(entries.filter(isKnown));
  test.each(right)("service, sent %s, answers as documented and keeps nothing", (_name, entry) =>
    check(entry, group === "plain bytes"),
  );
  if (wrong.length > 0) {
    // Fails as soon as it is repaired: then the entry leaves the list.
    test.each(wrong)("service, sent %s, is known not to answer as it should", async (_name, entry) => {
      await expect(check(entry, group === "plain bytes")).rejects.toThrow(Error);
      await sleep(KNOWN_SETTLE_MS); // What it set off must not be counted against the next one.
      before = await takeStock(service);
    });
  }
});

test("service, after all of it, executes as ever, holds no connection and let nobody reach into its objects", async () => {
  const answer = await service.call(`/api/workflows/${service.target.workflowId}/execute`, {
    method: "POST",
    headers: { "x-api-key": service.target.apiKey, "content-type": "application/json" },
    body: '{"note":"still here"}',
  });
  expect([answer.status, answer.json()["status"]]).toEqual([200, "success"]);
  for (const until = Date.now() + SOCKETS_GONE_MS; Date.now() < until && countSockets() > socketsBefore; )
    await sleep(100);
  expect(countSockets()).toBeLessThanOrEqual(socketsBefore);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});
