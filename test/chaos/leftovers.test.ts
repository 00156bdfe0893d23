import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { findLeftovers, lookBefore } from "../../chaos/leftovers.ts";
import { findProcess, type Process } from "../../chaos/processes.ts";

let folder: string;
let dataDir: string;
let before: ReturnType<typeof lookBefore>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "treadle-leftovers-"));
  dataDir = join(folder, "disk/data");
  await mkdir(join(dataDir, "spool"), { recursive: true });
  await mkdir(join(folder, "tmp"));
  before = lookBefore();
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const look = (seen: Process[] = []) =>
  findLeftovers({ before, dataDirs: [dataDir], folder, seen, temporaryDir: join(folder, "tmp") }).map(
    ({ subject }) => subject,
  );

test("findLeftovers, where nothing is left, finds nothing", () => {
  expect(look()).toEqual([]);
});

test("findLeftovers, with a folder in the spool, a temporary file and ready.json, finds each", async () => {
  await mkdir(join(dataDir, "spool/ex_1"));
  await writeFile(join(folder, "tmp/treadle-x"), "");
  await writeFile(join(dataDir, "ready.json"), "");
  expect(look()).toEqual(["spool/ex_1", "treadle-x", "ready.json"]);
});

test("findLeftovers, with a living process of the service and a stranger that names its data, finds both", async () => {
  const seen = spawn("sleep", ["600"]);
  // A shell that waits by itself: a child of its own would bear its name until it has become another program.
  const stranger = spawn("sh", ["-c", "read never", join(dataDir, "x")], { detached: true });
  try {
    const found = look([findProcess(seen.pid as number) as Process]);
    expect(found).toEqual([`process ${seen.pid}`, `process ${stranger.pid}`]);
  } finally {
    const ended = [once(seen, "exit"), once(stranger, "exit")];
    seen.kill("SIGKILL");
    process.kill(-(stranger.pid as number), "SIGKILL");
    await Promise.all(ended);
  }
});
