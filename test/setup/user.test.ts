import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "@jest/globals";
import { runCommand } from "../../src/setup/servers/command.ts";
import { canServe, dropPrivileges, type Identity, prepareServiceUser } from "../../src/setup/user.ts";
import { aFolder, aRunner, type Call, IS_ROOT, RUN_AS } from "./servers/surroundings.ts";

const reports: string[] = [];
const report = (line: string) => reports.push(line);

/** A system whose users are in `users`; `useradd` and `adduser` add to it when `can` says so. */
function aSystem(users: Record<string, number>, can: { useradd?: boolean; adduser?: boolean; become?: boolean } = {}) {
  return aRunner(({ command, args, options }: Call) => {
    if (command === "id") {
      const uid = users[args[1] as string];
      return uid === undefined ? { code: 1 } : { stdout: `${uid}\n` };
    }
    if (command === "useradd" || command === "adduser") {
      if (!can[command]) return { code: 127 };
      users.treadle = 990;
    }
    if (options.runAs !== undefined)
      return can.become === false ? { code: 126, stderr: ["Operation not permitted"] } : {};
    return {};
  });
}

test("prepareServiceUser, started by an ordinary user, needs no other", async () => {
  const { run, calls } = aSystem({});
  expect(await prepareServiceUser({ isRoot: false, report, run })).toBeUndefined();
  expect(calls).toHaveLength(0);
});

test("prepareServiceUser, when the user is there, takes it and makes nothing", async () => {
  const { run, calls } = aSystem({ treadle: 990 });
  expect(await prepareServiceUser({ isRoot: true, report, run })).toEqual({ name: "treadle", uid: 990, gid: 990 });
  expect(calls.map((call) => call.command)).not.toContain("useradd");
});

test("prepareServiceUser, when the user is missing, makes it without login and home, and says so", async () => {
  reports.length = 0;
  const { run, calls } = aSystem({ nobody: 65534 }, { useradd: true });
  expect(await prepareServiceUser({ isRoot: true, report, run })).toMatchObject({ name: "treadle", uid: 990 });
  expect(calls.find((call) => call.command === "useradd")?.args).toEqual(
    expect.arrayContaining(["--system", "--no-create-home", "/bin/false"]),
  );
  expect(reports.join()).toContain("Made the system user treadle (uid 990)");
});

test("prepareServiceUser, where only BusyBox's adduser is, makes the user with it", async () => {
  const { run } = aSystem({ nobody: 65534 }, { adduser: true });
  expect(await prepareServiceUser({ isRoot: true, report, run })).toMatchObject({ name: "treadle" });
});

test("prepareServiceUser, where no user can be made, falls back to nobody and says so", async () => {
  reports.length = 0;
  const { run } = aSystem({ nobody: 65534 });
  expect(await prepareServiceUser({ isRoot: true, report, run })).toEqual({ name: "nobody", uid: 65534, gid: 65534 });
  expect(reports).toEqual(["The user treadle could not be made; using nobody."]);
});

test("prepareServiceUser, when treadle is root under another name, refuses", async () => {
  const { run } = aSystem({ treadle: 0 });
  await expect(prepareServiceUser({ isRoot: true, report, run })).rejects.toThrow(
    "The user treadle of this system is root",
  );
});

test("prepareServiceUser, when this root may not become anybody, says what to give it", async () => {
  const { run } = aSystem({ treadle: 990 }, { become: false });
  await expect(prepareServiceUser({ isRoot: true, report, run })).rejects.toThrow(
    /cannot become treadle \(Operation not permitted\).*SETUID and SETGID/,
  );
});

/** What `canServe` looks for, in a folder that everybody may enter. */
function aCheckout(): string {
  const checkout = aFolder();
  for (const path of [
    "package.json",
    "dist/command/start.js",
    "dist/runner/main.py",
    "node_modules/pg/package.json",
    "examples/x",
  ]) {
    mkdirSync(dirname(join(checkout, path)), { recursive: true });
    writeFileSync(join(checkout, path), "");
  }
  return checkout;
}

