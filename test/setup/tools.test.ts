import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { runCommand } from "../../src/setup/servers/command.ts";
import { installPackage } from "../../src/setup/system-packages.ts";
import { prepareTools } from "../../src/setup/tools.ts";
import { probeUserNamespaces } from "../../src/setup/user-namespaces.ts";
import { aFolder, aProgram, aRunner, IS_ROOT, RUN_AS } from "./servers/surroundings.ts";

const NAMES = { "apt-get": "bubblewrap", dnf: "bubblewrap", apk: "bubblewrap" };
const NEED = { command: "treadle-test-tool", purpose: "it is for this test", packages: NAMES };
const reports: string[] = [];
const report = (line: string) => reports.push(line);

/** A system with this package manager. */
function aSystemPath(manager: string | undefined): string {
  const folder = aFolder();
  if (manager !== undefined) aProgram(join(folder, manager), "exit 1");
  return folder;
}

test("prepareTools, when the tool is there, finds path and version and installs nothing", async () => {
  const folder = aFolder();
  const path = aProgram(join(folder, NEED.command), "echo tool 0.8.0");
  const install = async () => ({ kind: "not_installed" as const, problem: "asked to install" });
  const tools = await prepareTools({
    env: { PATH: folder },
    isRoot: IS_ROOT,
    mayInstall: true,
    runAs: RUN_AS,
    report,
    run: runCommand,
    needs: [NEED],
    install,
  });
  expect(tools).toEqual({ found: { [NEED.command]: { path, version: "0.8.0" } }, problems: [] });
});

test("prepareTools, when the tool is missing and can be installed, installs and finds it", async () => {
  const folder = aFolder();
  const install = async () => {
    aProgram(join(folder, NEED.command), "echo tool 0.9.0");
    return { kind: "installed" as const };
  };
  const tools = await prepareTools({
    env: { PATH: folder },
    isRoot: true,
    mayInstall: true,
    runAs: undefined,
    report,
    run: runCommand,
    needs: [NEED],
    install,
  });
  expect(tools.found[NEED.command]?.version).toBe("0.9.0");
});

test("prepareTools, when the tool cannot be had, answers what it is for and the one command", async () => {
  const install: typeof installPackage = (names, deps) =>
    installPackage(names, { ...deps, path: aSystemPath("apt-get") });
  const tools = await prepareTools({
    env: {},
    isRoot: false,
    mayInstall: true,
    runAs: undefined,
    report,
    run: runCommand,
    needs: [NEED],
    install,
  });
  expect(tools.problems).toEqual([
    "treadle-test-tool is missing: it is for this test. Install it: sudo apt-get install bubblewrap",
  ]);
});

test("installPackage, on a Debian without package lists, fetches them and tries again, without questions", async () => {
  reports.length = 0;
  let refreshed = false;
  const { run, calls } = aRunner(({ args }) => {
    if (args.includes("update")) refreshed = true;
    return refreshed ? {} : { code: 100, stderr: ["E: Unable to locate package bubblewrap"] };
  });
  expect(
    await installPackage(NAMES, {
      isRoot: true,
      mayInstall: true,
      env: { HTTPS_PROXY: "http://proxy" },
      report,
      run,
      path: aSystemPath("apt-get"),
    }),
  ).toEqual({ kind: "installed" });
  expect(calls.map((call) => call.args.find((word) => /install|update/.test(word)))).toEqual([
    "install",
    "update",
    "install",
  ]);
  expect(calls[0]?.args).toContain("--yes");
  expect(calls[0]?.options.env).toMatchObject({ DEBIAN_FRONTEND: "noninteractive", HTTPS_PROXY: "http://proxy" });
  expect(reports[0]).toBe("Installing bubblewrap with apt-get (usually 5 to 60 s) …");
});

test("installPackage, when installing is forbidden, touches nothing and says the one command", async () => {
  const { run, calls } = aRunner(() => ({}));
  const outcome = await installPackage(NAMES, {
    isRoot: true,
    mayInstall: false,
    env: {},
    report,
    run,
    path: aSystemPath("apk"),
  });
  expect(outcome).toEqual({
    kind: "not_installed",
    problem: "Install it: apk add bubblewrap (TREADLE_INSTALL=never keeps Treadle from doing it.)",
  });
  expect(calls).toHaveLength(0);
});

test("installPackage, when the package manager fails, tells its own words", async () => {
  const { run } = aRunner(() => ({ code: 1, stderr: ["Error: Failed to download metadata for repo 'fedora'"] }));
  const outcome = await installPackage(NAMES, {
    isRoot: true,
    mayInstall: true,
    env: {},
    report,
    run,
    path: aSystemPath("dnf"),
  });
  expect(outcome).toMatchObject({
    problem: expect.stringContaining("dnf could not install bubblewrap: Error: Failed to download metadata"),
  });
});

test("installPackage, on an unknown system, says what is needed", async () => {
  const { run } = aRunner(() => ({}));
  const outcome = await installPackage(NAMES, {
    isRoot: true,
    mayInstall: true,
    env: {},
    report,
    run,
    path: aSystemPath(undefined),
  });
  expect(outcome).toEqual({ kind: "not_installed", problem: "Install bubblewrap with this system's package manager." });
});

test("probeUserNamespaces, on this machine, makes a real sandbox as the unprivileged user", async () => {
  const { found } = await prepareTools({
    env: { PATH: process.env.PATH },
    isRoot: IS_ROOT,
    mayInstall: false,
    runAs: RUN_AS,
    report,
    run: runCommand,
  });
  expect(
    await probeUserNamespaces({ bwrapPath: found.bwrap?.path ?? "bwrap", runAs: RUN_AS, run: runCommand }),
  ).toBeUndefined();
});

test.each([
  [
    "bwrap: No permissions to create new namespace",
    { "/proc/sys/kernel/unprivileged_userns_clone": "0" },
    "kernel.unprivileged_userns_clone=1",
  ],
  [
    "bwrap: Creating new namespace failed: No space left on device",
    { "/proc/sys/user/max_user_namespaces": "0" },
    "user.max_user_namespaces=15000",
  ],
  [
    "bwrap: setting up uid map: Permission denied",
    { "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1" },
    "/etc/apparmor.d/bwrap",
  ],
  [
    "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
    { "/.dockerenv": "" },
    "systempaths=unconfined",
  ],
  ["bwrap: Failed to make / slave: Permission denied", { "/.dockerenv": "" }, "apparmor=unconfined"],
  ["bwrap: No permissions to create new namespace", { "/.dockerenv": "" }, "seccomp profile forbids namespaces"],
  ["bwrap: something new", {}, "Allow user namespaces on this machine"],
])("probeUserNamespaces, when bubblewrap says %j on %j, advises %j", async (said, settings, advice) => {
  const { run } = aRunner(() => ({ code: 1, stderr: [said] }));
  const readSetting = async (path: string) => (settings as Record<string, string>)[path];
  const problem = await probeUserNamespaces({ bwrapPath: "bwrap", runAs: undefined, run, readSetting });
  expect(problem).toContain(`cannot make a sandbox (${said})`);
  expect(problem).toContain(advice);
});
