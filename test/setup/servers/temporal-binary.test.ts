import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { type RunCommand, runCommand } from "../../../src/setup/servers/command.ts";
import { type BinaryOptions, resolveTemporalBinary } from "../../../src/setup/servers/temporal-binary.ts";
import { cachePath, findCacheDir, findCached } from "../../../src/setup/servers/temporal-cache.ts";
import { aFetch, aRelease, noNetwork } from "./releases.ts";
import { aFolder, aProgram, aTemporalProgram } from "./surroundings.ts";

const PROGRAM = '#!/bin/sh\n# released\necho "temporal version 1.8.2 (Server 1.31.2, UI 2.50.1)"\n';

/** Runs real programs, except `go`: that one is as given, or not there. */
function aRunWithGo(go?: (args: readonly string[]) => Promise<void>): { run: RunCommand; builds: number[] } {
  const builds: number[] = [];
  const run: RunCommand = async (command, args, options) => {
    if (command !== "go") return runCommand(command, args, options);
    if (go === undefined) return { code: 127, stdout: "", tail: [] };
    if (args[0] === "version") return { code: 0, stdout: "go version go1.26.4 linux/amd64\n", tail: [] };
    if (args[0] === "env") return { code: 0, stdout: "\n\n", tail: [] };
    builds.push(builds.length);
    await go(args);
    return { code: 0, stdout: "", tail: [] };
  };
  return { run, builds };
}

const goThatBuilds = async (args: readonly string[]) => {
  await sleep(200);
  aTemporalProgram(args[args.indexOf("-o") + 1] ?? "", "1.8.2", "1.31.2");
};

async function resolve(options: Partial<BinaryOptions> = {}) {
  const reports: string[] = [];
  const cacheDir = options.cacheDir ?? join(aFolder(), "cache");
  const build = { freeBytes: async () => 2 ** 40 };
  const answer = {
    env: { PATH: "" },
    cacheDir,
    report: (line: string) => void reports.push(line),
    fetch: noNetwork,
    run: aRunWithGo().run,
    build,
    ...options,
  };
  const binary = await resolveTemporalBinary(answer).catch((error: Error) => error);
  return { binary, reports, cacheDir };
}

test("resolveTemporalBinary, when TEMPORAL_CLI_PATH is suitable, takes it before all others", async () => {
  const path = aTemporalProgram(join(aFolder(), "mine"), "1.7.0", "1.31.0");
  const { binary } = await resolve({ env: { TEMPORAL_CLI_PATH: path, PATH: "/usr/bin" } });
  expect(binary).toEqual({ path, version: "1.7.0", source: `TEMPORAL_CLI_PATH (${path})` });
});

test("resolveTemporalBinary, when TEMPORAL_CLI_PATH is not suitable, refuses: it was somebody's wish", async () => {
  const { binary } = await resolve({ env: { TEMPORAL_CLI_PATH: "/nowhere/temporal" } });
  expect((binary as Error).message).toContain(
    "TEMPORAL_CLI_PATH is /nowhere/temporal, but it does not answer --version",
  );
});

test("resolveTemporalBinary, when an old version is first on PATH, names and skips it and takes the next", async () => {
  const old = aTemporalProgram(join(aFolder(), "temporal"), "1.3.0", "1.27.1");
  const good = aTemporalProgram(join(aFolder(), "temporal"), "1.6.2", "1.30.2");
  const { binary, reports } = await resolve({ env: { PATH: `.:${join(old, "..")}:${join(good, "..")}` } });
  expect(binary).toMatchObject({ path: good, version: "1.6.2" });
  expect(reports).toEqual([
    `Not using ${old}: it is version 1.3.0 with server 1.27; needed are 1.5 and 1.29 or later.`,
  ]);
});

test("resolveTemporalBinary, when nothing is there, downloads once and the next time takes it from the cache", async () => {
  const { archive, checksums } = await aRelease(PROGRAM);
  const { fetch, urls } = aFetch(archive);
  const first = await resolve({ fetch, checksums });
  const path = cachePath(first.cacheDir, "1.8.2");
  expect(first.binary).toMatchObject({ path, version: "1.8.2" });
  expect(readFileSync(path, "utf8")).toBe(PROGRAM);
  expect(readdirSync(first.cacheDir).sort()).toEqual(
    [path, `${path}.sha256`].map((one) => one.slice(first.cacheDir.length + 1)),
  );
  const second = await resolve({ fetch, checksums, cacheDir: first.cacheDir });
  expect(second.binary).toEqual(first.binary);
  expect(second.reports).toEqual([]);
  expect(urls).toHaveLength(1);
});

test("resolveTemporalBinary, when the cached program is damaged, deletes it and makes it again", async () => {
  const { archive, checksums } = await aRelease(PROGRAM);
  const { fetch, urls } = aFetch(archive);
  const { cacheDir } = await resolve({ fetch, checksums });
  const path = cachePath(cacheDir, "1.8.2");
  writeFileSync(path, `${PROGRAM}# changed\n`);
  const { binary, reports } = await resolve({ fetch, checksums, cacheDir });
  expect(reports[0]).toBe(`Deleted ${path}: it did not match its checksum.`);
  expect(binary).toMatchObject({ path });
  expect(readFileSync(path, "utf8")).toBe(PROGRAM);
  expect(urls).toHaveLength(2);
});

