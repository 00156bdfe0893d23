import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as tlsConnect } from "node:tls";
import { afterEach, expect, test } from "@jest/globals";
import type { Storage } from "../../storage/storage.ts";
import { anAccount, anInput, aWorkflow } from "../support/builders.ts";
import { aForm, type Part } from "../support/https.ts";
import { aFileService, expectRefused, findLeftovers, forgetExecutions, NOTHING, sendForm } from "./service.ts";

let breakStorage: ((key: string) => void | Promise<void>) | undefined;

/** Fails when the test says so: after the first bytes arrived, as a full disk does. */
function breakable(storage: Storage): Storage {
  return {
    ...storage,
    async put(key, content, options) {
      await breakStorage?.(key);
      return storage.put(key, content, options);
    },
  };
}

const service = await aFileService({
  wrapStorage: breakable,
  limits: { jsonBytesMax: 100_000, fileBytesMax: 1_500_000, requestBytesMax: 4_000_000, filesMax: 5 },
});

afterEach(async () => {
  breakStorage = undefined;
  await forgetExecutions(service);
  for await (const key of service.storage.list("")) await service.storage.delete(key);
});

const FILES = [
  anInput("select", "region", { options: ["EU", "US"] }),
  anInput("file", "orders", { accept: [".csv"], bytesMax: 1_000_000 }),
  anInput("file_list", "extras", { required: false, filesMax: 3 }),
];

const ORDERS = { name: "orders", fileName: "orders.csv", content: "a,b\n1,2\n", contentType: "text/csv" };
const REGION = { name: "region", content: '"EU"' };

test.each<[string, Part[], string, string]>([
  ["an unknown text part", [ORDERS, REGION, { name: "regoin", content: "EU" }], "regoin", 'Did you mean "region"?'],
  ["an unknown file", [ORDERS, REGION, { ...ORDERS, name: "order" }], "order", 'Did you mean "orders"?'],
  ["a missing file", [REGION], "orders", "is required"],
  ["a missing text", [ORDERS], "region", "is required"],
  ["two files for one", [ORDERS, ORDERS, REGION], "orders", "takes one file"],
  ["a text given twice", [ORDERS, REGION, REGION], "region", "was given twice"],
  [
    "too many files in a list",
    [ORDERS, REGION, ...Array.from({ length: 4 }, () => ({ ...ORDERS, name: "extras" }))],
    "extras",
    "takes at most 3 files",
  ],
  ["a file for a text", [ORDERS, { ...ORDERS, name: "region" }], "region", "not a file"],
  ["a text for a file", [{ name: "orders", content: "a,b" }, REGION], "orders", "is a file"],
  ["a file of another type", [{ ...ORDERS, fileName: "orders.exe" }, REGION], "orders", "not accepted"],
  ["a part without a name", [ORDERS, REGION, { name: "", content: "x" }], "", "has no name"],
  [
    "more files than a request may have",
    [ORDERS, REGION, ...Array.from({ length: 5 }, () => ({ ...ORDERS, name: "other" }))],
    "other",
    "at most 5",
  ],
])("execute, with %s, answers 400 naming the input, and keeps nothing", async (_what, parts, input, message) => {
  const workflow = await aWorkflow(service.db, { inputs: FILES });
  const answer = await sendForm(service, workflow, parts);
  const { details } = answer.json() as { details: { input: string; message: string }[] };
  expect(details).toContainEqual({ input, message: expect.stringContaining(message) });
  await expectRefused(service, answer, 400, { error: "Invalid request", message: expect.any(String), details });
});

test.each<[string, string, string]>([
  ["no disposition", "Content-Type: text/plain", "has no Content-Disposition"],
  ["no name", "Content-Disposition: form-data", "has no name"],
  ["the disposition of an attachment", 'Content-Disposition: attachment; name="region"', "another disposition"],
  ["a broken disposition", 'Content-Disposition: form-data, name="region"', "cannot be read"],
  ["a name without end", 'Content-Disposition: form-data; name="region', "cannot be read"],
  ["a file name that is broken", 'Content-Disposition: form-data; name="region"; filename=', "cannot be read"],
])("execute, with a part that has %s, answers 400 and keeps nothing", async (_what, header, message) => {
  const region = anInput("string", "region", { required: false });
  const workflow = await aWorkflow(service.db, { inputs: [region, anInput("file", "orders")] });
  const { headers, body } = aForm([ORDERS]);
  const part = Buffer.from(`------test-boundary\r\n${header}\r\n\r\nEU\r\n`);
  for (const whole of [Buffer.concat([part, body]), Buffer.concat([part, part, body])]) {
    const answer = await sendForm(service, workflow, { headers, body: whole });
    const { details } = answer.json();
    await expectRefused(service, answer, 400, {
      error: "Invalid request",
      message: expect.stringContaining(message),
      details,
    });
  }
});

