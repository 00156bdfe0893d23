import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "@jest/globals";
import {
  addPackages,
  aFolder,
  anIndex,
  findUv,
  onlyFrom,
  someEnvironments,
  type TestEnvironments,
  theRequirements,
} from "./machine.ts";

/** Code of a package that leaves a trace where everybody may write; the trace must never appear. */
function aTrap(): { setup: string; isSprung: () => boolean } {
  const marker = join(aFolder(), "open", "sprung");
  const setup = `import os\nos.makedirs(${JSON.stringify(join(marker, ".."))}, exist_ok=True)\nopen(${JSON.stringify(marker)}, "w").write("x")\n`;
  return {
    setup: `${setup}from setuptools import setup\nsetup(name="trap", version="1.0")\n`,
    isSprung: () => existsSync(marker),
  };
}

describe.each(["uv", "pip"])("%s", (tool) => {
  const uv = tool === "uv" ? findUv() : undefined;
  let index: string;
  let environments: TestEnvironments;
  beforeAll(() => {
    index = anIndex(
      { name: "alpha", requires: ["beta>=1", 'gamma; python_version < "3"'] },
      { name: "beta", version: "1.0" },
      { name: "beta", version: "2.0" },
      { name: "picky", requires: ["beta<2"] },
    );
    addPackages(index, "sdist", [{ name: "sourceonly", files: { "setup.py": "raise SystemExit('built')\n" } }]);
    environments = someEnvironments({ uv, env: onlyFrom(index) });
  });

  test("lock, requirements with dependencies, pins all of them with hashes and gives a stable key", async () => {
    const [first, second] = [
      await environments.lock(theRequirements("alpha")),
      await environments.lock(theRequirements("# again", "alpha")),
    ];
    expect(first).toMatchObject({
      ok: true,
      lock: expect.stringMatching(
        /^alpha==1\.0 \\\n {4}--hash=sha256:\w{64}\nbeta==2\.0 \\\n {4}--hash=sha256:\w{64}\n$/,
      ),
    });
    expect(second).toMatchObject({ ok: true, lock: first.ok && first.lock, key: first.ok && first.key });
  });

  test.each([
    ["a package that does not exist", ["beta", "", "no-such-package>=3  # why"], 3, /no-such-package/],
    ["a version that does not exist", ["beta==7"], 1, /beta==7/],
    ["two that contradict each other", ["# first", "beta==2.0", "picky==1.0"], expect.any(Number), /beta/],
    ["a marker that makes no sense", ["alpha", 'beta; "a" "b"'], 2, /beta; "a" "b"|Invalid marker/],
  ])("lock, %s, is a problem at its line in the resolver's words", async (_what, lines, line, message) => {
    const result = await environments.lock(theRequirements(...lines));
    expect(result).toMatchObject({
      ok: false,
      problems: [{ file: "requirements.txt", line, message: expect.stringMatching(message) }],
    });
    expect(result.log).toContain(tool);
    expect(JSON.stringify(result)).not.toContain(environments.dir);
  });

  test("lock, a package that only has its source, is refused with the reason", async () => {
    const result = await environments.lock(theRequirements("beta", "sourceonly"));
    expect(result).toMatchObject({
      ok: false,
      problems: [{ line: 2, message: expect.stringMatching(/sourceonly.*Only wheels are installed/) }],
    });
  });

  test("lock, source that would do harm when built, never runs it", async () => {
    const trap = aTrap();
    const byName = anIndex();
    addPackages(byName, "sdist", [{ name: "trap", files: { "setup.py": trap.setup } }]);
    const byUrl = anIndex({ name: "victim", requires: [`trap @ file://${byName}/trap-1.0.tar.gz`] });
    for (const [folder, name] of [
      [byName, "trap"],
      [byUrl, "victim"],
    ] as const) {
      const result = await someEnvironments({ uv, env: onlyFrom(folder) }).lock(theRequirements(name));
      expect(result).toMatchObject({
        ok: false,
        problems: [{ message: expect.stringMatching(/Only wheels are installed|by URL|URL dependenc/i) }],
      });
    }
    expect(trap.isSprung()).toBe(false);
  });

  test("lock, an index that cannot be reached, says so and shows no password", async () => {
    const env = {
      PATH: process.env.PATH,
      PIP_INDEX_URL: "http://user:secret@127.0.0.1:9/simple",
      PIP_RETRIES: "1",
      UV_HTTP_RETRIES: "0",
    };
    const result = await someEnvironments({ uv, env }).lock(theRequirements("alpha"));
    expect(result).toMatchObject({
      ok: false,
      problems: [{ message: expect.stringMatching(/index could not be reached/) }],
    });
    expect(JSON.stringify(result)).not.toContain("secret");
  });
});
