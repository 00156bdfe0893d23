import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { keyOf } from "../../environments/lock.ts";
import { findUv, onlyFrom, PYTHON, runWith, theRequirements } from "./machine.ts";
import { lockSource, SOURCE, someBuilders } from "./source-builds.ts";
import { anIndexOfSources, aSource } from "./source-index.ts";

describe("build: source", () => {
  test("lock and ensure, packages that only have their source, build them and what they require", async () => {
    const index = anIndexOfSources(
      [aSource("alpha", { requires: ["beta>=1", "gamma"] }), aSource("beta")],
      [{ name: "gamma", files: { "gamma.py": "" } }],
    );
    const environments = someBuilders({ env: onlyFrom(index) });
    const { key, lock, log } = await lockSource(environments, "alpha");
    expect(lock).toMatch(
      /^alpha==1\.0 \\\n {4}--hash=sha256:\w{64}\nbeta==1\.0 \\\n {4}--hash=sha256:\w{64}\ngamma==1\.0 \\\n/,
    );
    expect(key).toBe(keyOf(PYTHON, lock, "source"));
    expect(key).not.toBe(keyOf(PYTHON, lock));
    expect(log).toContain("Building alpha==1.0 in a sandbox without network…");
    const path = await environments.ensure(key, lock, SOURCE);
    expect(runWith(path, ["python3", "-c", "import alpha, beta, gamma; print(alpha.NAME, beta.NAME)"])).toBe(
      "alpha beta\n",
    );
    expect(await environments.readLog(key)).toMatch(
      /(?=[^]*Building alpha==1\.0)(?=[^]*Building beta==1\.0)[^]*The environment is ready/,
    );
    expect(readdirSync(join(environments.dir, ".building"))).toEqual([]);
  });

  test("lock, a package that has a wheel too, takes the wheel and builds nothing", async () => {
    const index = anIndexOfSources([aSource("alpha", { code: "raise SystemExit('built')" })], [{ name: "alpha" }]);
    const { log } = await lockSource(someBuilders({ env: onlyFrom(index) }), "alpha");
    expect(log).not.toContain("Building");
  });

  test("lock and ensure, a backend in the source itself that asks for more, gets it", async () => {
    const index = anIndexOfSources([aSource("alpha", { files: { asks: "" } })]);
    const environments = someBuilders({ env: onlyFrom(index) });
    const { key, lock } = await lockSource(environments, "alpha");
    await environments.ensure(key, lock, SOURCE);
  });

  test("lock, the build of a required package fails, is a problem at the requirement with the build's own words", async () => {
    const index = anIndexOfSources([aSource("alpha", { code: "raise RuntimeError('the compiler is missing')" })]);
    const result = await someBuilders({ env: onlyFrom(index) }).lock(
      theRequirements("setuptools", "", "alpha"),
      SOURCE,
    );
    expect(result).toMatchObject({
      ok: false,
      problems: [
        {
          line: 3,
          message: expect.stringMatching(/alpha==1\.0 could not be built from its source.*the compiler is missing/),
        },
      ],
      log: expect.stringContaining("the compiler is missing"),
    });
  });

  test.each([
    [
      "requires = ['evil @ http://127.0.0.1:9/evil.whl']\nbuild-backend = 'x'",
      /build-system.requires cannot be used: Packages by URL/,
    ],
    [
      "requires = ['evil @ file:///etc/passwd']\nbuild-backend = 'x'",
      /build-system.requires cannot be used: Packages by URL/,
    ],
    ["requires = ['-r /etc/passwd']\nbuild-backend = 'x'", /cannot be used: Other requirement files/],
    ["requires = ['unknown']\nbuild-backend = 'x'", /unknown.*What a build requires has to be there as wheels/],
    ["requires = ['sourceonly']\nbuild-backend = 'x'", /sourceonly.*What a build requires has to be there as wheels/],
    ["requires = []\nbuild-backend = 'x;import os'", /build-backend is not understood/],
  ])("lock, a source whose build has %j, is refused with the reason", async (system, message) => {
    const index = anIndexOfSources([
      { name: "alpha", files: { "pyproject.toml": `[build-system]\n${system}\n` } },
      aSource("sourceonly"),
    ]);
    const result = await someBuilders({ env: onlyFrom(index) }).lock(theRequirements("alpha"), SOURCE);
    expect(result).toMatchObject({ ok: false, problems: [{ line: 1, message: expect.stringMatching(message) }] });
  });

  test("lock, a source that says it needs a package by URL or path, is refused", async () => {
    for (const wanted of ["evil @ http://127.0.0.1:9/x.whl", "evil @ file:///etc/passwd"]) {
      const index = anIndexOfSources([aSource("alpha", { requires: [wanted] })]);
      const result = await someBuilders({ env: onlyFrom(index) }).lock(theRequirements("alpha"), SOURCE);
      expect(result).toMatchObject({
        ok: false,
        problems: [{ message: expect.stringMatching(/alpha==1\.0 asks for .*by URL/) }],
      });
    }
  });

  test("ensure, a source that is not the one that was locked, is refused and not run", async () => {
    const index = anIndexOfSources([aSource("alpha")]);
    const { lock } = await lockSource(someBuilders({ env: onlyFrom(index) }), "alpha");
    const forged = lock.replace(/sha256:\w{64}/, `sha256:${"0".repeat(64)}`);
    const environments = someBuilders({ env: onlyFrom(index) });
    await expect(environments.ensure(keyOf(PYTHON, forged, "source"), forged, SOURCE)).rejects.toMatchObject({
      message: expect.stringMatching(/not the one that was locked/),
      log: expect.not.stringContaining("Building alpha"),
    });
  });

  test("lock, by pip or without sandboxes, says that it is not possible and why", async () => {
    const index = anIndexOfSources([aSource("alpha")]);
    const byPip = someBuilders({ env: onlyFrom(index), uv: undefined });
    await expect(byPip.lock(theRequirements("alpha"), SOURCE)).rejects.toThrow(/build: source needs uv.*install uv/);
    const open = someBuilders({ env: onlyFrom(index), isolation: "none" });
    await expect(open.lock(theRequirements("alpha"), SOURCE)).rejects.toThrow(/not possible.*sandboxes.*switched off/);
  });

  test("lock, without build: source, refuses the same package and says how to allow it", async () => {
    const index = anIndexOfSources([aSource("alpha")]);
    for (const uv of [findUv(), undefined]) {
      const result = await someBuilders({ env: onlyFrom(index), uv }).lock(theRequirements("alpha"));
      expect(result).toMatchObject({
        ok: false,
        problems: [
          { line: 1, message: expect.stringMatching(/Only wheels are installed.*say build: source in config.yaml/) },
        ],
      });
    }
  });
});
