import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { FormData, Response } from "undici";
import { testAlone } from "../support/alone.ts";
import { aFolder, treadle } from "../support/command-line.ts";
import { createOrders, sumPaidCents, toCsv } from "../support/orders.ts";
import { readPage } from "../support/pdf.ts";
import { aPlace, type Place } from "../support/place.ts";
import { type Answer, exampleOf, type TestService } from "../support/service.ts";
import { GENERATORS, IS_LONG } from "./generators/all.ts";
import { DOCUMENTS, type Downloaded, type Generator, KINDS, type Site } from "./generators/generator.ts";

/** The first time, packages are fetched. */
const GENERATORS_MS = 600_000;

let service: TestService;
let place: Place;

beforeAll(async () => {
  place = await aPlace();
  // As in a container: warm starts must work there, too.
  service = await place.start({ TREADLE_EXAMPLES: "all" }, { withinFilters: true });
}, 600_000);

afterAll(async () => {
  await service?.stop();
  await place?.remove();
});

async function upload(example: string, form: FormData): Promise<Answer> {
  const { workflowId, apiKey } = exampleOf(service.ready, example);
  const encoded = new Response(form);
  return service.call(`/workflows/${workflowId}/execute`, {
    method: "POST",
    headers: { "x-api-key": apiKey, "content-type": encoded.headers.get("content-type") as string },
    body: Buffer.from(await encoded.arrayBuffer()),
  });
}

async function output(example: string, answer: Answer, name: string): Promise<string> {
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  const url = (answer.body.outputs as Record<string, string>)[name] as string;
  const file = await service.call(url, {
    method: "GET",
    headers: { "x-api-key": exampleOf(service.ready, example).apiKey },
  });
  expect(file.status).toBe(200);
  return file.text;
}

test("hello, with JSON inputs, answers exactly the five fields of the contract", async () => {
  const execute = () => service.execute("hello", { name: "Ada", times: 2, loud: true });
  let answer = await execute();
  // Where the service got no processor from its beginning to its end, an execution costs nothing but its fee.
  for (let tries = 1; tries < 5 && answer.body.duration === 0; tries++) answer = await execute();
  expect(answer.status).toBe(200);
  expect(Object.keys(answer.body).sort()).toEqual(["cost", "duration", "executionId", "outputs", "status"]);
  expect(answer.body.status).toBe("success");
  expect(answer.body.executionId).toMatch(/^ex_/);
  expect(answer.body.duration).toBeGreaterThan(0);
  const { compute, total } = answer.body.cost as { compute: number; total: number };
  expect(total).toBeCloseTo(compute + 0.001, 6);
  expect(compute).toBeCloseTo((answer.body.duration as number) * 0.01, 6);
  expect(JSON.parse(await output("hello", answer, "greeting"))).toEqual({
    message: "HELLO, ADA!",
    lines: ["HELLO, ADA!", "HELLO, ADA!"],
  });
});

testAlone("hello, executed again and again, is served by a lane that was warmed when it was published", async () => {
  await expectLane(async (round) => {
    const answer = await service.execute("hello", { name: `Ada ${round}` });
    expect(JSON.parse(await output("hello", answer, "greeting"))).toMatchObject({ message: `Hello, Ada ${round}!` });
  });
});

testAlone(
  "a workflow with a network, executed again and again, is served by a lane and has the network all the same",
  async () => {
    const folder = await aFolder({
      "config.yaml": "triggers: { api: { enabled: true } }\nlimits: { network: true }\n",
      "main.py": "import socket\ndef main():\n    print(*sorted(name for _, name in socket.if_nameindex()))\n",
    });
    const published = await treadle(place.dataDir, ["publish", folder, "--json"]);
    const { workflowId, apiKey } = published.json() as { workflowId: string; apiKey: string };
    const headers = { "x-api-key": apiKey, "content-type": "application/json" };
    await expectLane(async () => {
      const { body } = await service.call(`/workflows/${workflowId}/execute`, { method: "POST", headers, body: "{}" });
      const log = await service.call(`/run-logs/${String(body.executionId)}/logs`, { method: "GET", headers });
      expect(log.text).toContain("eth0 lo");
    });
  },
);

/** Calls until five programs were served by lanes. Where a machine has no time a lane is not waited for, and one begins cold. */
async function expectLane(execute: (round: number) => Promise<void>): Promise<void> {
  const before = await countPrograms();
  let served = 0;
  for (let round = 0; round < 30 && served < 5; round++) {
    await execute(round);
    served = (await countPrograms()).lane - before.lane;
  }
  expect(served).toBe(5);
}

