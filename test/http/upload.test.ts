import { createHash, randomBytes } from "node:crypto";
import { afterEach, expect, test } from "@jest/globals";
import { FormData, Response } from "undici";
import { queryRows } from "../../db/connect.ts";
import { anInput, aWorkflow } from "../support/builders.ts";
import type { Part } from "../support/https.ts";
import { aFileService, execute, expectRefused, forgetExecutions, sendForm } from "./service.ts";

const service = await aFileService({
  limits: { jsonBytesMax: 100_000, fileBytesMax: 1_500_000, requestBytesMax: 4_000_000, filesMax: 5 },
});

afterEach(async () => {
  await forgetExecutions(service);
  for await (const key of service.storage.list("")) await service.storage.delete(key);
});

const FILES = [
  anInput("select", "region", { options: ["EU", "US"] }),
  anInput("file", "orders", { accept: [".csv"], bytesMax: 1_000_000 }),
  anInput("file_list", "extras", { required: false, filesMax: 3 }),
];

const invalid = (input: string, message: unknown) => ({
  error: "Invalid request",
  message: expect.any(String),
  details: [{ input, message }],
});
const ORDERS = { name: "orders", fileName: "orders.csv", content: "a,b\n1,2\n", contentType: "text/csv" };

const filesOf = () =>
  queryRows<{
    name: string;
    position: number;
    fileName: string;
    key: string;
    bytes: bigint;
    sha256: string;
    type: string;
  }>(
    service.db,
    `select name, position, file_name as "fileName", storage_key as key, bytes, sha256, content_type as type
       from execution_files where direction = 'input' order by storage_key`,
  );

async function read(key: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of await service.storage.get(key)) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

test("execute, with files and texts, stores the files, hashed, and records them", async () => {
  const workflow = await aWorkflow(service.db, { inputs: FILES });
  const content = randomBytes(900_000);
  const answer = await sendForm(service, workflow, [
    { ...ORDERS, content },
    { name: "region", content: "EU" },
    { name: "extras", fileName: "größe \u{1F600}.txt", content: "one" },
    { name: "extras", fileName: "../../x/größe \u{1F600}.txt", content: "two" },
    { name: "extras", fileName: "a\\b.txt", content: "", contentType: `a/${"b".repeat(200)}` },
  ]);
  expect(answer.status).toBe(200);
  const files = await filesOf();
  const { executionId } = answer.json();
  const sha256 = (data: Buffer | string) => createHash("sha256").update(data).digest("hex");
  const at = (index: number) => `executions/${String(executionId)}/inputs/${index}`;
  expect(files).toEqual([
    {
      name: "orders",
      position: 0,
      fileName: "orders.csv",
      key: at(0),
      bytes: 900_000n,
      sha256: sha256(content),
      type: "text/csv",
    },
    {
      name: "extras",
      position: 0,
      fileName: "größe \u{1F600}.txt",
      key: at(1),
      bytes: 3n,
      sha256: sha256("one"),
      type: "text/plain",
    },
    {
      name: "extras",
      position: 1,
      fileName: "größe \u{1F600} (2).txt",
      key: at(2),
      bytes: 3n,
      sha256: sha256("two"),
      type: "text/plain",
    },
    {
      name: "extras",
      position: 2,
      fileName: "b.txt",
      key: at(3),
      bytes: 0n,
      sha256: sha256(""),
      type: "application/octet-stream",
    },
  ]);
  expect((await read(at(0))).equals(content)).toBe(true);
  expect((await read(at(2))).toString()).toBe("two");
  expect(await queryRows(service.db, "select inputs from executions")).toEqual([{ inputs: { region: "EU" } }]);
});

