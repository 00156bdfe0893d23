import { execFile, execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { createStatusLine } from "../../src/cli/status-line.ts";
import { findVersion } from "../../src/version.ts";
import { showControls } from "../../system/shown-text.ts";
import { anEndedExecution } from "../http/service.ts";
import { aMember, anAccount, aWorkflow } from "../support/builders.ts";
import { until } from "../support/until.ts";
import { aCliService, type CliService, cli } from "./cli-service.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/treadle", import.meta.url));
const CLIENT = fileURLToPath(new URL("../../client", import.meta.url));
const ESC = "\u001b";
const RED = `${ESC}[31mred${ESC}[0m`;

let service: CliService;

beforeAll(async () => {
  service = await aCliService();
});

afterAll(() => service?.close());

/** What a program may print, and what a terminal may get of it. */
const ATTACKS = [
  ["the clipboard (OSC 52)", `${ESC}]52;c;cm0gLXJmIH4=\u0007`, "\\x1b]52;c;cm0gLXJmIH4=\\x07"],
  ["the title of the window", `${ESC}]0;root@host\u0007`, "\\x1b]0;root@host\\x07"],
  ["a hyperlink", `${ESC}]8;;https://evil.example${ESC}\\ok`, "\\x1b]8;;https://evil.example\\x1b\\ok"],
  ["the cursor, and lines above it", `${ESC}[2A${ESC}[2Kok`, "\\x1b[2A\\x1b[2Kok"],
  ["the whole screen", `${ESC}c${ESC}[?1049h`, "\\x1bc\\x1b[?1049h"],
  ["a question that is answered as if typed (DCS, DA)", `${ESC}P$q"p${ESC}\\${ESC}[c`, '\\x1bP$q"p\\x1b\\\\x1b[c'],
  ["the same by C1", "\u009b2J\u009d0;x\u009c\u0090x", "\\u009b2J\\u009d0;x\\u009c\\u0090x"],
  ["the beginning of the line", "failed\rpassed", "failed\\x0dpassed"],
  ["what was written before", "bad\b\b\bok\u007f", "bad\\x08\\x08\\x08ok\\u007f"],
  ["the direction of text", "\u202egpj.exe\u2066", "\\u202egpj.exe\\u2066"],
  ["colours", RED, RED],
  ["a colour without an end of its number", `${ESC}[${"1;".repeat(40)}m`, `\\x1b[${"1;".repeat(40)}m`],
] as const;

test.each(ATTACKS)("showControls, of text that changes %s, leaves it to be read alone", (_what, text, shown) => {
  expect(showControls(text)).toBe(shown);
  expect(showControls(`a\tb${text}\r\n`)).toBe(`a\tb${shown}\r\n`);
});

test("showControls, of JSON, leaves the same document", () => {
  const document = { text: ATTACKS.map(([, text]) => text).join(" ") };
  expect(JSON.parse(showControls(JSON.stringify(document, undefined, 2)))).toEqual(document);
});

