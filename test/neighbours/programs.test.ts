import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { PROGRAM_ATTACKS } from "../../chaos/hostile/attacks.ts";
import { expectUnharmed, SLOWER_MAX } from "./expectations.ts";
import { type Neighbourhood, openNeighbourhood } from "./neighbourhood.ts";

/** An ordinary user's service has kernel users for its sandboxes on some machines only. */
const isRoot = process.getuid?.() === 0;
const held = PROGRAM_ATTACKS.filter(({ ownUsers }) => isRoot || ownUsers !== true);
const HELLOS = 12;
/** The worst moment is somewhere within this time, when all of an attack's programs are at work. */
const SECONDS = 3;
const START_MS_MAX = 30_000;

let here: Neighbourhood;

beforeAll(async () => {
  here = await openNeighbourhood();
}, 600_000);

afterAll(() => here?.close());

test.each(held)(
  "the neighbour, while a tenant brings $name, goes on as if alone",
  async ({ files, executions, seconds = SECONDS, killed = false }) => {
    const workflow = await here.publish(files);
    let begun: Awaited<ReturnType<Neighbourhood["begin"]>> = [];
    const seen = await here.watch(HELLOS, async () => {
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
