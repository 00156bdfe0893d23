import { rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { PROGRAM_ATTACKS } from "../../chaos/hostile/attacks.ts";
import { aFolder, treadle } from "../support/command-line.ts";
import { expectUnharmed, SLOWER_MAX } from "./expectations.ts";
import { type Neighbourhood, openNeighbourhood } from "./neighbourhood.ts";

/** An ordinary user's service has kernel users for its sandboxes on some machines only. */
const isRoot = process.getuid?.() === 0;
const PROGRAMS = PROGRAM_ATTACKS.filter(({ ownUsers }) => isRoot || ownUsers !== true);
/** At the least, while requests do their worst, and while programs do. */
const [HELLOS, HELLOS_BESIDE_PROGRAMS] = [8, 12];
/** The worst moment is somewhere within this time, when all of an attack's programs are at work. */
const SECONDS = 3;
const START_MS_MAX = 30_000;
const PATTERNS = 95;
const IDLE_CONNECTIONS = 1_500;
const CONNECTIONS_MAX = 1_000;
/** Half of them are served for one address, and a tenth more may wait for the words that refuse it. */
const OF_ADDRESS_MAX = 600;

let here: Neighbourhood;

beforeAll(async () => {
  here = await openNeighbourhood({ TREADLE_CONNECTIONS_MAX: String(CONNECTIONS_MAX) });
}, 600_000);

afterAll(() => here?.close());

const aConfig = (inputs: string): string => `inputs:\n${inputs}triggers:\n  api: { enabled: true }\n`;
const MAIN = { "main.py": "def main(**inputs):\n    return {}\n" };

test("the neighbour, while a tenant validates long texts against many patterns, goes on as if alone", async () => {
  const names = Array.from({ length: PATTERNS }, (_, number) => `text_${number}`);
  const declared = names.map((name) => `  ${name}: { type: string, pattern: "${"a*".repeat(98)}" }\n`).join("");
  const { workflowId, apiKey } = await here.publish({ "config.yaml": aConfig(declared), ...MAIN });
  const body = JSON.stringify(Object.fromEntries(names.map((name) => [name, "a".repeat(9_400)])));
  const validate = () =>
    here.service().call(`/workflows/${workflowId}/validate`, {
      method: "POST",
      headers: { "x-api-key": apiKey, "content-type": "application/json" },
      body,
    });
  const statuses: number[] = [];
  const seen = await here.watch(HELLOS, async () => {
    for (const answer of await Promise.all([validate(), validate(), validate()])) statuses.push(answer.status);
  });
  expectUnharmed(seen, here.aloneMs);
  for (const status of statuses) expect([200, 400, 429, 503]).toContain(status);
});

test("the neighbour, while a tenant previews a commit in which every line changes, goes on as if alone", async () => {
  const sized = (word: string): Record<string, string> =>
    Object.fromEntries(
      Array.from({ length: 300 }, (_, file) => [
        `file_${file}.txt`,
        Array.from({ length: 1_990 }, (__, line) => `${word}${line % 7}${line}`).join("\n"),
      ]),
    );
  const { workflowId } = await here.publish({
    "config.yaml": aConfig("  a: { type: string }\n"),
    ...MAIN,
    ...sized("x"),
  });
  const folder = await aFolder({ "config.yaml": aConfig("  a: { type: string }\n"), ...MAIN, ...sized("y") });
  try {
    const seen = await here.watch(HELLOS, async () => {
      const preview = await treadle(here.dataDir, ["publish", folder, "--workflow", workflowId, "--dry-run", "--json"]);
      expect(preview.code).toBe(0);
    });
    expectUnharmed(seen, here.aloneMs);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("the neighbour, while a tenant publishes patterns that can be read in many ways, goes on as if alone", async () => {
  const inputs = Array.from({ length: 150 }, (_, n) => `  i${n}: { type: string, pattern: "(a{0,900}b?)*" }\n`).join(
    "",
  );
  const folder = await aFolder({ "config.yaml": aConfig(inputs), ...MAIN });
  try {
    const seen = await here.watch(HELLOS, async () => {
      const refused = await treadle(here.dataDir, ["publish", folder, "--account", "worst", "--json"]);
      expect(refused.code).toBe(1);
    });
    expectUnharmed(seen, here.aloneMs);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("the neighbour, while somebody opens connections and says nothing, goes on as if alone", async () => {
  const { port } = new URL(here.service().ready.url);
  const sockets: Socket[] = [];
  try {
    const seen = await here.watch(HELLOS, async () => {
      for (let number = 0; number < IDLE_CONNECTIONS; number++) {
        const socket = connect({ port: Number(port), host: "127.0.0.1", localAddress: "127.0.0.9" });
        socket.on("error", () => undefined).resume(); // Unread, its end would not be noticed.
        sockets.push(socket);
        if (number % 100 === 99) await sleep(20);
      }
      await sleep(2_000);
    });
    expectUnharmed(seen, here.aloneMs);
    const open = sockets.filter((socket) => !socket.destroyed && socket.readyState === "open");
    expect(open.length).toBeLessThanOrEqual(OF_ADDRESS_MAX);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

test.each(PROGRAMS)(
  "the neighbour, while a tenant brings $name, goes on as if alone",
  async ({ files, executions, seconds = SECONDS, killed = false }) => {
    const workflow = await here.publish(files);
    let begun: Awaited<ReturnType<Neighbourhood["begin"]>> = [];
    const seen = await here.watch(HELLOS_BESIDE_PROGRAMS, async () => {
      begun = await here.begin(workflow, executions);
      await sleep(seconds * 1000);
    });
    expectUnharmed(seen, here.aloneMs);
    if (killed) {
      expect(await here.killAndStart()).toBeLessThan(START_MS_MAX);
      expect((await here.hello()).status).toBe(200);
    }
    await here.cancel(workflow, begun);
    if (killed) await here.untilQuick(here.aloneMs * SLOWER_MAX);
  },
);