test("execute, once a part is refused, stores no further file", async () => {
  const workflow = await aWorkflow(service.db, { inputs: FILES });
  breakStorage = (key) => {
    throw new Error(`${key} was stored.`);
  };
  const answer = await sendForm(service, workflow, [{ ...ORDERS, name: "order" }, ORDERS, REGION]);
  expect([answer.status, answer.json()["error"]]).toEqual([400, "Invalid request"]);
});

test("execute, with several problems in a form, answers all of them at once", async () => {
  const workflow = await aWorkflow(service.db, { inputs: FILES });
  const answer = await sendForm(service, workflow, [
    { name: "region", content: "Mars" },
    { ...ORDERS, fileName: "orders.exe" },
    { ...ORDERS, name: "order" },
  ]);
  const { details } = answer.json() as { details: { input: string }[] };
  expect(details.map(({ input }) => input).sort()).toEqual(["order", "orders", "region"]);
});

const tooLarge = (input: string, message: unknown) => ({
  error: "Payload too large",
  message: expect.any(String),
  details: [{ input, message }],
});

test("execute, with a file over the manifest's limit, answers 413 naming the input, and keeps nothing of the others", async () => {
  const workflow = await aWorkflow(service.db, { inputs: FILES });
  const answer = await sendForm(service, workflow, [
    { name: "extras", fileName: "x.bin", content: Buffer.alloc(500_000) },
    { ...ORDERS, content: Buffer.alloc(1_000_001) },
    REGION,
  ]);
  await expectRefused(service, answer, 413, tooLarge("orders", '"orders.csv" is larger than 1 MB.'));
  expect((await sendForm(service, workflow, [{ ...ORDERS, content: Buffer.alloc(1_000_000) }, REGION])).status).toBe(
    200,
  );
});

test("execute, with a file over the service's limit, answers 413 naming the input", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("file", "orders")] });
  await expectRefused(
    service,
    await sendForm(service, workflow, [{ ...ORDERS, content: Buffer.alloc(1_500_001) }]),
    413,
    tooLarge("orders", expect.stringContaining("is larger than 1.5 MB")),
  );
});

test("execute, with a request over its limit, answers 413 whether its length is announced or not", async () => {
  const workflow = await aWorkflow(service.db, { inputs: FILES });
  const parts = [1, 2, 3].map((index) => ({
    name: "extras",
    fileName: `${index}.bin`,
    content: Buffer.alloc(1_400_000),
  }));
  const expected = { error: "Payload too large", message: "A request is at most 4 MB." };
  await expectRefused(service, await sendForm(service, workflow, parts), 413, expected);
  const { headers, body } = aForm(parts);
  await expectRefused(
    service,
    await sendForm(service, workflow, {
      headers,
      body: Readable.from([body.subarray(0, 2_000_000), body.subarray(2_000_000)]),
    }),
    413,
    expected,
  );
});

test("execute, with text parts over their limit, answers 413 naming the input", async () => {
  const workflow = await aWorkflow(service.db, {
    inputs: [anInput("text", "a"), anInput("text", "b", { required: false })],
  });
  await expectRefused(
    service,
    await sendForm(service, workflow, [{ name: "a", content: "x".repeat(100_001) }]),
    413,
    tooLarge("a", expect.stringContaining("100000 bytes together")),
  );
  const two = [
    { name: "a", content: "x".repeat(60_000) },
    { name: "b", content: "x".repeat(60_000) },
  ];
  await expectRefused(
    service,
    await sendForm(service, workflow, two),
    413,
    tooLarge("b", expect.stringContaining("100000 bytes together")),
  );
  expect((await sendForm(service, workflow, [{ name: "a", content: "x".repeat(100_000) }])).status).toBe(200);
});

test("execute, with more than 1,000 text parts, answers 400", async () => {
  const workflow = await aWorkflow(service.db, { inputs: FILES });
  const answer = await sendForm(
    service,
    workflow,
    Array.from({ length: 1_001 }, (_, index) => ({ name: `x${index}`, content: "1" })),
  );
  await expectRefused(service, answer, 400, {
    error: "Invalid request",
    message: "The form has more than 1000 text parts.",
  });
});

const GOOD = aForm([ORDERS, REGION]);
test.each<[string, Record<string, string>, Buffer]>([
  ["no boundary", { "content-type": "multipart/form-data" }, GOOD.body],
  ["another boundary than announced", { "content-type": "multipart/form-data; boundary=other" }, GOOD.body],
  ["no end", GOOD.headers, GOOD.body.subarray(0, -6)],
  ["an end within a file", GOOD.headers, GOOD.body.subarray(0, GOOD.body.indexOf("1,2"))],
  ["an end within a header", GOOD.headers, GOOD.body.subarray(0, 60)],
  [
    "a broken header",
    GOOD.headers,
    Buffer.from("------test-boundary\r\nContent-Disposition form-data\r\n\r\nx\r\n------test-boundary--\r\n"),
  ],
  [
    "a boundary with a space behind it",
    GOOD.headers,
    Buffer.concat([Buffer.from("------test-boundary \r\n"), GOOD.body]),
  ],
  ["nothing", GOOD.headers, Buffer.alloc(0)],
])("execute, with a form that has %s, answers 400 and keeps nothing", async (_what, headers, body) => {
  const workflow = await aWorkflow(service.db, { inputs: FILES });
  await expectRefused(service, await sendForm(service, workflow, { headers, body }), 400, {
    error: "Invalid request",
    message: expect.stringContaining("The form"),
  });
});

