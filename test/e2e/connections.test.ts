import { readFileSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { aFolder, treadle } from "../support/command-line.ts";
import { aDataDir, isAlive, startService, type TestService } from "../support/service.ts";

const OPEN_FILES_MAX = 1_024;
/** From one address more than the process may have files, and from each of these some more. */
const FLOOD = { ofOne: 1_100, others: 10, ofOther: 60 };

let service: TestService;
let dataDir: Awaited<ReturnType<typeof aDataDir>>;
const sockets: Socket[] = [];

beforeAll(async () => {
  dataDir = await aDataDir();
  service = await startService({ dataDir: dataDir.dataDir, openFilesMax: OPEN_FILES_MAX });
}, 600_000);

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await service?.stop();
  await dataDir?.remove();
});

/** Opens TCP connections that say nothing, again and again until `over`; counts those that were opened. */
async function flood(over: { is: boolean }, from: string, count: number): Promise<number> {
  const { port } = new URL(service.ready.url);
  let opened = 0;
  const own: (Socket | undefined)[] = [];
  while (!over.is) {
    for (let index = 0; index < count; index += 1) {
      if (own[index]?.destroyed === false) continue;
      const socket = connect({ port: Number(port), host: "127.0.0.1", localAddress: from });
      socket.on("error", () => undefined);
      socket.on("end", () => socket.destroy());
      socket.resume();
      sockets.push(socket);
      own[index] = socket;
      opened += 1;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return opened;
}

function askFrom(localAddress: string, path: string): Promise<number> {
  const { port } = new URL(service.ready.url);
  const ca = readFileSync(service.ready.caFile);
  return new Promise((resolve, reject) => {
    const sent = httpsRequest(
      { port, path, host: "127.0.0.1", servername: "localhost", localAddress, ca, agent: false },
      (response) => {
        response.resume();
        response.once("end", () => resolve(response.statusCode ?? 0));
      },
    );
    sent.once("error", reject).end();
  });
}

test("the service, with 1,024 files and more idle connections than that, goes on with what is under way and serves others", async () => {
  const folder = await aFolder({
    "config.yaml": "triggers:\n  api: { enabled: true }\nlimits: { timeout: 120 }\n",
    "main.py": "import time\ntime.sleep(12)\nprint('done')\n",
  });
  const published = (await treadle(dataDir.dataDir, ["publish", folder, "--json"])).json() as Record<string, string>;
  const execute = () =>
    service.call(`/workflows/${published["workflowId"]}/execute`, {
      method: "POST",
      headers: { "x-api-key": published["apiKey"] as string, "content-type": "application/json" },
      body: "{}",
    });
  const underWay = [execute(), execute(), execute()];
  const over = { is: false };
  const floods = [flood(over, "127.0.0.2", FLOOD.ofOne)];
  for (let index = 0; index < FLOOD.others; index += 1) floods.push(flood(over, `127.0.1.${index + 1}`, FLOOD.ofOther));
  const asked: number[] = [];
  const asking = (async () => {
    while (!over.is) asked.push(await askFrom("127.0.0.9", "/healthz"));
  })();
  const answers = await Promise.all(underWay).finally(() => {
    over.is = true;
  });
  await asking;
  const opened = (await Promise.all(floods)).reduce((sum, count) => sum + count, 0);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(opened).toBeGreaterThan(OPEN_FILES_MAX);
  expect(asked.length).toBeGreaterThan(10);
  expect(new Set(asked)).toEqual(new Set([200]));
  expect(await isAlive(service.child.pid as number)).toBe(true);
  expect((await service.execute("hello", { name: "Ada" })).status).toBe(200);
  expect(service.output()).toContain("connections.full");
}, 120_000);

test("the service, with fewer files than its connections would need, says so at start and to who asks", async () => {
  expect(service.output()).toMatch(/Up to \d+ connections instead of 12000 .*may have 1024 files open/);
  const { body } = await service.call(`${service.ready.url}/readyz`);
  expect(body).toMatchObject({ checks: { connections: { message: expect.stringContaining("LimitNOFILE=") } } });
});

test("a service that can open too few files for its programs does not start, and says which limit would do", async () => {
  const other = await aDataDir();
  try {
    await expect(startService({ dataDir: other.dataDir, openFilesMax: 128 })).rejects.toThrow(
      /may have 128 files open and needs \d+ or more/,
    );
  } finally {
    await other.remove();
  }
}, 120_000);