/** Runs `bin/treadle` with a terminal for its standard output and error; answers every byte that the terminal got. */
async function onTerminal(...argv: readonly string[]): Promise<string> {
  const command = [process.execPath, PROGRAM, ...argv].map((part) => `'${part}'`).join(" ");
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    env: { ...process.env, TREADLE_DATA_DIR: service.dataDir, TERM: "xterm" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  await new Promise((resolve) => child.once("close", resolve));
  return text;
}

test("the command line, whose reader goes away, ends without a word", async () => {
  const child = spawn(process.execPath, [PROGRAM, "executions", "list"], {
    env: { ...process.env, TREADLE_DATA_DIR: service.dataDir },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.destroy();
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (piece: string) => {
    words += piece;
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  expect([code, words]).toEqual([141, ""]);
}, 120_000);

test("a status line, on a terminal that says that it has no columns, is shown whole", () => {
  let text = "";
  const lines = new Writable({
    write(piece, _encoding, done) {
      text += String(piece);
      done();
    },
  });
  createStatusLine(Object.assign(lines, { isTTY: true, columns: 0 })).show("Building: 10 s so far");
  expect(text).toContain("Building: 10 s so far");
});

/** An execution whose log, file and message are as bad as can be. */
async function aHostileExecution(): Promise<string> {
  const workflow = await aWorkflow(service.db, {});
  const all = ATTACKS.map(([, text]) => text);
  const log = all.map(
    (text, index) => `${JSON.stringify({ id: index + 1, time: "2026-01-01T00:00:00.000Z", stream: "stdout", text })}\n`,
  );
  const executionId = await anEndedExecution(service, workflow, { log, outputs: { "plain.txt": { content: "x" } } });
  await queryRows(service.db, "update executions set message = :message where id = :executionId", {
    message: all.join(" "),
    executionId,
  });
  return executionId;
}

const expectOnlyShown = (text: string): void => {
  expect(text).not.toBe("");
  // script(1) ends lines as terminals do.
  expect(showControls(text)).toBe(text);
};

test("the command line, on a terminal, obeys nothing that a program or a person has written", async () => {
  const executionId = await aHostileExecution();
  const logs = await onTerminal("executions", "logs", executionId);
  expectOnlyShown(logs);
  for (const [, , shown] of ATTACKS) expect(logs).toContain(shown);
  expect(logs.trimEnd().endsWith(`${ESC}[0m`)).toBe(true);
  for (const argv of [
    ["executions", "show", executionId],
    ["executions", "show", executionId, "--json"],
    ["executions", "list"],
    ["workflows", "show", `no-such-${ESC}[2J`],
  ])
    expectOnlyShown(await onTerminal(...argv));
}, 120_000);

test("the command line, on a terminal with --raw or into a pipe, writes what the program has written", async () => {
  const executionId = await aHostileExecution();
  const all = ATTACKS.map(([, text]) => text);
  const raw = await onTerminal("executions", "logs", executionId, "--raw");
  for (const text of all) expect(raw).toContain(text);
  const piped = await service.cli("executions", "logs", executionId);
  for (const text of all) expect(piped.out).toContain(text);
}, 120_000);

/** Stands in for NSS's program: a certificate is a file in its folder. */
const CERTUTIL = `#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in -d) dir=\${2#sql:} ;; -n) name=$(echo "$2" | tr ' ' _) ;; -i) file=$2 ;; -[NLDA]) act=$1 ;; esac
  shift
done
case $act in
  -N) touch "$dir/cert9.db" ;;
  -A) cp "$file" "$dir/$name" ;;
  -L) test -f "$dir/$name" ;;
  -D) rm "$dir/$name" ;;
esac
`;

test("trust, of the service's own certificate, puts it into each browser's store of this home, once, and takes it back", async () => {
  const home = service.folder({ ".mozilla/firefox/abc.default/cert9.db": "", ".mozilla/firefox/profiles.ini": "" });
  const dir = service.folder({ "tls/ca.pem": service.cert, "bin/certutil": CERTUTIL });
  chmodSync(join(dir, "bin/certutil"), 0o755);
  const env = { HOME: home, PATH: `${join(dir, "bin")}:${process.env["PATH"] ?? ""}` };
  const stores = [join(home, ".pki/nssdb"), join(home, ".mozilla/firefox/abc.default")];
  const certificates = () =>
    stores.map((store) => readdirSync(store).filter((name) => name.startsWith("Treadle_")).length);
  const trust = (...args: string[]) => cli(["trust", "--data-dir", dir, "--json", ...args], { env });
  for (let round = 0; round < 2; round += 1) {
    const trusted = await trust();
    expect([trusted.code, trusted.json()]).toEqual([
      0,
      { trusted: true, certificate: join(dir, "tls/ca.pem"), stores },
    ]);
    expect(certificates()).toEqual([1, 1]);
  }
  expect((await trust("--remove")).json()).toMatchObject({ trusted: false, stores });
  expect(certificates()).toEqual([0, 0]);
  expect((await trust("--remove")).json()).toMatchObject({ stores: [] });
  const without = await cli(["trust", "--data-dir", dir], { env: { HOME: home, PATH: "/nowhere" } });
  expect([without.code, without.err]).toEqual([1, expect.stringContaining("libnss3-tools")]);
  const none = await cli(["trust", "--data-dir", home], { env });
  expect([none.code, none.err]).toEqual([1, expect.stringContaining("ca.pem cannot be read (ENOENT)")]);
});

test("open, of a workflow, an execution or nothing, asks the browser for its page", async () => {
  const dir = service.folder({ browser: '#!/bin/sh\necho "$1" > "$0.asked"\n' });
  chmodSync(join(dir, "browser"), 0o755);
  const env = { TREADLE_DATA_DIR: service.dataDir, BROWSER: join(dir, "browser") };
  const { workflowId } = (await service.cli("workflows", "create", "Opened", "--json")).json();
  for (const [args, path] of [
    [[], "/"],
    [["Opened"], `/workflows/${String(workflowId)}`],
    [["ex_0000000000000000"], "/executions/ex_0000000000000000"],
  ] as const) {
    expect((await cli(["open", ...args, "--json"], { env })).json()).toEqual({ url: `${service.url}${path}` });
    await until(
      () => existsSync(join(dir, "browser.asked")) && readFileSync(join(dir, "browser.asked"), "utf8") !== "",
    );
    expect(readFileSync(join(dir, "browser.asked"), "utf8")).toBe(`${service.url}${path}\n`);
    rmSync(join(dir, "browser.asked"));
  }
});

test("completion, in bash, completes commands, those below them, and options", async () => {
  const { out } = await cli(["completion"]);
  const complete = (...words: string[]) =>
    execFileSync(
      "bash",
      ["-c", `${out}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _treadle; echo "\${COMPREPLY[@]}"`, "bash", ...words],
      {
        encoding: "utf8",
      },
    ).trim();
  expect(complete("treadle", "execu")).toBe("executions");
  expect(complete("treadle", "executions", "re")).toBe("record rerun");
  expect(complete("treadle", "executions", "rerun", "ex_1", "--fi")).toBe("--file");
  for (const shell of ["zsh", "fish"]) expect((await cli(["completion", "--shell", shell])).out).toContain("treadle");
});

test("the package of the command line, packed and unpacked by itself, logs in, publishes and runs", async () => {
  const base = service.folder({
    "home/x": "",
    "flow/config.yaml": "name: Alone\n",
    "flow/main.py": "def main():\n    pass\n",
  });
  const manifest = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8")) as {
    version: string;
    dependencies?: object;
  };
  expect([manifest.version, manifest.dependencies]).toEqual([findVersion(), undefined]);
  execFileSync("npm", ["pack", "--silent", "--pack-destination", base], { cwd: CLIENT, stdio: "ignore" });
  const archive = join(base, `treadle-${manifest.version}.tgz`);
  execFileSync("tar", ["-xzf", archive, "-C", base]);
  expect(readdirSync(join(base, "package"), { recursive: true }).map(String).toSorted()).toEqual([
    "LICENSE",
    "README.md",
    "dist",
    "dist/treadle.mjs",
    "package.json",
  ]);
  const program = join(base, "package/dist/treadle.mjs");
  expect(statSync(program).size).toBeLessThan(5_000_000);
  const member = await aMember(service.db, await anAccount(service.db, { name: "alone", credits: "5" }));
  const env = {
    HOME: join(base, "home"),
    PATH: process.env["PATH"],
    BROWSER: join(base, "browser"),
    NODE_EXTRA_CA_CERTS: join(service.dataDir, "ca.pem"),
  };
  writeFileSync(env.BROWSER, `#!/bin/sh\nprintf %s "$1" > '${base}/asked'\n`, { mode: 0o755 });
  const run = async (args: readonly string[], input = "") => {
    const running = promisify(execFile)(process.execPath, [program, ...args, "--json"], { cwd: base, env });
    running.child.stdin?.end(input);
    return JSON.parse((await running).stdout) as Record<string, unknown>;
  };
  const kept = join(base, "home/.config/treadle/login.json");
  const loggedIn = { url: service.url, account: "alone" };
  expect(await run(["login", service.url, "--token"], `${member.token}\n`)).toEqual(loggedIn);
  expect(readFileSync(join(base, "asked"), "utf8")).toBe(`${service.url}/account/tokens`);
  rmSync(join(base, "asked"));
  const login = run(["login", service.url, "--name", "laptop"]);
  await until(() => existsSync(join(base, "asked")));
  expect(await answerDevice(readFileSync(join(base, "asked"), "utf8"), member, true)).toBe(200);
  expect(await login).toEqual(loggedIn);
  const { token } = JSON.parse(readFileSync(kept, "utf8")) as { token: string };
  expect([token === member.token, statSync(kept).mode & 0o777]).toEqual([false, 0o600]);
  expect(JSON.stringify(await run(["tokens", "list"]))).toContain('"name":"laptop"');
  const { workflowId } = await run(["publish", "flow"]);
  expect(await run(["run", "Alone", "--dry-run"])).toMatchObject({ valid: true });
  expect(await run(["workflows", "list"])).toMatchObject({ workflows: [{ workflowId, name: "Alone" }] });
  expect(await run(["logout"])).toEqual({ loggedOut: true });
  await expect(run(["workflows", "list"])).rejects.toMatchObject({
    stdout: expect.stringContaining("Service not running"),
  });
}, 120_000);

/** Answers a command line in a browser in which somebody is signed in, at the address that it opened or printed. */
async function answerDevice(address: string, who: { cookie: string }, allow: boolean): Promise<number> {
  const [, page, userCode] = /^(.*)\/device#([A-Z]{4}-[A-Z]{4})$/.exec(address) ?? [];
  expect(page).toBe(service.url);
  const headers = { cookie: who.cookie, "sec-fetch-site": "same-origin", "content-type": "application/json" };
  const body = JSON.stringify({ userCode, allow });
  return (await service.call("/api/device-codes/answer", { method: "POST", headers, body })).status;
}

test("login, without an address on the service's machine, is to its service, and its token is used before the operator's", async () => {
  const member = await aMember(service.db, await anAccount(service.db, { name: "local", credits: "5" }));
  const home = service.folder({ x: "" });
  const env = { HOME: home, TREADLE_DATA_DIR: service.dataDir, BROWSER: "false" };
  const [refused, allowed] = [openDeviceLogin(env), openDeviceLogin(env)];
  expect(await answerDevice(await refused.address, member, false)).toBe(200);
  const no = await refused.result;
  expect([no.code, no.err]).toEqual([1, expect.stringContaining("The sign-in was refused in the browser.\n")]);
  expect(existsSync(join(home, ".config"))).toBe(false);
  expect(await answerDevice(await allowed.address, member, true)).toBe(200);
  const yes = await allowed.result;
  expect([yes.code, yes.out]).toEqual([0, `Logged in to ${service.url}, account local\n`]);
  const list = async (extra: Record<string, string>, ...argv: string[]) =>
    (await cli(["accounts", "list", "--json", ...argv], { env: { ...env, ...extra } })).json();
  expect(await list({})).toMatchObject({ accounts: [{ name: "local" }] });
  // From anywhere else, with the authority of that service.
  expect(await list({ TREADLE_DATA_DIR: home })).toMatchObject({ accounts: [{ name: "local" }] });
  expect(await list({ TREADLE_URL: service.url })).toMatchObject({ accounts: [{ name: "local" }] });
  const all = (await list({}, "--data-dir", service.dataDir))["accounts"] as object[];
  expect(all.length).toBeGreaterThan(1);
});

/** A `login --no-browser --quiet`, and the address that it prints. */
function openDeviceLogin(env: Record<string, string>) {
  const child = execFile(process.execPath, [PROGRAM, "login", "--no-browser", "--quiet"], {
    env: { PATH: process.env["PATH"], ...env },
  });
  const texts = { out: "", err: "" };
  child.stdout?.on("data", (text: string) => (texts.out += text));
  child.stderr?.on("data", (text: string) => (texts.err += text));
  const find = () => /^Open (\S+)$/m.exec(texts.err)?.[1];
  return {
    address: until(() => find() !== undefined).then(() => find() as string),
    result: new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
      child.once("close", (code) => resolve({ code, ...texts }));
    }),
  };
}
