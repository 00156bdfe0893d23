import { cpSync, lstatSync, mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { runCommand } from "../../../src/setup/servers/command.ts";
import {
  findEmbeddedPackage,
  findSystemPostgres,
  linkLibraries,
} from "../../../src/setup/servers/postgres-binaries.ts";
import { aFolder, aProgram, aRunner } from "./surroundings.ts";

function anInstallation(folder: string, version: string): string {
  aProgram(join(folder, "postgres"), `echo "postgres (PostgreSQL) ${version}"`);
  aProgram(join(folder, "initdb"), "exit 0");
  return folder;
}

test("findEmbeddedPackage, on this system, finds the package of the version that package.json pins", async () => {
  const found = await findEmbeddedPackage();
  expect(found?.major).toBe(18);
  expect(found?.native.endsWith("/native")).toBe(true);
});

test("findEmbeddedPackage, when npm installed none, answers undefined", async () => {
  expect(await findEmbeddedPackage(undefined, "plan9-x64")).toBeUndefined();
});

test("linkLibraries, when the install script never ran, makes the links that the server needs", async () => {
  const embedded = await findEmbeddedPackage();
  const native = join(aFolder(), "native");
  cpSync(embedded?.native ?? "", native, { recursive: true, verbatimSymlinks: true });
  const libraries = join(native, "lib");
  for (const name of readdirSync(libraries))
    if (lstatSync(join(libraries, name)).isSymbolicLink()) rmSync(join(libraries, name));
  const askVersion = () => runCommand(join(native, "bin", "postgres"), ["--version"], { env: {} });
  if (process.platform === "linux") expect((await askVersion()).code).toBe(127);

  await linkLibraries(native);
  await linkLibraries(native); // links that exist are no problem
  expect((await askVersion()).stdout).toContain("PostgreSQL) 18");
  const name = readdirSync(libraries).find((one) => lstatSync(join(libraries, one)).isSymbolicLink()) ?? "";
  expect(readlinkSync(join(libraries, name))).not.toContain("/");
});

test("findSystemPostgres, when several versions are there, gives the supported ones, newest first, each once", async () => {
  const root = aFolder();
  for (const version of ["9.6.24", "13.22", "15.18 (Debian 15.18-0+deb12u1)", "17.2", "19beta1"]) {
    anInstallation(join(root, "versions", version.split(/[. b]/)[0] ?? "", "bin"), version);
  }
  mkdirSync(join(root, "path"));
  symlinkSync(join(root, "versions", "15", "bin", "postgres"), join(root, "path", "postgres"));
  const found = await findSystemPostgres({
    path: `relative:${join(root, "path")}`,
    folders: [join(root, "versions", "*", "bin")],
    run: runCommand,
  });
  expect(found).toEqual([
    {
      folder: join(root, "versions", "17", "bin"),
      major: 17,
      source: `PostgreSQL 17.2 in ${join(root, "versions", "17", "bin")}`,
    },
    {
      folder: join(root, "versions", "15", "bin"),
      major: 15,
      source: `PostgreSQL 15.18 in ${join(root, "versions", "15", "bin")}`,
    },
  ]);
});

test("findSystemPostgres, when a folder has clients only or a broken server, leaves it out", async () => {
  const root = aFolder();
  aProgram(join(root, "a", "postgres"), 'echo "postgres (PostgreSQL) 16.1"'); // without initdb
  anInstallation(join(root, "b"), "16.1");
  writeFileSync(join(root, "b", "postgres"), "#!/bin/sh\nexit 1", { mode: 0o755 });
  expect(
    await findSystemPostgres({ path: `${join(root, "a")}:${join(root, "b")}`, folders: [], run: runCommand }),
  ).toEqual([]);
});

test("findSystemPostgres, when folder names carry versions, looks into each of them", async () => {
  const root = aFolder();
  anInstallation(join(root, "postgresql@16", "bin"), "16.4");
  anInstallation(join(root, "other@16", "bin"), "16.4");
  const { run, calls } = aRunner(() => ({ stdout: "postgres (PostgreSQL) 16.4\n" }));
  const found = await findSystemPostgres({ path: undefined, folders: [join(root, "postgresql@*", "bin")], run });
  expect(found.map(({ folder }) => folder)).toEqual([join(root, "postgresql@16", "bin")]);
  expect(calls.map(({ args }) => args)).toEqual([["--version"]]);
});