test("hello, with inputs nested under `inputs` and nothing given, uses the defaults", async () => {
  const answer = await service.execute("hello", { inputs: {} });
  expect(JSON.parse(await output("hello", answer, "greeting"))).toMatchObject({ message: "Hello, World!" });
});

test("sales-report, with an export of 100,000 rows, says in CSV, PDF and chart what an independent sum says", async () => {
  const orders = createOrders({ count: 100_000, seed: 42 });
  const form = new FormData();
  form.append("region", JSON.stringify("EU"));
  form.append("orders", new Blob([toCsv(orders)], { type: "text/csv" }), "orders 2025.csv");
  const answer = await upload("sales-report", form);
  const summary = await output("sales-report", answer, "summary");
  const sold = orders.filter((order) => order.region === "EU");
  const total = sumPaidCents(sold, () => "all").get("all") as number;
  expect(sumOfRevenue(summary)).toBeCloseTo(total / 100, 2);

  const report = await output("sales-report", answer, "report");
  expect(report.startsWith("%PDF-")).toBe(true);
  const { texts, heightsByWidth } = readPage(report);
  expect(texts).toEqual(expect.arrayContaining(["Sales report: EU", money(total), "Revenue by month", "Best sellers"]));
  const products = [...sumPaidCents(sold, (order) => order.product)].sort(([, a], [, b]) => b - a);
  expect(products.map(([product]) => texts.indexOf(product))).not.toContain(-1);
  expect(texts.filter((text) => products.some(([product]) => product === text))).toEqual(
    products.map(([name]) => name),
  );
  expect(texts).toEqual(expect.arrayContaining(products.map(([, cents]) => money(cents))));
  const months = [...sumPaidCents(sold, (order) => order.orderedAt.slice(0, 7))].sort(([a], [b]) => (a < b ? -1 : 1));
  const bars = [...heightsByWidth.values()].find((heights) => heights.length === months.length) ?? [];
  const perCent = Math.max(...bars) / Math.max(...months.map(([, cents]) => cents));
  expect(bars.map(Math.round)).toEqual(months.map(([, cents]) => Math.round(cents * perCent)));
});

test("merge-files, with three files in one input, joins them in the order given", async () => {
  const form = new FormData();
  for (const [name, text] of [
    ["b.csv", "id,city\n1,Oslo\n"],
    ["a.csv", "id,city\n2,Rome\n"],
    ["a.csv", "id,city\n3,Kyiv\n"],
  ] as const) {
    form.append("files", new Blob([text], { type: "text/csv" }), name);
  }
  const merged = await output("merge-files", await upload("merge-files", form), "merged");
  expect(merged.split(/\r?\n/).filter((line) => line !== "")).toEqual([
    expect.stringContaining("id"),
    expect.stringContaining("Oslo"),
    expect.stringContaining("Rome"),
    expect.stringContaining("Kyiv"),
  ]);
});

test("nightly, with the payload of its schedule, lists the hours by week and person", async () => {
  const team = [{ name: "Ada", hours_per_week: 40, away: [{ from: "2026-12-21", until: "2027-01-01" }] }];
  const answer = await service.execute("nightly", { team, start: "2026-12-14", weeks: 2 });
  const capacity = await output("nightly", answer, "capacity");
  expect(capacity).toContain("Ada");
});

const KINDS_CONFIG = `
inputs:
  name: { type: string, max_length: 100 }
  note: { type: text, required: false }
  token: { type: secret, required: false }
  amount: { type: number, default: 1.5 }
  count: { type: integer, default: 3, min: 1 }
  loud: { type: boolean, default: false }
  size: { type: select, options: [S, M, L], default: M }
  colors: { type: multi_select, options: [red, dark blue, 3D] }
  tags: { type: multi_select, options: [x, y], required: false }
  sides: { type: multi_select, options: [left, right], default: [left] }
  day: { type: date, required: false }
  at: { type: datetime, required: false }
  extra: { type: json, default: { a: [1] } }
outputs:
  echo: { type: file }
triggers:
  api: { enabled: true }
`;
const KINDS_CODE = 'def main(**inputs): return {"echo": {name: str(value) for name, value in inputs.items()}}';

let workflows: Readonly<Record<string, { workflowId: string; apiKey: string }>>;