test("execute, with parts named __proto__ and constructor, takes them as unknown inputs", async () => {
  const workflow = await aWorkflow(service.db, { inputs: FILES });
  const answer = await sendForm(service, workflow, [
    ORDERS,
    REGION,
    { name: "__proto__", content: '{"polluted":1}' },
    { ...ORDERS, name: "constructor" },
  ]);
  const { details } = answer.json() as { details: { input: string }[] };
  expect(details.map(({ input }) => input).sort()).toEqual(["__proto__", "constructor"]);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  await expectRefused(service, answer, 400, { error: "Invalid request", message: expect.any(String), details });
});

test("execute, when the account has too little, answers 402 before the files are read", async () => {
  const accountId = await anAccount(service.db, { credits: "0.5" });
  const workflow = await aWorkflow(service.db, { accountId, inputs: FILES });
  let read = 0;
  const body = Readable.from(
    (function* () {
      const { body } = aForm([{ ...ORDERS, content: Buffer.alloc(3_000_000) }]);
      for (let at = 0; at < body.length; at += 64_000) {
        read += 64_000;
        yield body.subarray(at, at + 64_000);
      }
    })(),
  );
  const answer = await sendForm(service, workflow, { headers: GOOD.headers, body });
  expect(read).toBeGreaterThan(0);
  await expectRefused(service, answer, 402, {
    error: "Insufficient credits",
    message: expect.any(String),
    needed: 3.001,
    available: 0.5,
  });
});

test("execute, when the disk is full while a file arrives, answers 503, keeps nothing and goes on serving", async () => {
  const workflow = await aWorkflow(service.db, { inputs: FILES });
  breakStorage = (key) => {
    if (key.endsWith("/1")) throw Object.assign(new Error("No space left"), { code: "ENOSPC" });
  };
  const extra = { name: "extras", fileName: "x.bin", content: Buffer.alloc(1_400_000) };
  const answer = await sendForm(service, workflow, [ORDERS, extra, REGION]);
  await expectRefused(service, answer, 503, {
    error: "Service busy",
    message: expect.stringMatching(/^The service has no room for files just now\./),
  });
  expect(answer.headers["retry-after"]).toBe("5");
  breakStorage = undefined;
  expect((await sendForm(service, workflow, [ORDERS, extra, REGION])).status).toBe(200);
  expect(await findLeftovers(service)).toMatchObject({ executions: 1, uploads: 0 });
});

test("execute, with files, has noted them before the first reaches storage, until they are those of an execution", async () => {
  const workflow = await aWorkflow(service.db, { inputs: FILES });
  const noted: number[] = [];
  breakStorage = async () => void noted.push((await findLeftovers(service)).uploads);
  const extra = { name: "extras", fileName: "x.bin", content: "x" };
  expect((await sendForm(service, workflow, [ORDERS, extra, REGION])).status).toBe(200);
  expect(noted).toEqual([1, 1]);
  expect(await findLeftovers(service)).toMatchObject({ executions: 1, uploads: 0 });
});

test("execute, when the caller goes away in the middle of a file, keeps nothing and starts nothing", async () => {
  const workflow = await aWorkflow(service.db, { inputs: FILES });
  const { headers, body } = aForm([ORDERS, { name: "extras", fileName: "x.bin", content: Buffer.alloc(1_000_000) }]);
  const socket = tlsConnect({ port: service.port, host: "127.0.0.1", servername: "localhost", ca: service.cert });
  socket.on("error", () => undefined);
  socket.write(
    `POST /api/workflows/${workflow.workflowId}/execute HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${workflow.apiKey}\r\n` +
      `Content-Type: ${headers["content-type"]}\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  socket.write(body.subarray(0, 500_000));
  for (let tries = 0; tries < 1_500 && (await findLeftovers(service)).files.length < 2; tries += 1) await sleep(10);
  expect((await findLeftovers(service)).files.length).toBeGreaterThan(0);
  socket.destroy();
  const isLeft = async (): Promise<boolean> => {
    const { files, uploads } = await findLeftovers(service);
    return files.length > 0 || uploads > 0;
  };
  for (let tries = 0; tries < 1_500 && (await isLeft()); tries += 1) await sleep(10);
  expect(await findLeftovers(service)).toEqual(NOTHING);
  expect(service.started).toEqual([]);
  expect(
    service.logged.filter((line) => line["event"] === "request.failed" && JSON.stringify(line).includes("CallerGone")),
  ).toEqual([]);
});
