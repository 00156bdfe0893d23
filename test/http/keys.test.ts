import { execFile } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createApiKey, hashApiKey, isApiKey } from "../../src/keys/api-key.ts";
import { loadOrCreateKey } from "../../src/keys/key-file.ts";
import { hashPassword, verifyPassword } from "../../src/keys/password.ts";
import { createSecretBox } from "../../src/keys/secret-box.ts";
import { createAccessToken, createSessionToken, hashToken } from "../../src/keys/tokens.ts";
import { writePlainModules } from "../support/plain-modules.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "treadle-keys-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

test("API keys, a thousand of them, all differ, have one length and a checksum that holds", () => {
  const keys = Array.from({ length: 1_000 }, createApiKey);
  expect(new Set(keys).size).toBe(1_000);
  for (const key of keys) {
    expect(key).toMatch(/^trd_[0-9A-Za-z]{49}$/);
    expect(isApiKey(key)).toBe(true);
  }
});

test("API keys, with any one character changed, are known to be none", () => {
  const key = createApiKey();
  for (let at = 4; at < key.length; at += 1) {
    const other = key[at] === "a" ? "b" : "a";
    expect(isApiKey(key.slice(0, at) + other + key.slice(at + 1))).toBe(false);
  }
  for (const text of ["", "trd_", key.slice(0, -1), `${key}x`, ` ${key}`, key.replace("trd_", "tra_")])
    expect(isApiKey(text)).toBe(false);
});

test("API keys, hashed, are 32 bytes that say nothing of the key", () => {
  const key = createApiKey();
  expect(hashApiKey(key)).toHaveLength(32);
  expect(hashApiKey(key)).toEqual(hashApiKey(key));
  expect(hashApiKey(key).equals(hashApiKey(createApiKey()))).toBe(false);
});

const box = createSecretBox(Buffer.alloc(32, 1));

test("secret box, opens what it sealed, and seals nothing twice alike", () => {
  for (const plain of ["", "trd_x", "größe 😀", "x".repeat(100_000)])
    expect(box.open(box.seal(plain, "wf_1"), "wf_1").toString()).toBe(plain);
  expect(box.open(box.seal(Buffer.from([0, 255]), "wf_1"), "wf_1")).toEqual(Buffer.from([0, 255]));
  expect(box.seal("a", "wf_1").equals(box.seal("a", "wf_1"))).toBe(false);
});

test("secret box, given a box of another context or key, a changed or a shortened one, opens nothing", () => {
  const sealed = box.seal("secret", "wf_1");
  expect(() => box.open(sealed, "wf_2")).toThrow("another master key, or changed");
  expect(() => createSecretBox(Buffer.alloc(32, 2)).open(sealed, "wf_1")).toThrow("another master key, or changed");
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] as number) ^ 1;
    expect(() => box.open(changed, "wf_1")).toThrow(/another master key|not a sealed secret/);
  }
  for (let length = 0; length < sealed.length; length += 1)
    expect(() => box.open(sealed.subarray(0, length), "wf_1")).toThrow(/another master key|not a sealed secret/);
});

test("secret box, with a key of another length, is refused", () => {
  expect(() => createSecretBox(Buffer.alloc(16))).toThrow("16 bytes instead of 32");
});

test("key file, made by ten at once, is one key, for its owner alone, and found again", async () => {
  for (let round = 0; round < 20; round += 1) {
    const path = join(folder, `master-${round}.key`);
    const keys = await Promise.all(Array.from({ length: 10 }, () => loadOrCreateKey(path)));
    expect(new Set(keys.map((key) => key.toString("hex"))).size).toBe(1);
    expect(keys[0]).toHaveLength(32);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await loadOrCreateKey(path)).toEqual(await readFile(path));
  }
  expect(await readdir(folder)).toHaveLength(20);
});

test("key file, of another length or open to others, is refused and left alone", async () => {
  const path = join(folder, "master.key");
  await writeFile(path, "short", { mode: 0o600 });
  await expect(loadOrCreateKey(path)).rejects.toThrow("has 5 bytes instead of 32");
  await writeFile(path, Buffer.alloc(32));
  await chmod(path, 0o644);
  await expect(loadOrCreateKey(path)).rejects.toThrow(`chmod 600 ${path}`);
  expect(await readFile(path)).toEqual(Buffer.alloc(32));
});

test("key file, of root's and open to its group, is taken by a user of that group and refused by root", async () => {
  const path = join(folder, "mounted.key");
  await writeFile(path, Buffer.alloc(32));
  await chmod(path, 0o440);
  await chmod(folder, 0o755);
  await expect(loadOrCreateKey(path)).rejects.toThrow(`chmod 600 ${path}`);
  // The checkout may be in a folder that is closed to that user.
  writePlainModules(join(folder, "plain"), ["src/keys/key-file.ts"]);
  const module = join(folder, "plain/src/keys/key-file.js");
  const program = `import(process.argv[1]).then(({ readKey }) => readKey(process.argv[2])).then((key) => console.log(key.length))`;
  const user = { uid: 65_534, gid: 0 };
  const read = () => promisify(execFile)(process.execPath, ["-e", program, module, path], user);
  expect((await read()).stdout).toBe("32\n");
  await chmod(path, 0o444);
  await expect(read()).rejects.toThrow(`chmod 600 ${path}`);
});

test("passwords, right and wrong ones, are told apart whatever way their letters were typed", async () => {
  const stored = await hashPassword("caf\u00e9");
  expect(stored).toMatch(/^scrypt\$131072\$8\$1\$[0-9a-f]{32}\$[0-9a-f]{64}$/);
  expect(await verifyPassword("cafe\u0301", stored)).toEqual({ valid: true, outdated: false });
  expect(await verifyPassword("cafe", stored)).toEqual({ valid: false, outdated: false });
});

test("passwords, of an unknown user or a broken hash, take as long and are wrong", async () => {
  const stored = await hashPassword("x");
  const timeOf = async (hash: string | undefined): Promise<number> => {
    // Of processors, whatever else the machine does.
    const since = process.cpuUsage();
    expect((await verifyPassword("x", hash)).valid).toBe(hash === stored);
    return process.cpuUsage(since).user;
  };
  const known = await timeOf(stored);
  for (const hash of [undefined, "", "scrypt$1$1$1$00$00"]) expect(await timeOf(hash)).toBeGreaterThan(known / 5);
});

test("tokens, of sessions and for access, are random and known by their hash", () => {
  expect(createSessionToken()).toMatch(/^[\w-]{43}$/);
  expect(createAccessToken()).toMatch(/^trp_[\w-]{43}$/);
  expect(createAccessToken()).not.toBe(createAccessToken());
  expect(hashToken("a")).toHaveLength(32);
});
