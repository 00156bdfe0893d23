import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { downloadRelease, type Fetch, RELEASE_SHA256 } from "../../../src/setup/servers/temporal-release.ts";
import { aFetch, aRelease, noNetwork, PLATFORM } from "./releases.ts";
import { aFolder } from "./surroundings.ts";

const report = () => {};

test("downloadRelease, when the archive is the pinned one, unpacks an executable program", async () => {
  const { archive, checksums } = await aRelease("#!/bin/sh\necho hello");
  const { fetch, urls } = aFetch(archive);
  const folder = aFolder();
  const program = await downloadRelease({ folder, fetch, report, checksums });
  expect(program).toBe(join(folder, "temporal"));
  expect(readFileSync(program, "utf8")).toBe("#!/bin/sh\necho hello");
  expect(statSync(program).mode & 0o111).toBe(0o111);
  expect(urls).toEqual([
    `https://github.com/temporalio/cli/releases/download/v1.8.2/temporal_cli_1.8.2_${PLATFORM}.tar.gz`,
  ]);
});

test("downloadRelease, when a single byte differs, refuses before anything is unpacked", async () => {
  const { archive, checksums } = await aRelease("#!/bin/sh\necho hello");
  archive[archive.length - 1] = (archive.at(-1) ?? 0) ^ 1;
  const folder = aFolder();
  await expect(downloadRelease({ folder, fetch: aFetch(archive).fetch, report, checksums })).rejects.toThrow(
    new RegExp(`the checksum of https.* is [0-9a-f]{64}, but ${checksums[PLATFORM]} was expected`),
  );
  expect(readdirSync(folder)).toEqual(["temporal.tar.gz"]);
});

test("downloadRelease, when there is no network, fails at once with the reason", async () => {
  await expect(downloadRelease({ folder: aFolder(), fetch: noNetwork, report })).rejects.toThrow(
    "fetch failed (ENOTFOUND)",
  );
});

test("downloadRelease, when nobody answers, gives up within seconds", async () => {
  const silent: Fetch = (_url, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  await expect(downloadRelease({ folder: aFolder(), fetch: silent, report })).rejects.toThrow("no answer within 5 s");
});

test("downloadRelease, when the answer is not the file, says which answer it was", async () => {
  await expect(
    downloadRelease({ folder: aFolder(), fetch: aFetch(Buffer.from("gone"), 404).fetch, report }),
  ).rejects.toThrow("the answer was HTTP 404");
});

test("downloadRelease, when the archive has no such program, refuses", async () => {
  const { archive, checksums } = await aRelease(undefined);
  await expect(downloadRelease({ folder: aFolder(), fetch: aFetch(archive).fetch, report, checksums })).rejects.toThrow(
    "no program called temporal",
  );
});

test("downloadRelease, when we are stopping, passes that on instead of a failure of the network", async () => {
  const signal = AbortSignal.abort(new Error("stopping"));
  const { archive, checksums } = await aRelease("x");
  await expect(
    downloadRelease({ folder: aFolder(), fetch: aFetch(archive).fetch, report, checksums, signal }),
  ).rejects.toThrow("stopping");
});

test("RELEASE_SHA256, for every system with a release, holds a whole checksum", () => {
  expect(Object.keys(RELEASE_SHA256).sort()).toEqual(["darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64"]);
  for (const checksum of Object.values(RELEASE_SHA256)) expect(checksum).toMatch(/^[0-9a-f]{64}$/);
});
