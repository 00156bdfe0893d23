import { expect, test } from "@jest/globals";
import { keyOf, parseLock, writeLock } from "../../environments/lock.ts";

const A = "a".repeat(64);
const B = "b".repeat(64);
const PYTHON = { path: "/usr/bin/python3", version: "3.11.2", prefix: "/usr", bindPaths: [], platform: "linux-x86_64" };
const lock = `Six==1.0 \\\n    --hash=sha256:${B} \\\n    --hash=sha256:${A}\n# comment\nidna==3.7 --hash=sha256:${A}\n`;

test("writeLock, the same pins in another order, gives the same text", () => {
  const pins = parseLock(lock);
  expect(pins).toEqual([
    { name: "six", version: "1.0", hashes: [B, A] },
    { name: "idna", version: "3.7", hashes: [A] },
  ]);
  expect(writeLock([...pins].reverse())).toBe(writeLock(pins));
  expect(parseLock(writeLock(pins)).map(({ name }) => name)).toEqual(["idna", "six"]);
});

test.each([
  "six==1.0",
  "six>=1.0 --hash=sha256:" + A,
  "six @ https://x/y.whl --hash=sha256:" + A,
  "--index-url https://x",
  "six==1.0 --hash=md5:abc",
  `six==1.0 --hash=sha256:${A} --no-binary=six`,
])("parseLock, the line %j, throws", (line) => {
  expect(() => parseLock(line)).toThrow(/no pinned package/);
});

test("keyOf, what decides the content, changes the key and nothing else does", () => {
  const key = keyOf(PYTHON, lock);
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect(keyOf({ ...PYTHON, version: "3.11.9", path: "/elsewhere" }, `\n${lock}`)).toBe(key);
  const others = [
    keyOf({ ...PYTHON, version: "3.12.2" }, lock),
    keyOf({ ...PYTHON, platform: "linux-aarch64" }, lock),
    keyOf(PYTHON, lock.replace(A, "c".repeat(64))),
    keyOf(PYTHON, lock.replace("1.0", "1.1")),
  ];
  expect(new Set([key, ...others]).size).toBe(5);
});
