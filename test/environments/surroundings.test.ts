import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { aFolder, anIndex, findUv, lockOf, onlyFrom, runWith, someEnvironments, theRequirements } from "./machine.ts";

const undoes: (() => unknown)[] = [];
afterAll(async () => {
  for (const undo of undoes) await undo();
});

/** A package index on this machine that wants a user and a password. */
async function aGuardedIndex(folder: string): Promise<string> {
  const files = readdirSync(folder);
  const server = createServer((request, response) => {
    const [, project, name] = /^\/simple\/([\w-]+)\/(.*)$/.exec(request.url ?? "") ?? [];
    if (request.headers.authorization !== `Basic ${Buffer.from("user:s3cret").toString("base64")}`) {
      response.writeHead(401, { "www-authenticate": "Basic" }).end();
    } else if (name !== undefined && files.includes(name)) {
      response.writeHead(200, { "content-type": "application/octet-stream" }).end(readFileSync(join(folder, name)));
    } else {
      const links = files
        .filter((file) => file.startsWith(`${project}-`))
        .map((file) => `<a href="${file}">${file}</a>`);
      response
        .writeHead(links.length > 0 ? 200 : 404, { "content-type": "text/html" })
        .end(`<!DOCTYPE html><html><body>${links.join("")}</body></html>`);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  undoes.push(() => new Promise((resolve) => server.close(resolve)));
  return `http://user:s3cret@127.0.0.1:${(server.address() as AddressInfo).port}/simple`;
}

describe.each(["uv", "pip"])("%s", (tool) => {
  const uv = tool === "uv" ? findUv() : undefined;

  test("lock and ensure, an index with a password, work and show the password nowhere", async () => {
    const index = await aGuardedIndex(
      anIndex({ name: "private", files: { "private.py": "" }, requires: ["helper"] }, { name: "helper" }),
    );
    const environments = someEnvironments({ uv, env: { PATH: process.env.PATH, PIP_INDEX_URL: index } });
    const result = await environments.lock(theRequirements("private"));
    if (!result.ok) throw new Error(JSON.stringify(result));
    const path = await environments.ensure(result.key, result.lock);
    expect(runWith(path, ["python3", "-c", "import private; print('in')"])).toBe("in\n");
    expect(JSON.stringify(result) + (await environments.readLog(result.key))).not.toContain("s3cret");
  });

  test("lock and ensure, a machine without sandboxes, work in process limits only", async () => {
    const index = anIndex({ name: "hello", files: { "hello.py": "" } });
    const environments = someEnvironments({ uv, env: onlyFrom(index), isolation: "none", bwrapPath: "/not/there" });
    const { key, lock } = await lockOf(environments, "hello");
    const path = await environments.ensure(key, lock);
    expect(runWith(path, ["python3", "-c", "import hello; print(hello.__cached__)"])).toMatch(/^\/env\/.*\.pyc\n$/);
  });
});

test("ensure, an installer that does what it should not, writes nowhere else and unpacks without network and secrets", async () => {
  const index = anIndex({ name: "hello" });
  const { key, lock } = await lockOf(someEnvironments({ env: onlyFrom(index) }), "hello");
  const open = aFolder();
  chmodSync(open, 0o777);
  const probe = `touch ${open}/written; echo "$2 as $(id -u)"; grep -c : /proc/net/dev; [ -e /etc/passwd ] && echo sees files; env`;
  const nosy = join(aFolder(), "uv");
  writeFileSync(
    nosy,
    `#!/bin/sh\ncase "$*" in *--offline*) ${probe};; *--target*) touch ${open}/written;; esac\nexec ${findUv().path} "$@"\n`,
    { mode: 0o755 },
  );
  const env = {
    ...onlyFrom(index),
    UV_INDEX_MINE_PASSWORD: "s3cret",
    DATABASE_URL: "postgres://s3cret",
    HTTPS_PROXY: "http://me:s3cret@127.0.0.1:9",
  };
  // The real uv is not seen while unpacking, so this build fails after the probe.
  const error = await someEnvironments({ env, uv: { path: nosy } })
    .ensure(key, lock)
    .then(String, (reason: { log: string }) => reason);
  const said = (error as { log: string }).log.split("Installing, without the network…\n")[1] ?? "";
  expect(readdirSync(open)).toEqual([]);
  expect(said).toMatch(/^touch: .*\ninstall as \d+\n1\n/);
  expect(said).not.toMatch(/as 0\n|sees files|s3cret|PROXY/);
  expect((error as { log: string }).log).not.toContain("s3cret");
});

test("ensure, a disk that fills up, says so and leaves nothing", async () => {
  const index = anIndex({ name: "hello" });
  const { key, lock } = await lockOf(someEnvironments({ env: onlyFrom(index) }), "hello");
  const full = join(aFolder(), "uv");
  const script = `#!/bin/sh\ncase "$*" in *--target*) echo 'error: failed to write: No space left on device (os error 28)' >&2; exit 2;; esac\nexec ${findUv().path} "$@"\n`;
  writeFileSync(full, script, { mode: 0o755 });
  const environments = someEnvironments({ env: onlyFrom(index), uv: { path: full } });
  await expect(environments.ensure(key, lock)).rejects.toMatchObject({
    kind: "disk_full",
    message: expect.stringMatching(/disk.*is full/),
    log: expect.stringContaining("os error 28"),
  });
  expect(readdirSync(environments.dir).sort()).toEqual([".building", `${key}.log`]);
  expect(readdirSync(join(environments.dir, ".building"))).toEqual([]);
});

test("ensure, a uv that cannot be run, uses pip", async () => {
  const index = anIndex({ name: "hello" });
  const environments = someEnvironments({ env: onlyFrom(index), uv: { path: "/not/there" } });
  const { key, lock } = await lockOf(environments, "hello");
  await environments.ensure(key, lock);
  expect(await environments.readLog(key)).toMatch(/pip \d/);
});