test("canServe, asked for another user, finds every closed folder and file on the way", async () => {
  const checkout = aCheckout();
  const user = RUN_AS ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  expect(await canServe(checkout, user, [], runCommand)).toBe(true);
  if (!IS_ROOT) return; // an ordinary user can only ask for itself, and owns what it closes
  const key = join(checkout, "key");
  writeFileSync(key, "", { mode: 0o600 });
  expect(await canServe(checkout, user, [key], runCommand)).toBe(false);
  chmodSync(join(checkout, "dist"), 0o700);
  expect(await canServe(checkout, user, [], runCommand)).toBe(false);
  chmodSync(join(checkout, "dist"), 0o755);
  chmodSync(checkout, 0o700);
  expect(await canServe(checkout, user, [], runCommand)).toBe(false);
});

const USER = { name: "treadle", uid: 990, gid: 991 };

/** A process that starts as root; `sticky` keeps a way back to root. */
function anIdentity({ sticky = false } = {}): { identity: Identity; acts: string[] } {
  const acts: string[] = [];
  const ids = { uid: 0, gid: 0 };
  const identity = {
    setgroups: (groups: readonly unknown[]) => void acts.push(`groups ${groups.join()}`),
    setgid: (gid: number) => {
      acts.push("gid");
      ids.gid = gid;
    },
    setuid: (uid: number) => {
      if (ids.uid !== 0 && uid === 0 && !sticky) throw Object.assign(new Error("EPERM"), { code: "EPERM" });
      acts.push("uid");
      ids.uid = uid;
    },
    getuid: () => ids.uid,
    getgid: () => ids.gid,
    umask: (mask: number) => void acts.push(`umask ${mask.toString(8)}`),
  };
  return { identity: identity as unknown as Identity, acts };
}

test("dropPrivileges, as root, gives up groups, group and user in this order, and root's folders", () => {
  const { identity, acts } = anIdentity();
  const env = { HOME: "/home/owner", XDG_CACHE_HOME: "/home/owner/.cache", PATH: "/usr/bin" };
  dropPrivileges(USER, { identity, env, home: "/data/runtime" });
  expect(acts).toEqual(["groups 991", "gid", "uid", "umask 66"]);
  expect(env).toEqual({ HOME: "/data/runtime", USER: "treadle", LOGNAME: "treadle", PATH: "/usr/bin" });
});

test("dropPrivileges, when there is a way back to root, refuses", () => {
  const { identity } = anIdentity({ sticky: true });
  expect(() => dropPrivileges(USER, { identity, env: {}, home: "/" })).toThrow("could not give up root");
});

test("dropPrivileges, in a real process of root, leaves nothing of root", () => {
  if (!IS_ROOT) return expect(process.getuid?.()).not.toBe(0);
  const program = `
    const { dropPrivileges } = await import(${JSON.stringify(new URL("../../src/setup/user.ts", import.meta.url).href)});
    dropPrivileges({ name: "nobody", uid: ${RUN_AS?.uid}, gid: ${RUN_AS?.gid} }, { identity: process, env: process.env, home: "/" });
    const { readFileSync } = await import("node:fs");
    let shadow = "closed";
    try { readFileSync("/etc/shadow"); shadow = "open"; } catch {}
    console.log(JSON.stringify({ uid: process.getuid(), groups: process.getgroups(), shadow, caps: /CapEff:\\s*(\\w+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] }));
  `;
  const loader = new URL("./servers/typescript-loader.mjs", import.meta.url).href;
  const answer = execFileSync(process.execPath, ["--import", loader, "--input-type=module", "-e", program], {
    encoding: "utf8",
  });
  expect(JSON.parse(answer)).toEqual({
    uid: RUN_AS?.uid,
    groups: [RUN_AS?.gid],
    shadow: "closed",
    caps: "0000000000000000",
  });
});