test("findCached, when a program that it has compared is changed, compares it again", async () => {
  const { archive, checksums } = await aRelease(PROGRAM);
  const { cacheDir } = await resolve({ fetch: aFetch(archive).fetch, checksums });
  const path = cachePath(cacheDir, "1.8.2");
  expect(await findCached(cacheDir, "1.8.2")).toBe("found");
  expect(readFileSync(`${path}.compared`, "utf8")).toMatch(/^[0-9a-f]{64} \d+ /);
  expect(await findCached(cacheDir, "1.8.2")).toBe("found");
  writeFileSync(path, `${PROGRAM}# changed\n`);
  expect(await findCached(cacheDir, "1.8.2")).toBe("damaged");
  expect(readdirSync(cacheDir)).toEqual([]);
});

test("findCached, when the checksum of a program that it has compared is another, deletes the program", async () => {
  const { archive, checksums } = await aRelease(PROGRAM);
  const { cacheDir } = await resolve({ fetch: aFetch(archive).fetch, checksums });
  const path = cachePath(cacheDir, "1.8.2");
  expect(await findCached(cacheDir, "1.8.2")).toBe("found");
  writeFileSync(`${path}.sha256`, `${"0".repeat(64)}  temporal\n`);
  expect(await findCached(cacheDir, "1.8.2")).toBe("damaged");
});

test("resolveTemporalBinary, when the download has a wrong checksum, keeps nothing of it and builds instead", async () => {
  const { archive } = await aRelease(PROGRAM);
  const { run, builds } = aRunWithGo(goThatBuilds);
  const { binary, reports, cacheDir } = await resolve({ fetch: aFetch(archive).fetch, run });
  expect(binary).toMatchObject({ path: cachePath(cacheDir, "1.8.2") });
  expect(builds).toHaveLength(1);
  expect(reports.join("\n")).toMatch(/The download of Temporal 1\.8\.2: the checksum of .* was expected/);
  expect(readFileSync(cachePath(cacheDir, "1.8.2"), "utf8")).not.toBe(PROGRAM);
  expect(await findCached(cacheDir, "1.8.2")).toBe("found");
  expect(readdirSync(cacheDir).filter((name) => name.startsWith("making-"))).toEqual([]);
});

test("resolveTemporalBinary, when two need it at once, builds once and both get it", async () => {
  const { run, builds } = aRunWithGo(goThatBuilds);
  const cacheDir = join(aFolder(), "cache");
  const both = await Promise.all([resolve({ run, cacheDir }), resolve({ run, cacheDir })]);
  expect(builds).toHaveLength(1);
  expect(both.map(({ binary }) => (binary as { path: string }).path)).toEqual(
    Array(2).fill(cachePath(cacheDir, "1.8.2")),
  );
  expect(
    both
      .flatMap(({ reports }) => reports)
      .filter((line) => line.includes(`(process ${process.pid}) is fetching or building`)),
  ).toHaveLength(1);
});

test("resolveTemporalBinary, when what Go made does not run, does not keep it", async () => {
  const { run } = aRunWithGo(async (args) => void aProgram(args[args.indexOf("-o") + 1] ?? "", "exit 1"));
  const { binary, cacheDir } = await resolve({ run });
  expect((binary as Error).message).toContain("The build with Go: it does not answer --version");
  expect(readdirSync(cacheDir)).toEqual([]);
});

test("resolveTemporalBinary, when no rung holds, lists what was tried and every way out", async () => {
  const { binary } = await resolve();
  const message = (binary as Error).message;
  for (const part of ["PATH: no temporal", "nothing in it", "fetch failed (ENOTFOUND)", "there is no Go on PATH"])
    expect(message).toContain(part);
  for (const remedy of ["TEMPORAL_ADDRESS", "TEMPORAL_CLI_PATH", "github.com", "Go 1.25"])
    expect(message).toContain(remedy);
});

test("resolveTemporalBinary, when a killed attempt left its folder, removes it before the next attempt", async () => {
  const cacheDir = join(aFolder(), "cache");
  mkdirSync(join(cacheDir, "making-abc", "modules"), { recursive: true });
  await resolve({ cacheDir });
  expect(readdirSync(cacheDir)).toEqual([]);
});

test("resolveTemporalBinary, when we are stopping, tries no further rung and frees the lock", async () => {
  const stopping = new AbortController();
  const { run, builds } = aRunWithGo(goThatBuilds);
  const fetch = async () => {
    stopping.abort(new Error("stopping"));
    throw new Error("aborted");
  };
  const { binary, cacheDir } = await resolve({ run, fetch, signal: stopping.signal });
  expect((binary as Error).message).toContain("stopping");
  expect(builds).toEqual([]);
  expect(existsSync(`${cachePath(cacheDir, "1.8.2")}.lock`)).toBe(false);
});

test("findCacheDir, by environment, is the given one, or in the XDG cache, or in the home", () => {
  expect(findCacheDir({ TREADLE_CACHE_DIR: "/a", XDG_CACHE_HOME: "/b", HOME: "/c" })).toBe("/a");
  expect(findCacheDir({ XDG_CACHE_HOME: "/b", HOME: "/c" })).toBe("/b/treadle");
  expect(findCacheDir({ HOME: "/c" })).toBe("/c/.cache/treadle");
});
