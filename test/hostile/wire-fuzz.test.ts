import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { expectDocumented } from "./documented.ts";
import { casesOf, FUZZ_MS, SEED } from "./fuzz-settings.ts";
import { measureHeldMemory } from "./held-memory.ts";
import { createLine } from "./keep-alive.ts";
import { mutated } from "./mutations.ts";
import { anExecuteRequest } from "./requests.ts";
import { aTarget, type HostileService, isAlive, takeStock } from "./target.ts";

const CALLERS = 8;
const HANG_MS = 15_000;
const STATUSES = [200, 400, 413, 415];
/** Between a quarter of the cases and the end of them: what a leak of 1 KB a request would exceed in the long form. */
const HEAP_GROWTH_BYTES_MAX = 8_000_000;
const RSS_GROWTH_BYTES_MAX = 60_000_000;
const SETTLE_MS = 15_000;

let service: HostileService;

beforeAll(async () => {
  service = await aTarget();
});

afterAll(() => service?.close());

function measureMemory(): Promise<{ heap: number; rss: number }> {
  service.logged.length = 0;
  service.started.length = 0;
  return measureHeldMemory();
}

interface Body {
  readonly type: string;
  readonly bytes: Buffer;
}

/** Sends one body, and says what is wrong with the answer; undefined when nothing is. */
async function tryBody(line: ReturnType<typeof createLine>, { type, bytes }: Body): Promise<string | undefined> {
  const reply = await line.send(anExecuteRequest(service.target, { type, body: bytes, close: false }), HANG_MS);
  if (reply === undefined) return "no whole answer";
  if (!STATUSES.includes(reply.status)) return `status ${reply.status}: ${reply.body.toString().slice(0, 300)}`;
  if (reply.status === 200) return reply.body.includes('"success"') ? undefined : "200, and no result";
  try {
    expectDocumented(reply);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Several callers at once send all the bodies; whatever is answered wrongly is listed with what repeats it. */
async function attack(bodies: readonly Body[], fuzzer: string): Promise<void> {
  const before = await takeStock(service);
  const wrong: string[] = [];
  let next = 0;
  const quarter = Math.ceil(bodies.length / 4);
  async function call(until: number): Promise<void> {
    const line = createLine(service.address);
    for (let at = next++; at < until; at = next++) {
      const body = bodies[at] as Body;
      const problem = await tryBody(line, body);
      if (problem !== undefined && wrong.length < 5)
        wrong.push(
          `${fuzzer}, seed ${SEED}, case ${at}: ${problem}; ${body.type}; ${body.bytes.subarray(0, 2_000).toString("base64")}`,
        );
    }
    line.close();
  }
  service.started.length = 0;
  await Promise.all(Array.from({ length: CALLERS }, () => call(quarter)));
  next = quarter;
  let accepted = service.started.length;
  const early = await measureMemory();
  await Promise.all(Array.from({ length: CALLERS }, () => call(bodies.length)));
  expect(wrong).toEqual([]);
  accepted += service.started.length;
  const late = await measureMemory();
  expect(late.heap - early.heap).toBeLessThan(HEAP_GROWTH_BYTES_MAX);
  expect(late.rss - early.rss).toBeLessThan(RSS_GROWTH_BYTES_MAX);
  const wanted = { ...before, executions: before.executions + accepted };
  for (const until = Date.now() + SETTLE_MS; Date.now() < until; await sleep(50))
    if (JSON.stringify(await takeStock(service)) === JSON.stringify(wanted)) break;
  expect(await takeStock(service)).toEqual(wanted);
  expect(await isAlive(service.address)).toBe(true);
}

const JSONS = [
  "{}",
  '{"region":"EU","count":3,"share":0.5,"note":"text","flag":true,"day":"2026-05-01"}',
  '{"inputs":{"note":"a","tags":["a","b"],"data":{"a":[1,{"b":null}]}}}',
  '{"data":[[[[1,2.5e10,-0]]],"\\u00e9\\ud83d\\ude00"],"token":"secret"}',
  `{"data":${"[".repeat(60)}${"]".repeat(60)}}`,
];
const JSON_WORDS = [
  '"a":',
  '{"a":',
  '"__proto__":{',
  '"inputs":',
  '"note":',
  '"orders":"x"',
  "\\u0000",
  "\\ud800",
  "[[[[[[[[",
  "]]]]",
  "1e999",
  "-",
  '"region":"MARS"',
  "/**/",
  "\xff",
  "\xc0\x80",
];

const jsonBody = fc
  .tuple(mutated(JSONS, JSON_WORDS), fc.constantFrom<BufferEncoding>("utf8", "utf8", "latin1", "utf16le"))
  .map(([text, encoding]): Body => ({ type: "application/json", bytes: Buffer.from(text, encoding) }));

test(
  "execute, sent JSON that was mutated, answers as documented, keeps nothing and does not grow",
  () => attack(fc.sample(jsonBody, { numRuns: casesOf("json"), seed: SEED }), "json"),
  FUZZ_MS,
);

const PART = "--b\r\nContent-Disposition: form-data; name=";
const FORMS = [
  `${PART}"note"\r\n\r\nhello\r\n--b--\r\n`,
  `${PART}"count"\r\n\r\n3\r\n${PART}"data"\r\nContent-Type: application/json\r\n\r\n{"a":[1]}\r\n--b--\r\n`,
  `${PART}"orders"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\na,b\r\n1,2\r\n${PART}"region"\r\n\r\nEU\r\n--b--\r\n`,
  `${PART}"extras"; filename="1.txt"\r\n\r\none\r\n${PART}"extras"; filename*=utf-8''2%e2%82%ac.txt\r\n\r\ntwo\r\n--b--\r\n`,
  `preamble\r\n${PART}"orders"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n\r\n${PART}"token"\r\n\r\n"secret"\r\n--b--\r\nepilogue`,
];
const FORM_WORDS = [
  "--b",
  "\r\n--b\r\n",
  "\r\n--b--\r\n",
  "--b--",
  PART,
  'name="note"',
  '; filename="x"',
  "; filename=",
  "; name*=utf-8''a%",
  "Content-Disposition: form-data",
  "Content-Type: ",
  "; charset=utf-7",
  "; charset=utf-16le",
  "Content-Transfer-Encoding: base64\r\n",
  "\r",
  "\r\n\r\n",
  "\xff",
  "\xe2\x80",
  "../../",
  "[[[[",
];
const TYPES = [
  "multipart/form-data; boundary=b",
  "multipart/form-data; boundary=b",
  "multipart/form-data; boundary=b",
  'multipart/form-data; boundary="b"',
  "multipart/form-data; boundary=-",
  "multipart/form-data; boundary=--b",
  "multipart/form-data",
];

const formBody = fc
  .tuple(mutated(FORMS, FORM_WORDS), fc.constantFrom(...TYPES))
  .map(([text, type]): Body => ({ type, bytes: Buffer.from(text, "latin1") }));

test(
  "execute, sent forms that were mutated, answers as documented, keeps nothing and does not grow",
  () => attack(fc.sample(formBody, { numRuns: casesOf("form"), seed: SEED }), "form"),
  FUZZ_MS,
);
