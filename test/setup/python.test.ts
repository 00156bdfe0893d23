import { chmodSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { findPython, type PythonOptions, toBindPaths } from "../../src/setup/python.ts";
import { runCommand } from "../../src/setup/servers/command.ts";
import { aFolder, aProgram, IS_ROOT, RUN_AS } from "./servers/surroundings.ts";

const NOT_INSTALLED: PythonOptions["install"] = async () => ({
  kind: "not_installed",
  problem: "Install it: apt-get install python3",
});

function find(options: Partial<PythonOptions>) {
  const base = {
    env: {},
    runAs: RUN_AS,
    isRoot: IS_ROOT,
    mayInstall: false,
    report: () => {},
    run: runCommand,
    usualFolders: "",
    install: NOT_INSTALLED,
  };
  return findPython({ ...base, ...options });
}

/** A program that answers the questions as an interpreter of this version would. */
function aPython(path: string, version: string, more: Record<string, unknown> = {}): string {
  const answer = {
    executable: path,
    version: version.split(".").map(Number),
    implementation: "cpython",
    prefix: "/opt/py",
    folders: [],
    platform: "linux-x86_64-glibc2.36",
    ...more,
  };
  return aProgram(path, `echo '${JSON.stringify(answer)}'`);
}

test("findPython, on this machine, finds an interpreter that the unprivileged user really executes, its links resolved", async () => {
  const python = await find({ env: { PATH: process.env.PATH }, usualFolders: "/usr/bin:/usr/local/bin" });
  const answer = await runCommand(
    python.path,
    ["-I", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3], sys.base_prefix)"],
    { env: {}, runAs: RUN_AS },
  );
  expect(answer.stdout.trim()).toBe(`${python.version} ${python.prefix}`);
  expect(python.platform).toMatch(/^(linux|macosx)-.+-\w+/);
  expect(Number(python.version.split(".")[1])).toBeGreaterThanOrEqual(10);
});

test("findPython, with several on the PATH, prefers the newest known name over the first folder", async () => {
  const [first, second] = [aFolder(), aFolder()];
  aPython(join(first, "python3"), "3.10.1");
  const newest = aPython(join(second, "python3.13"), "3.13.0");
  expect(await find({ env: { PATH: `${first}:${second}` } })).toMatchObject({
    path: newest,
    version: "3.13.0",
    bindPaths: ["/opt/py", second],
  });
});

test("findPython, behind a wrapper script, answers the interpreter itself", async () => {
  const folder = aFolder();
  const real = aPython(join(folder, "real/python3.11"), "3.11.2");
  aProgram(join(folder, "shims/python3"), `exec ${real} "$@"`);
  expect(await find({ env: { PATH: join(folder, "shims") } })).toMatchObject({ path: real });
});

test("findPython, when a wrapper script can be executed but the interpreter behind it cannot, refuses", async () => {
  const folder = aFolder();
  aPython(join(folder, "python3"), "3.11.2", { executable: "/nowhere/python3.11" });
  await expect(find({ env: { PATH: folder } })).rejects.toThrow(/cannot execute it/);
});

test("findPython, when the unprivileged user cannot execute the first one, takes the next", async () => {
  const [closed, open] = [aFolder(), aFolder()];
  aPython(join(closed, "python3.13"), "3.13.0");
  chmodSync(closed, IS_ROOT ? 0o700 : 0o000);
  const good = aPython(join(open, "python3"), "3.11.2");
  expect(await find({ env: { PATH: `${closed}:${open}` } })).toMatchObject({ path: good });
});

test("findPython, when TREADLE_PYTHON does not do, refuses instead of taking another", async () => {
  const folder = aFolder();
  aPython(join(folder, "python3"), "3.12.0");
  const old = aPython(join(folder, "old"), "3.9.18");
  await expect(find({ env: { PATH: folder, TREADLE_PYTHON: old } })).rejects.toThrow(
    `TREADLE_PYTHON is ${old}, but it is version 3.9.18; needed is 3.10 or later`,
  );
  const pypy = aPython(join(folder, "pypy"), "3.10.1", { implementation: "pypy" });
  await expect(find({ env: { PATH: folder, TREADLE_PYTHON: pypy } })).rejects.toThrow("it is pypy; needed is CPython");
});

test("findPython, with only old ones, tells what was tried and what to type", async () => {
  const folder = aFolder();
  aPython(join(folder, "python3"), "3.9.2");
  const search = find({ env: { PATH: folder } });
  await expect(search).rejects.toThrow(`${join(folder, "python3")}: it is version 3.9.2`);
  await expect(search).rejects.toThrow("Install it: apt-get install python3 Or set TREADLE_PYTHON to one.");
});

test("findPython, when none is there and the system's may be installed, installs and finds it", async () => {
  const folder = aFolder();
  const install: PythonOptions["install"] = async () => {
    aPython(join(folder, "python3"), "3.11.2");
    return { kind: "installed" };
  };
  expect(await find({ usualFolders: folder, install })).toMatchObject({ version: "3.11.2" });
});

test("findPython, with a relative folder on the PATH, never looks there", async () => {
  await expect(find({ env: { PATH: ".:" } })).rejects.toThrow("nothing: no python3");
});

test("findPython, given a virtual environment, answers the interpreter it was made from", async () => {
  const real = await find({ usualFolders: "/usr/bin:/usr/local/bin" });
  const folder = aFolder();
  symlinkSync(real.path, aProgram(join(folder, "unused"), "").replace("unused", "python3"));
  expect(await find({ env: { TREADLE_PYTHON: join(folder, "python3") } })).toEqual(real);
});

test("toBindPaths, for an interpreter outside /usr, shows its prefix once and never a whole home", () => {
  const toPaths = (prefix: string) =>
    toBindPaths({
      executable: `${prefix}/bin/python3.12`,
      prefix,
      folders: [prefix, `${prefix}/lib/python3.12`, `${prefix}/lib`],
    });
  expect(toPaths("/opt/python-3.12")).toEqual(["/opt/python-3.12"]);
  expect(toPaths("/usr")).toEqual([]);
  expect(toPaths("/usr/local")).toEqual([]);
  expect(toPaths("/home/ada")).toEqual(["/home/ada/bin", "/home/ada/lib"].sort((a, b) => a.length - b.length));
});