test("execute, with text parts of every kind, reads JSON text, and plain text where the input is textual", async () => {
  const workflow = await aWorkflow(service.db, {
    inputs: [
      anInput("string", "quoted"),
      anInput("string", "plain"),
      anInput("string", "digits"),
      anInput("string", "word"),
      anInput("text", "broken"),
      anInput("integer", "count"),
      anInput("boolean", "draft"),
      anInput("multi_select", "tags"),
      anInput("json", "data"),
      anInput("date", "day"),
    ],
  });
  const answer = await sendForm(service, workflow, [
    { name: "quoted", content: '"a \\"b\\""' },
    { name: "plain", content: "just words" },
    { name: "digits", content: "42" },
    { name: "word", content: "null" },
    { name: "broken", content: '"a" or "b"' },
    { name: "count", content: "3" },
    { name: "draft", content: "true" },
    { name: "tags", content: '["a"]' },
    { name: "data", content: '{"x":[1]}', contentType: "application/json" },
    { name: "day", content: "2026-05-01" },
  ]);
  expect(answer.status).toBe(200);
  expect(await queryRows(service.db, "select inputs from executions")).toEqual([
    {
      inputs: {
        quoted: 'a "b"',
        plain: "just words",
        digits: "42",
        word: "null",
        broken: '"a" or "b"',
        count: 3,
        draft: true,
        tags: ["a"],
        data: { x: [1] },
        day: "2026-05-01",
      },
    },
  ]);
});

const EXACT = '{"z": 9007199254740993,\n "1": [1.0, 12345678901234567890]}';
const NUMBERS = [
  anInput("json", "data"),
  anInput("json", "more", { required: false, default: 1, defaultText: "1.0" }),
  anInput("number", "ratio", { required: false }),
];

test("execute, with numbers that JavaScript writes otherwise, keeps their text, in a body, nested, in a form, and of a default", async () => {
  const workflow = await aWorkflow(service.db, { inputs: NUMBERS });
  const flat = `{"ratio": 1.0, "data": ${EXACT} }`;
  const data = { name: "data", content: ` ${EXACT}\n` };
  const answers = [
    await execute(service, workflow, flat),
    await execute(service, workflow, `{"inputs": ${flat}}`),
    await sendForm(service, workflow, [data, { name: "ratio", content: "1.0" }]),
    await sendForm(service, workflow, [
      { ...data, contentType: "application/json" },
      { name: "ratio", content: "1" },
    ]),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const exact = { data: EXACT, more: "1.0" };
  const texts = { ...exact, ratio: "1.0" };
  expect(await queryRows(service.db, "select input_texts from executions order by id")).toEqual(
    [texts, texts, texts, exact].map((kept) => ({ input_texts: kept })),
  );
});

test("execute, with a number of more digits than are exact, answers 400, in a body and in a form", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("number", "ratio")] });
  for (const digits of ["9007199254740993", "-12345678901234567890"]) {
    for (const answer of [
      await execute(service, workflow, `{"ratio": ${digits}}`),
      await sendForm(service, workflow, [{ name: "ratio", content: digits }]),
    ])
      await expectRefused(service, answer, 400, invalid("ratio", expect.stringContaining("±9007199254740991")));
  }
});

test("execute, with a text part that is not JSON for an input that needs it, answers 400", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("integer", "count")] });
  await expectRefused(
    service,
    await sendForm(service, workflow, [{ name: "count", content: "three" }]),
    400,
    invalid("count", expect.stringContaining("JSON text")),
  );
});

const VALUES = [
  anInput("string", "title", { required: false }),
  anInput("integer", "count", { required: false }),
  anInput("multi_select", "tags", { required: false }),
  anInput("json", "data", { required: false }),
  anInput("secret", "token", { required: false }),
  anInput("file", "orders", { required: false, accept: [".json"] }),
];

const aJsonBlob = (text: string | Uint8Array): Blob => new Blob([text], { type: "application/json" });

/** A form as browsers make one: a Blob is a file called "blob". */
async function sendBrowserForm(fill: (form: FormData) => void) {
  const workflow = await aWorkflow(service.db, { inputs: VALUES });
  const form = new FormData();
  fill(form);
  const encoded = new Response(form);
  return sendForm(service, workflow, {
    headers: { "content-type": encoded.headers.get("content-type") as string },
    body: Buffer.from(await encoded.arrayBuffer()),
  });
}

const executionsOf = () =>
  queryRows<{ inputs: object; sealed: boolean }>(
    service.db,
    "select inputs, secret_inputs is not null as sealed from executions",
  );

