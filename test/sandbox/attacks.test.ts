import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { makeFolder } from "../runner/folders.ts";
import { ATTACKS, ATTACKS_EXPECTED } from "./attacks/attacks.ts";
import { type Attempt, attackAs } from "./attacks/ordinary-user.ts";
import { openScene, type Scene } from "./attacks/scene.ts";
import { type Field, openField } from "./attacks/waging.ts";
import { waysOf } from "./attacks/ways.ts";
import { SIEGE_USER } from "./attacks/weaken.ts";

/** Somebody else than the sandboxes of the root pass run as. */
const ORDINARY = { uid: SIEGE_USER.uid + 1, gid: SIEGE_USER.gid + 1 };
const CONTROL_TRIES = 3;
const isRoot = process.getuid?.() === 0;
const gotSomething = new Set<string>();
const waged = new Set<string>();
let scene: Scene;
let field: Field;
let folder: string;
let byOrdinaryUser: Promise<Attempt[]>;

beforeAll(async () => {
  scene = await openScene(isRoot ? SIEGE_USER : undefined);
  field = openField(scene);
  folder = makeFolder("ordinary");
  // Meanwhile, as both mostly wait. An ordinary user's own pass is the one below.
  byOrdinaryUser = isRoot ? attackAs(ORDINARY, folder) : Promise.resolve([]);
  byOrdinaryUser.catch(() => undefined);
});

afterAll(async () => {
  await field.close();
  await scene.close();
  rmSync(folder, { recursive: true, force: true });
  const contained = [...waged].filter((name) => !gotSomething.has(name)).length;
  process.stderr.write(`${ATTACKS.length} attacks, ${contained} contained\n`);
});

test.each(ATTACKS.flatMap((attack) => attack.ways.map((way) => ({ attack, way, name: attack.name }))))(
  "attack, $name, tried $way, is contained",
  async ({ attack, way, name }) => {
    waged.add(name);
    gotSomething.add(name);
    expect(await field.wage(attack, way, false)).toEqual([]);
    if (way === attack.ways.at(-1)) gotSomething.delete(name);
  },
);

test.each(ATTACKS.filter(({ control }) => isRoot || control.asRootOnly !== true))(
  "attack, $name, without $control.without, succeeds",
  async (attack) => {
    const way = attack.control.way ?? attack.ways[0] ?? "cold";
    let loot: readonly string[] = [];
    // What needs a lane finds none for a moment on a busy machine. To succeed once is enough.
    for (let tries = 0; tries < CONTROL_TRIES && loot.length === 0; tries++) loot = await field.wage(attack, way, true);
    expect(loot).not.toEqual([]);
  },
);

if (isRoot) {
  test("attacks, all of them, of an ordinary user's service, are contained too", async () => {
    const attempts = await byOrdinaryUser;
    expect(attempts.filter(({ loot }) => loot.length > 0)).toEqual([]);
    expect(attempts).toHaveLength(ATTACKS.flatMap(waysOf).length);
  }, 600_000);
}

test("attacks, counted, are all there", () => {
  expect(ATTACKS.length).toBeGreaterThanOrEqual(ATTACKS_EXPECTED);
  expect(new Set(ATTACKS.map(({ name }) => name)).size).toBe(ATTACKS.length);
});
