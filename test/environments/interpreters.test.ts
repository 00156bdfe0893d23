import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { createInterpreters } from "../../environments/interpreters.ts";
import type { Python } from "../../environments/lock.ts";
import { A_PYTHON } from "../support/python.ts";
import { aFolder } from "./machine.ts";

function aProgram(folder: string, name: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, "", { mode: 0o755 });
  return path;
}

/** Interpreters whose version is in their name, or after `@` in the name of their folder. */
function someInterpreters(env: Record<string, string>, broken: readonly string[] = []) {
  const examined: string[] = [];
  const interpreters = createInterpreters({
    standard: A_PYTHON,
    env,
    usualFolders: [],
    examine: async (path): Promise<Python | string> => {
      examined.push(path);
      if (broken.includes(path)) return "the user cannot execute it";
      const version = /cpython-([\d.]+)-/.exec(path)?.[1] ?? `${/3\.\d+$/.exec(path)?.[0]}.1`;
      return { ...A_PYTHON, path, version };
    },
  });
  return { interpreters, examined };
}

test("find, no version or the standard one's, is the standard one and looks at nothing", async () => {
  const folder = aFolder();
  aProgram(folder, "python3.11");
  const { interpreters, examined } = someInterpreters({ PATH: folder });
  expect([await interpreters.find(null), await interpreters.find("3.11")]).toEqual([A_PYTHON, A_PYTHON]);
  expect(examined).toEqual([]);
});

test("find, a version on the PATH or one that uv has installed, is the first that works", async () => {
  const [first, second, home] = [aFolder(), aFolder(), aFolder()];
  const closed = aProgram(first, "python3.12");
  const good = aProgram(second, "python3.12");
  const managed = ["cpython-3.14.2-linux-x86_64-gnu", "cpython-3.14.10-linux-x86_64-gnu", "pypy-3.15.1-linux"];
  for (const name of managed) aProgram(join(home, ".local/share/uv/python", name, "bin"), "python3.14");
  const { interpreters } = someInterpreters({ PATH: `${first}:${second}:relative`, HOME: home }, [closed]);
  expect(await interpreters.find("3.12")).toMatchObject({ path: good });
  expect(await interpreters.find("3.14")).toMatchObject({ version: "3.14.10" });
  expect(await interpreters.find("3.15")).toBeUndefined();
  expect((await interpreters.list()).map(({ version }) => version)).toEqual(["3.11.2", "3.12.1", "3.14.10"]);
});

test("find, one that came or went since, is found or is not there any more", async () => {
  const folder = aFolder();
  const { interpreters, examined } = someInterpreters({ PATH: folder, UV_PYTHON_INSTALL_DIR: join(folder, "none") });
  expect(await interpreters.find("3.13")).toBeUndefined();
  const path = aProgram(folder, "python3.13");
  expect(await interpreters.find("3.13")).toMatchObject({ path });
  const looks = examined.length;
  await interpreters.find("3.13");
  expect(examined.length).toBe(looks);
  rmSync(path);
  expect(await interpreters.find("3.13")).toBeUndefined();
});
