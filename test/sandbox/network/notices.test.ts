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
  "granted.test": [[OUTSIDE.private10]],
  "moves.test": [[OUTSIDE.private10], ["127.0.0.1"], [OUTSIDE.metadata], [OWN], [OUTSIDE.private192]],
};

/** Where the service's own servers are. */
const OURS = { protectedHosts: [OUTSIDE.private192], ungrantableHosts: [OUTSIDE.private172] };

let world: World;
let poster: ReturnType<typeof spawnInWorld>;
let answers: AsyncIterator<string>;

beforeAll(async () => {
  world = await makeWorld(PROGRAMS);
  world.setResolver("127.0.0.1");
  await world.changeAddress("add", OWN);
  const script = fileURLToPath(new URL("poster.ts", import.meta.url));
  poster = spawnInWorld(world, [
    process.execPath,
    ...NODE_ARGUMENTS,
    script,
    JSON.stringify(NAMES),
    String(PORT),
    JSON.stringify(OURS),
  ]);
  poster.stderr.pipe(process.stderr);
  answers = createInterface({ input: poster.stdout })[Symbol.asyncIterator]();
  await answers.next();
});

afterAll(async () => {
  poster?.stdin.end();
  await world?.close();
});

async function post(host: string, ...granted: readonly string[]): Promise<Record<string, unknown>> {
  const url = host.includes("://") ? host : `https://${host}:${PORT}/hook`;
  poster.stdin.write(`${[url, ...granted].join(" ")}\n`);
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
        kind: "failed",
        answer: expect.stringContaining(`ECONNREFUSED ${PUBLIC}`),
        asked: count,
        connections: 0,
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

/** What is there outside closes the port: the connection was tried at this address. */
const reached = (address: string) => ({ kind: "failed", answer: expect.stringContaining(`ECONNREFUSED ${address}`) });
const [ADDRESS, RANGE] = [OUTSIDE.private10, `${OUTSIDE.private10.replace(/\d+$/, "0")}/24`];

test("receiver at a private address, which the account was granted by name, address or range, is reached at that port alone", async () => {
  for (const [host, grant] of [
    ["granted.test", `granted.test:${PORT}`],
    ["granted.test", `${ADDRESS}:${PORT}`],
    [ADDRESS, `${RANGE}:80,${PORT - 1}-${PORT + 1}`],
  ] as const)
    expect(await post(host, `other.test:${PORT}`, grant)).toMatchObject(reached(ADDRESS));
  expect(await post(`http://granted.test:${PORT}/`, `granted.test:${PORT}`)).toMatchObject(reached(ADDRESS));
  const none = { ...REFUSED, asked: expect.any(Number) };
  for (const grant of [`granted.test:${PORT + 1}`, `other.test:${PORT}`, `${OUTSIDE.private172}:${PORT}`])
    expect(await post("granted.test", grant)).toEqual(none);
  expect(await post(`https://${ADDRESS}:${PORT + 1}/`, `${ADDRESS}:${PORT}`)).toEqual(none);
  // The grant is taken away: the same message, a moment later.
  const ended = await post("granted.test");
  expect(ended).toEqual(none);
  expect(ended["answer"]).toContain(
    `the account has no destination there. The operator can grant one (treadle destinations add NAME granted.test:${PORT})`,
  );
  expect(await post(`http://granted.test:${PORT}/`)).toMatchObject({
    kind: "refused",
    answer: "it must begin with https://.",
  });
});

test("receivers that nobody can be granted, loopback, metadata, this machine and the service's own servers, are not reached with a grant", async () => {
  const never = [
    "127.0.0.1",
    OUTSIDE.metadata,
    OWN,
    OUTSIDE.private192,
    OUTSIDE.private172,
    "[::1]",
    `[::ffff:${ADDRESS}]`,
  ];
  for (const host of never) {
    const range = host.includes("[") ? [] : [`${host}:${PORT}`, `${host.replace(/\d+\.\d+$/, "0.0")}/16:${PORT}`];
    expect(await post(host, ...range, `0.0.0.0/0:${PORT}`)).toEqual({ ...REFUSED, asked: 0 });
  }
  // A name whose owner turns it on the service.
  expect(await post("moves.test", `moves.test:${PORT}`)).toMatchObject(reached(ADDRESS));
  for (let count = 2; count <= 5; count += 1)
    expect(await post("moves.test", `moves.test:${PORT}`)).toEqual({ ...REFUSED, asked: count });
});
