import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { showControls } from "../../system/shown-text.ts";
import { anEndedExecution } from "../http/service.ts";
import { aWorkflow } from "../support/builders.ts";
import { aCliService, type CliService } from "./cli-service.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/treadle", import.meta.url));
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