test("execute, with values that a browser's FormData sends as JSON, reads them as those of a JSON body, and stores no file", async () => {
  const answer = await sendBrowserForm((form) => {
    form.append("title", aJsonBlob(JSON.stringify("Größe: \u{1F600}")));
    form.append("count", aJsonBlob(" 3 "));
    form.append("tags", aJsonBlob('["a"]'), "tags.json");
    form.append("data", aJsonBlob('{"x":[1,{"__proto__":2}]}'));
    form.append("token", aJsonBlob('"very secret"'));
  });
  expect(answer.status).toBe(200);
  expect(await filesOf()).toEqual([]);
  const data = JSON.parse('{"x":[1,{"__proto__":2}]}') as object;
  const inputs = { title: "Größe: \u{1F600}", count: 3, tags: ["a"], data, orders: null };
  expect(await executionsOf()).toEqual([{ inputs, sealed: true }]);
  expect(JSON.stringify(service.logged)).not.toContain("very secret");
});

test("execute, with JSON for a file input, takes it as a file", async () => {
  const answer = await sendBrowserForm((form) => form.append("orders", aJsonBlob("[1, 2]"), "orders.json"));
  expect(answer.status).toBe(200);
  expect(await filesOf()).toMatchObject([{ name: "orders", fileName: "orders.json", type: "application/json" }]);
});

test.each<[string, string, Part]>([
  ["a text without quotes", "is not JSON", { name: "title", content: "words" }],
  ["a number for a text", "must be a string", { name: "title", content: "42" }],
  ["half of an object", "is not JSON", { name: "data", content: '{"a":' }],
  ["nothing", "is not JSON", { name: "count", content: "" }],
  ["JSON of 65 levels", "deep", { name: "data", content: "[".repeat(65) + "]".repeat(65) }],
])(
  "execute, with %s as application/json, answers 400, whether it came like a file or not",
  async (_what, message, part) => {
    const workflow = await aWorkflow(service.db, { inputs: VALUES });
    for (const like of [{}, { fileName: "blob" }]) {
      const answer = await sendForm(service, workflow, [{ ...part, ...like, contentType: "application/json" }]);
      await expectRefused(service, answer, 400, invalid(part.name, expect.stringContaining(message)));
    }
  },
);

test("execute, with a value that came like a file and is no UTF-8 or was sent twice, answers 400", async () => {
  const broken = await sendBrowserForm((form) => form.append("title", aJsonBlob(Buffer.from([0x22, 0xff, 0x22]))));
  await expectRefused(service, broken, 400, invalid("title", expect.stringContaining("UTF-8")));
  const twice = await sendBrowserForm((form) => {
    form.append("title", aJsonBlob('"one"'));
    form.append("title", '"two"');
  });
  await expectRefused(service, twice, 400, invalid("title", expect.stringContaining("twice")));
});

test.each(["text/plain", "application/octet-stream", "text/json", ""])(
  "execute, with a file of type %j for an input that is none, answers 400 saying how to send it",
  async (type) => {
    const answer = await sendBrowserForm((form) => form.append("title", new Blob(['"EU"'], { type })));
    await expectRefused(service, answer, 400, invalid("title", expect.stringContaining("application/json")));
  },
);

test("execute, with values over the limit of text parts, together or alone, answers 413", async () => {
  const long = JSON.stringify("a".repeat(60_000));
  const together = await sendBrowserForm((form) => {
    form.append("data", aJsonBlob(long));
    form.append("title", long);
  });
  const alone = await sendBrowserForm((form) => form.append("data", aJsonBlob(JSON.stringify("a".repeat(3_000_000)))));
  for (const [answer, input] of [
    [together, "title"],
    [alone, "data"],
  ] as const) {
    const refusal = { ...invalid(input, expect.stringContaining("100000 bytes together")), error: "Payload too large" };
    await expectRefused(service, answer, 413, refusal);
  }
});

test("execute, with an empty file field of a browser, counts it as not given", async () => {
  const workflow = await aWorkflow(service.db, {
    inputs: [anInput("file", "orders", { required: false, accept: [".csv"] })],
  });
  const empty = { name: "orders", fileName: "", content: "", contentType: "application/octet-stream" };
  expect((await sendForm(service, workflow, [empty])).status).toBe(200);
  expect(await filesOf()).toEqual([]);
  const needed = await aWorkflow(service.db, { inputs: [anInput("file", "orders")] });
  expect((await sendForm(service, needed, [empty])).json()).toEqual(
    invalid("orders", expect.stringContaining("is required")),
  );
});
