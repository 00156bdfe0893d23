import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { canReach, copyIntoReach, makeOwnFolder, placeFolder } from "../../../src/setup/servers/reachability.ts";
import { aFolder, IS_ROOT, RUN_AS } from "./surroundings.ts";

const reports: string[] = [];
const report = (line: string) => reports.push(line);
const mode = (path: string) => statSync(path).mode & 0o777;

test("placeFolder, when the data dir is within reach, makes the folder in it and finds it again", async () => {
  const dataDir = join(aFolder(), "data");
  const outsideFolder = join(aFolder(), "outside");
  const place = { dataDir, name: "postgres", runAs: RUN_AS, outsideFolder, report };
  expect(await placeFolder(place)).toBe(join(dataDir, "postgres"));
  expect(await placeFolder(place)).toBe(join(dataDir, "postgres"));
  expect(mode(join(dataDir, "postgres"))).toBe(IS_ROOT ? 0o711 : 0o700);
  expect(existsSync(outsideFolder)).toBe(false);
});

test("placeFolder, when the link of the data dir leads nowhere, refuses instead of starting empty", async () => {
  const dataDir = aFolder();
  symlinkSync("/nowhere/postgres-1", join(dataDir, "postgres"));
  await expect(
    placeFolder({ dataDir, name: "postgres", runAs: RUN_AS, outsideFolder: aFolder(), report }),
  ).rejects.toThrow(`${join(dataDir, "postgres")} points to /nowhere/postgres-1, which is gone`);
});

if (IS_ROOT) {
  test("placeFolder, when a folder above the data dir keeps the user out, uses a place outside and links to it", async () => {
    const home = aFolder();
    chmodSync(home, 0o700);
    const dataDir = join(home, "checkout", ".treadle");
    const outsideFolder = join(aFolder(), "outside");
    const place = { dataDir, name: "postgres", runAs: RUN_AS, outsideFolder, report };
    const folder = await placeFolder(place);
    expect(folder.startsWith(`${outsideFolder}/postgres-`)).toBe(true);
    expect(readlinkSync(join(dataDir, "postgres"))).toBe(folder);
    expect(await canReach(folder, "x", RUN_AS)).toBe(true);
    expect(readFileSync(join(folder, "belongs-to.txt"), "utf8")).toBe(`${join(dataDir, "postgres")}\n`);
    expect(reports.at(-1)).toContain(folder);
    expect(mode(home)).toBe(0o700);

    expect(await placeFolder(place)).toBe(folder);
    rmSync(dataDir, { recursive: true });
    expect(await placeFolder(place)).not.toBe(folder);
  });

  test("placeFolder, when only the data dir itself is closed, lets the user pass through it but not list it", async () => {
    const dataDir = join(aFolder(), "data");
    mkdirSync(dataDir, { mode: 0o700 });
    const folder = await placeFolder({ dataDir, name: "postgres", runAs: RUN_AS, outsideFolder: aFolder(), report });
    expect(folder).toBe(join(dataDir, "postgres"));
    expect(mode(dataDir)).toBe(0o711);
  });

  test("placeFolder, when data are there but have moved out of reach, refuses and says what to do", async () => {
    const home = aFolder();
    const dataDir = join(home, "data");
    await placeFolder({ dataDir, name: "postgres", runAs: RUN_AS, outsideFolder: aFolder(), report });
    chmodSync(home, 0o700);
    await expect(
      placeFolder({ dataDir, name: "postgres", runAs: RUN_AS, outsideFolder: aFolder(), report }),
    ).rejects.toThrow(`User ${RUN_AS?.uid} cannot enter ${join(dataDir, "postgres")}`);
  });

  test("copyIntoReach, when the original cannot be executed, copies it once, links as links, readable for all", async () => {
    const home = aFolder();
    const source = join(home, "programs");
    mkdirSync(source);
    writeFileSync(join(source, "tool"), "#!/bin/sh\necho yes", { mode: 0o700 });
    symlinkSync("tool", join(source, "alias"));
    chmodSync(home, 0o700);
    const folder = aFolder();
    const works = (path: string) => canReach(join(path, "alias"), "x", RUN_AS);
    const copy = await copyIntoReach({ source, folder, name: "programs-1", works, report });
    expect(copy).toBe(join(folder, "programs-1"));
    expect(readlinkSync(join(folder, "programs-1", "alias"))).toBe("tool");
    expect(lstatSync(join(folder, "programs-1", "tool")).mode & 0o777).toBe(0o755);

    writeFileSync(join(folder, "programs-1", "mark"), "");
    await copyIntoReach({ source, folder, name: "programs-1", works, report });
    expect(readdirSync(join(folder, "programs-1"))).toContain("mark");
    expect(readdirSync(folder)).toEqual(["programs-1"]);
  });
}

test("copyIntoReach, when neither the original nor the copy works, answers undefined", async () => {
  const source = join(aFolder(), "tool");
  writeFileSync(source, "");
  expect(
    await copyIntoReach({ source, folder: aFolder(), name: "tool-1", works: async () => false, report }),
  ).toBeUndefined();
});

test("copyIntoReach, when the copy is busy at first, answers it as soon as it works", async () => {
  const source = join(aFolder(), "tool");
  writeFileSync(source, "");
  const folder = aFolder();
  let looks = 0;
  const works = async (path: string) => path !== source && (looks += 1) > 2;
  expect(await copyIntoReach({ source, folder, name: "tool-1", works, report })).toBe(join(folder, "tool-1"));
});

test("makeOwnFolder, when it exists, leaves it as it is", async () => {
  const path = join(aFolder(), "own");
  await makeOwnFolder(path, RUN_AS);
  expect(mode(path)).toBe(0o700);
  expect(statSync(path).uid).toBe(RUN_AS?.uid ?? process.getuid?.());
  writeFileSync(join(path, "kept"), "");
  await makeOwnFolder(path, RUN_AS);
  expect(readdirSync(path)).toEqual(["kept"]);
});
