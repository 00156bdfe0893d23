import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { type BuildOptions, buildTemporal, describeProgress } from "../../../src/setup/servers/temporal-build.ts";
import { aFolder, aRunner, type Call } from "./surroundings.ts";

const WRAPPER = fileURLToPath(new URL("../../../src/setup/servers/temporal-build/", import.meta.url));

/** A Go of this version; what it answers to a build is up to the test. */
function aGo(
  version: string | undefined,
  options: { caches?: string; build?: (call: Call) => Promise<object> | object } = {},
) {
  return aRunner(async (call) => {
    if (call.args[0] === "version")
      return version === undefined ? { code: 127 } : { stdout: `go version go${version} linux/amd64\n` };
    if (call.args[0] === "env") return { stdout: options.caches ?? "/nowhere/mod\n/nowhere/build\n" };
    return (await options.build?.(call)) ?? {};
  });
}

function build(go: ReturnType<typeof aGo>, more: Partial<BuildOptions> = {}) {
  const reports: string[] = [];
  const folder = aFolder();
  const built = buildTemporal({
    env: { HOME: "/home/somebody" },
    folder,
    run: go.run,
    report: (line) => reports.push(line),
    freeBytes: async () => 2 ** 40,
    ...more,
  });
  return { built, folder, reports };
}

test("buildTemporal, with a new enough Go, builds the pinned version from our module with its checksums", async () => {
  let sums = "";
  const go = aGo("1.26.4", {
    build: ({ options }) => {
      sums = readFileSync(join(options.cwd ?? "", "go.sum"), "utf8");
      return {};
    },
  });
  const env = {
    HOME: "/home/somebody",
    GOFLAGS: "-mod=mod",
    GOOS: "plan9",
    GOPROXY: "https://proxy.example",
    GOSUMDB: "off",
  };
  const { built, folder } = build(go, { env });
  expect(await built).toEqual({ program: join(folder, "temporal"), version: "1.8.2" });
  const call = go.calls.at(-1);
  expect(call?.command).toBe("go");
  expect(call?.args).toEqual(
    [
      ["build", "-mod=readonly", "-trimpath", "-v"],
      ["-ldflags", "-s -w -X github.com/temporalio/cli/internal/temporalcli.Version=1.8.2"],
      ["-o", join(folder, "temporal"), "github.com/temporalio/cli/cmd/temporal"],
    ].flat(),
  );
  expect(call?.options.cwd).toBe(join(folder, "wrapper"));
  expect(sums).toBe(readFileSync(join(WRAPPER, "go.sum"), "utf8"));
  expect(call?.options.env).toMatchObject({
    CGO_ENABLED: "0",
    GOWORK: "off",
    GOTOOLCHAIN: "local",
    GOFLAGS: "-buildvcs=false -modcacherw",
    GOPROXY: "https://proxy.example",
    GOMODCACHE: join(folder, "modules"),
    GOCACHE: join(folder, "cache"),
    GOTMPDIR: folder,
  });
  expect(call?.options.env.GOOS).toBeUndefined();
});

test("buildTemporal, where the user has Go caches, uses and keeps those", async () => {
  const home = aFolder();
  mkdirSync(join(home, "mod"));
  mkdirSync(join(home, "build"));
  const go = aGo("1.26.8", { caches: `${join(home, "mod")}\n${join(home, "build")}\n` });
  await build(go, { freeBytes: async () => 0 }).built;
  expect(go.calls.at(-1)?.options.env).toMatchObject({
    GOMODCACHE: join(home, "mod"),
    GOCACHE: join(home, "build"),
    GOFLAGS: "-buildvcs=false",
  });
  expect(existsSync(join(home, "mod"))).toBe(true);
});

test("buildTemporal, with Go 1.25, lets Go fetch the version it needs, and where that fails installs the older Temporal", async () => {
  const fetching = aGo("1.25.1");
  const first = build(fetching);
  expect((await first.built).version).toBe("1.8.2");
  expect(fetching.calls.at(-1)?.options.env.GOTOOLCHAIN).toBe("auto");

  const offline = aGo("1.26.3", {
    build: ({ args }) => (args[0] === "build" ? { code: 1, stderr: ["go: download go1.26.4: timeout"] } : {}),
  });
  const second = build(offline);
  expect(await second.built).toEqual({ program: join(second.folder, "temporal"), version: "1.5.1" });
  const call = offline.calls.at(-1);
  expect(call?.args.slice(0, 3)).toEqual(["install", "-trimpath", "-v"]);
  expect(call?.args.at(-1)).toBe("github.com/temporalio/cli/cmd/temporal@v1.5.1");
  expect(call?.options.env).toMatchObject({ GOTOOLCHAIN: "local", GOBIN: second.folder });
  expect(second.reports.join()).toContain(
    "Go 1.26.3 could not become the 1.26.4 that Temporal 1.8.2 needs; building Temporal 1.5.1 instead.",
  );
});

test("buildTemporal, without a suitable Go, says what there is and what is needed", async () => {
  await expect(build(aGo(undefined)).built).rejects.toThrow("there is no Go on PATH");
  await expect(build(aGo("1.19.8")).built).rejects.toThrow("the Go on PATH is 1.19.8; needed is 1.25 or later");
});

test("buildTemporal, when there is too little disk for its caches, says so before it begins", async () => {
  const go = aGo("1.26.4");
  await expect(build(go, { freeBytes: async () => 2 ** 31 }).built).rejects.toThrow("needs 8.0 GiB of free disk");
  expect(go.calls.map(({ args }) => args[0])).toEqual(["version", "env"]);
});

test("buildTemporal, when Go fails, quotes the lines that tell why", async () => {
  const stderr = ["go: downloading a v1", "a/b", "verifying a@v1: checksum mismatch", "c/d"];
  await expect(build(aGo("1.26.4", { build: () => ({ code: 1, stderr }) })).built).rejects.toThrow(
    "go build failed: verifying a@v1: checksum mismatch",
  );
});

test("buildTemporal, while it runs, tells the time, the modules and the packages so far", async () => {
  const go = aGo("1.26.4", {
    build: async ({ options }) => {
      for (const line of [
        "go: downloading modernc.org/sqlite v1",
        "go: downloading a v2",
        "internal/goarch",
        "google.golang.org/grpc",
        "# warning: x",
      ]) {
        options.onLine?.("stderr", line);
      }
      await sleep(60);
      return {};
    },
  });
  const { built, reports } = build(go, { reportIntervalMs: 20 });
  await built;
  expect(reports[0]).toBe(
    "Building Temporal 1.8.2 with Go: about 8 minutes on two cores, once for all clones on this machine.",
  );
  expect(reports[1]).toMatch(
    /^Building Temporal: \d+ s so far, 2 of about 253 modules downloaded, 2 of about 1718 packages compiled\.$/,
  );
});

test("describeProgress, when there is more than was counted once, never says more than all", () => {
  expect(describeProgress({ seconds: 200, modules: 260, packages: 1800 })).toBe(
    "3 min 20 s so far, 260 of about 260 modules downloaded, 1800 of about 1800 packages compiled",
  );
});

test("the wrapper module, compared with the version we stamp, builds that version", () => {
  const module = readFileSync(join(WRAPPER, "go.mod"), "utf8");
  expect(module).toContain("github.com/temporalio/cli v1.8.2 ");
  expect(module).toMatch(/^go 1\.26\.4$/m);
});
