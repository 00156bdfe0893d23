import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { SETTINGS } from "../../src/config.ts";
import { environmentOf, parseDockerfile, VARIABLES_OF_LIBRARIES } from "./dockerfile.ts";

const CHECKOUT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const read = (path: string): string => readFileSync(join(CHECKOUT, path), "utf8");
const stages = parseDockerfile(read("Dockerfile"));
const [last] = stages.slice(-1);
if (last === undefined) throw new Error("The Dockerfile has no stage.");

test("base images, of all stages, are one exact version of Node that package.json accepts", () => {
  const images = new Set(stages.map(({ from }) => from));
  expect([...images]).toEqual([expect.stringMatching(/^node:\d+\.\d+\.\d+-bookworm-slim$/)]);
  const [major, minor] = [...images].join().replace("node:", "").split(".").map(Number);
  expect((major ?? 0) * 1000 + (minor ?? 0)).toBeGreaterThanOrEqual(20_019);
  expect(stages.length).toBeGreaterThan(1);
});

test("the packages of the image, of native code for five systems, keep that of one", () => {
  const command = stages
    .flatMap(({ instructions }) => instructions)
    .find(({ name, text }) => name === "RUN" && text.includes("core-bridge"))?.text;
  const folder = mkdtempSync(join(tmpdir(), "treadle-image-"));
  const releases = join(folder, "node_modules/@temporalio/core-bridge/releases");
  const systems = readdirSync(join(CHECKOUT, "node_modules/@temporalio/core-bridge/releases"));
  for (const system of systems) mkdirSync(join(releases, system), { recursive: true });
  execFileSync("/bin/sh", ["-c", command ?? "false"], { cwd: folder });
  const machine = execFileSync("uname", ["-m"], { encoding: "utf8" }).trim();
  expect(systems.length).toBeGreaterThan(1);
  expect(readdirSync(releases)).toEqual([`${machine}-unknown-linux-gnu`]);
  rmSync(folder, { recursive: true });
});

test("the image, started, runs node itself as a user that is not root", () => {
  const user = last.instructions.filter(({ name }) => name === "USER").at(-1)?.text ?? "";
  expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  const command = last.instructions.find(({ name }) => name === "CMD")?.text ?? "[]";
  expect(JSON.parse(command)).toEqual(["node", "bin/treadle", "start"]);
  expect(last.instructions.some(({ name }) => name === "ENTRYPOINT")).toBe(false);
});

test("the image, for sandboxes, has bubblewrap and Python, and nothing to build or fetch with", () => {
  const installed = last.instructions
    .filter(({ name, text }) => name === "RUN" && text.includes("apt-get install"))
    .map(({ text }) => text)
    .join();
  for (const tool of ["bubblewrap", "python3", "python3-venv", "ca-certificates"])
    expect(installed.split(/\s+/)).toContain(tool);
  expect(installed).not.toMatch(/\b(sudo|curl|wget|gcc|build-essential|git)\b/);
  expect(installed).toContain("--no-install-recommends");
});

test("what is copied, from the checkout, exists and is let through by .dockerignore, and nothing of it is data or secrets", () => {
  const letThrough = read(".dockerignore").split("\n");
  expect(letThrough).toContain("*");
  const copied = stages.flatMap(({ instructions }) =>
    instructions
      .filter(({ name, text }) => name === "COPY" && !text.startsWith("--from="))
      .flatMap(({ text }) => text.split(/\s+/).slice(0, -1)),
  );
  expect(copied).toEqual(expect.arrayContaining(["bin", "examples", "src", "package-lock.json"]));
  for (const path of copied)
    expect([path, existsSync(join(CHECKOUT, path)), letThrough.includes(`!${path}`)]).toEqual([path, true, true]);
  expect(letThrough.filter((line) => /^!.*(\.env|\.treadle|node_modules|\.git$|\*)/.test(line))).toEqual([]);
});

test("stages that are copied from, of the Dockerfile, exist", () => {
  const names = stages.map(({ as }) => as);
  const wanted = stages.flatMap(({ instructions }) =>
    instructions.flatMap(({ text }) => /^--from=(\S+)/.exec(text)?.[1] ?? []),
  );
  expect(wanted.length).toBeGreaterThan(0);
  for (const name of wanted) expect(names).toContain(name);
});

test("variables, of the image, are settings of src/config.ts", () => {
  const known = [...Object.keys(SETTINGS.shape), ...VARIABLES_OF_LIBRARIES];
  expect(Object.keys(environmentOf(last)).filter((name) => !known.includes(name))).toEqual([]);
});
