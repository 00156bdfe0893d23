import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { NODE_ARGUMENTS } from "../../setup/servers/surroundings.ts";
import { PROGRAMS } from "./bench.ts";
import type { Turns } from "./poster.ts";
import { makeWorld, OUTSIDE, spawnInWorld, type World } from "./world.ts";

/** Where nobody listens but this machine. */
const PORT = 4443;
const PUBLIC = OUTSIDE.public;
/** A public one of the machine itself. */
const OWN = "93.184.215.15";
const NAMES: Turns = {
  "turns.test": [[PUBLIC], ["127.0.0.1"]],
  "both.test": [[PUBLIC, "127.0.0.1"]],
  "own.test": [[OWN]],
  "inside.test": [[OUTSIDE.private10]],
};

let world: World;
let poster: ReturnType<typeof spawnInWorld>;
let answers: AsyncIterator<string>;

beforeAll(async () => {
  world = await makeWorld(PROGRAMS);
  world.setResolver("127.0.0.1");
  await world.changeAddress("add", OWN);
  const script = fileURLToPath(new URL("poster.ts", import.meta.url));
  poster = spawnInWorld(world, [process.execPath, ...NODE_ARGUMENTS, script, JSON.stringify(NAMES), String(PORT)]);
  poster.stderr.pipe(process.stderr);
  answers = createInterface({ input: poster.stdout })[Symbol.asyncIterator]();
  await answers.next();
});

afterAll(async () => {
  poster?.stdin.end();
  await world?.close();
});

async function post(host: string): Promise<Record<string, unknown>> {
  poster.stdin.write(`https://${host}:${PORT}/hook\n`);
  return JSON.parse((await answers.next()).value as string) as Record<string, unknown>;
}

const REFUSED = {
  kind: "refused",
  answer: expect.stringContaining("has an address that is not public"),
  connections: 0,
};

test("receiver, whose name changes its address, is reached at the address that was checked and at no other", async () => {
  for (let count = 1; count <= 6; count += 1) {
    // Each message asks once: a second question would have been answered with the other address.
    const seen = await post("turns.test");
    if (count % 2 === 0) expect(seen).toEqual({ ...REFUSED, asked: count });
    else
      expect(seen).toEqual({
        ...{ kind: "failed", answer: expect.stringContaining(`ECONNREFUSED ${PUBLIC}`) },
        ...{ asked: count, connections: 0 },
      });
  }
});

test("receivers, of which one address is this machine's own or of a private network, are not reached", async () => {
  for (const host of ["both.test", "own.test", "inside.test"]) {
    expect(await post(host)).toEqual({ ...REFUSED, asked: 1 });
  }
  for (const host of ["127.0.0.1", OWN, "[::1]", "[::ffff:127.0.0.1]"])
    expect(await post(host)).toEqual({ ...REFUSED, asked: 0 });
});