/** The examples; in the long form also a workflow with inputs of many kinds. */
async function publishKinds(): Promise<typeof workflows> {
  if (!IS_LONG) return service.ready.workflows;
  const folder = await aFolder({ "config.yaml": KINDS_CONFIG, "main.py": KINDS_CODE });
  const published = await treadle(place.dataDir, ["publish", folder, "--json"]);
  const { workflowId, apiKey } = published.json() as { workflowId: string; apiKey: string };
  return { ...service.ready.workflows, [KINDS]: { workflowId, apiKey } };
}

function workflowOf(name: string): { workflowId: string; apiKey: string } {
  return workflows[name === "service" ? "hello" : name] as { workflowId: string; apiKey: string };
}

/** Makes what clients are generated from: each document, and a file that says where the service is. */
async function writeSite(folder: string): Promise<Site> {
  const { ready } = service;
  const documentOf = async (name: string): Promise<string> => {
    const { workflowId, apiKey } = workflowOf(name);
    const path = name === "service" ? "/openapi.json" : `/workflows/${workflowId}/openapi.json`;
    return (await service.call(path, { method: "GET", headers: { "x-api-key": apiKey } })).text;
  };
  workflows ??= await publishKinds();
  for (const name of IS_LONG ? [...DOCUMENTS, KINDS] : DOCUMENTS)
    await writeFile(join(folder, `${name}.json`), await documentOf(name));
  const tables = { "a.csv": "id,city\n1,Oslo\n", "b.csv": "id,city\n2,Rome\n" };
  const orders = toCsv(createOrders({ count: 100, seed: 7 }));
  for (const [name, text] of Object.entries({ ...tables, "orders.csv": orders }))
    await writeFile(join(folder, name), text);
  const site = {
    url: ready.url,
    caFile: ready.caFile,
    examples: workflows,
    files: Object.keys(tables).map((name) => join(folder, name)),
    orders: join(folder, "orders.csv"),
  };
  await writeFile(join(folder, "site.json"), JSON.stringify(site));
  return site;
}

/** What each client has downloaded is what is stored: a file's tag is its SHA-256. */
async function expectFound(generator: Generator): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "treadle-generated-"));
  try {
    for (const { refused, log, ...downloads } of await generator.use(folder, await writeSite(folder))) {
      expect(refused).toBe("Unauthorized");
      expect(Object.keys(downloads)).toEqual(expect.arrayContaining(DOCUMENTS));
      await expectStored(downloads);
      if (log !== undefined) expect(log).toBe((await readLog(downloads["hello"])).text);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function readLog(of: Downloaded | undefined): Promise<Answer> {
  const { apiKey } = workflowOf("hello");
  return service.call(`/run-logs/${of?.executionId}/logs`, { method: "GET", headers: { "x-api-key": apiKey } });
}

async function expectStored(downloads: Readonly<Record<string, Downloaded>>): Promise<void> {
  for (const [name, { executionId, fileName, sha256 }] of Object.entries(downloads)) {
    const { apiKey } = workflowOf(name);
    const path = `/run-logs/${executionId}/files/${encodeURIComponent(fileName)}`;
    const { status, headers } = await service.call(path, { method: "GET", headers: { "x-api-key": apiKey } });
    expect([name, status, headers["etag"]]).toEqual([name, 200, `"${sha256}"`]);
  }
}

test.each([...GENERATORS])(
  "clients that %s of each document, compiled, call the service and download its files",
  async (_name, install) => {
    const generator = await install();
    try {
      await expectFound(generator);
    } finally {
      await generator.remove();
    }
  },
  GENERATORS_MS,
);

function money(cents: number): string {
  return (cents / 100).toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

/** How many programs the service has run, by the way it started them. */
async function countPrograms(): Promise<{ lane: number; cold: number }> {
  const { text } = await service.call(`${service.ready.url}/metrics`, { method: "GET" });
  const count = (path: string) =>
    Number(new RegExp(`^treadle_programs_total{path="${path}"} (\\d+)`, "m").exec(text)?.[1]);
  return { lane: count("lane"), cold: count("cold") };
}

/** The last column of numbers named revenue, added up. */
function sumOfRevenue(csv: string): number {
  const [heading = "", ...rows] = csv
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .filter((line) => line !== "");
  const column = heading.split(",").findIndex((name) => name.toLowerCase().includes("revenue"));
  expect(column).toBeGreaterThanOrEqual(0);
  return rows.reduce((sum, row) => sum + Number(row.split(",").at(column - heading.split(",").length)), 0);
}
