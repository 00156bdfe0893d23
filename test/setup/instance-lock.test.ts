import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "@jest/globals";
import { claimInstance } from "../../src/setup/instance-lock.ts";
import { aFolder, afterwards, NODE_ARGUMENTS } from "./servers/surroundings.ts";

/** Another process that has claimed this data folder, and holds it until it is killed. */
async function anotherService(dataDir: string) {
  const program = `
    const { claimInstance } = await import(${JSON.stringify(new URL("../../src/setup/instance-lock.ts", import.meta.url).href)});
    await claimInstance(${JSON.stringify(dataDir)});
    console.log("claimed");
    setInterval(() => {}, 1000);
  `;
  const child = spawn(process.execPath, [...NODE_ARGUMENTS, "--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  afterwards(() => child.kill("SIGKILL"));
  await once(createInterface({ input: child.stdout }), "line");
  return child;
}

test("claimInstance, while another process has the data folder, names its pid and address; after its SIGKILL succeeds", async () => {
  const dataDir = aFolder();
  const other = await anotherService(dataDir);
  await expect(claimInstance(dataDir)).rejects.toThrow(
    `Another Treadle (process ${other.pid}) is running on the data folder ${dataDir}`,
  );
  writeFileSync(join(dataDir, "ready.json"), JSON.stringify({ pid: other.pid, url: "https://localhost:8443" }));
  await expect(claimInstance(dataDir)).rejects.toThrow(`(process ${other.pid}, https://localhost:8443)`);

  other.kill("SIGKILL");
  await once(other, "exit");
  const release = await claimInstance(dataDir);
  await expect(claimInstance(dataDir)).rejects.toThrow(`process ${process.pid})`);
  await release();
  await (await claimInstance(dataDir))();
});

test("claimInstance, on another data folder, is not in the way", async () => {
  const releases = await Promise.all([claimInstance(aFolder()), claimInstance(aFolder())]);
  expect(releases).toHaveLength(2);
  for (const release of releases) await release();
});
