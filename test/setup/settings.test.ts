import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { loadSettings, storageOf } from "../../src/config.ts";
import { grantRulesOf } from "../../src/start/host-network.ts";
import { aFolder } from "./servers/surroundings.ts";

function aFile(text: string): string {
  const path = join(aFolder(), "secret");
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

test.each([
  ["a line break at its end", "s3cret\n", "s3cret"],
  ["one of Windows", "s3cret\r\n", "s3cret"],
  ["two of them", "s3cret\n\n", "s3cret\n"],
  ["spaces", " s3cret ", " s3cret "],
])("loadSettings, of a secret in a file with %s, takes away the last line break alone", (_what, text, secret) => {
  expect(loadSettings({ DATABASE_URL_FILE: aFile(text) }).DATABASE_URL).toBe(secret);
});

test("loadSettings, of every secret in a file, has them all, as if they were variables", () => {
  const secrets = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "key", AWS_SESSION_TOKEN: "lent" };
  const url = "s3://bucket";
  const files = Object.fromEntries(Object.entries(secrets).map(([name, text]) => [`${name}_FILE`, aFile(`${text}\n`)]));
  const fromFiles = loadSettings({ TREADLE_STORAGE_URL: url, ...files });
  expect(fromFiles).toMatchObject(secrets);
  const expected = { url, credentials: { accessKeyId: "id", secretAccessKey: "key", sessionToken: "lent" } };
  expect(storageOf(fromFiles)).toEqual(expected);
  expect(storageOf(loadSettings({ TREADLE_STORAGE_URL: url, ...secrets }))).toEqual(expected);
  expect(storageOf(loadSettings({ TREADLE_STORAGE_URL: url })).credentials).toBeUndefined();
});

test("loadSettings, of secrets that cannot be had from files, names all of them, what is wrong, and no value", () => {
  const load = () =>
    loadSettings({
      DATABASE_URL: "postgresql://hush-hush",
      DATABASE_URL_FILE: aFile("hush-hush"),
      AWS_ACCESS_KEY_ID_FILE: "/nowhere/hush-hush",
      AWS_SECRET_ACCESS_KEY_FILE: aFile("\n"),
      AWS_SESSION_TOKEN_FILE: aFolder(),
      TREADLE_PORT: "hush-hush",
    });
  expect(load).toThrow(
    [
      "Some settings cannot be used:",
      "  AWS_ACCESS_KEY_ID_FILE: the file cannot be read (ENOENT). Name one that this user may read",
      "  AWS_SECRET_ACCESS_KEY_FILE: the file is empty. Write the secret into it",
      "  AWS_SESSION_TOKEN_FILE: the file cannot be read (EISDIR). Name one that this user may read",
      "  DATABASE_URL_FILE: is set, and so is DATABASE_URL. Set one of the two",
      "  TREADLE_PORT: ",
    ].join("\n"),
  );
  expect(load).not.toThrow("hush");
});

test("loadSettings, of half of the credentials for storage in a bucket, refuses them", () => {
  const half = { TREADLE_STORAGE_URL: "s3://bucket", AWS_ACCESS_KEY_ID: "id" };
  expect(() => loadSettings(half)).toThrow("AWS_SECRET_ACCESS_KEY");
  expect(loadSettings({ AWS_ACCESS_KEY_ID: "id" }).AWS_ACCESS_KEY_ID).toBe("id");
});

test("grantRulesOf, of storage in a bucket, refuses its endpoint, and takes the bucket for no host", async () => {
  const settings = loadSettings({ TREADLE_STORAGE_URL: "s3://no-host-at-all?endpoint=http://10.98.7.6:9000" });
  const { findProblem } = grantRulesOf(settings);
  expect(await findProblem({ host: "10.98.7.6", ports: [] })).toContain("the service's own servers");
  expect(await findProblem({ host: "10.98.7.5", ports: [] })).toBeUndefined();
});
