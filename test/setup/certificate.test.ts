import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, get } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { type Certificate, ensureCertificate, readGivenCertificate } from "../../src/setup/certificate.ts";
import { aFolder, afterwards } from "./servers/surroundings.ts";

const DAY_MS = 86_400_000;
const now = () => Date.now();

async function serve({ certPem, keyPem }: Certificate): Promise<number> {
  const server = createServer({ cert: certPem, key: keyPem }, (_request, response) => response.end("hello"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterwards(() => server.close());
  return (server.address() as AddressInfo).port;
}

test("ensureCertificate, at the first start, makes a P-256 certificate for this machine's names, its key for us alone", async () => {
  const dir = aFolder();
  const made = await ensureCertificate({
    dir,
    hostNames: ["Build-7.example.com", "192.168.7.9", "0.0.0.0", "not_a_host"],
    now,
  });
  const certificate = new X509Certificate(made.certPem);
  for (const name of ["localhost", "build-7.example.com"]) expect(certificate.checkHost(name)).toBe(name);
  for (const address of ["127.0.0.1", "::1", "192.168.7.9"]) expect(certificate.checkIP(address)).toBe(address);
  expect(certificate.checkHost("not_a_host")).toBeUndefined();
  expect(certificate.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: "prime256v1" });
  expect(certificate.ca).toBe(false);
  expect(made).toMatchObject({
    caFile: join(dir, "ca.pem"),
    fingerprint: certificate.fingerprint256,
    selfSigned: true,
  });
  expect(statSync(join(dir, "key.pem")).mode & 0o777).toBe(0o600);
  expect(readFileSync(made.caFile, "utf8")).toBe(made.certPem);
});

test("ensureCertificate, trusted by its file, satisfies curl and Node by every name", async () => {
  const made = await ensureCertificate({ dir: aFolder(), hostNames: [], now });
  const port = await serve(made);
  const curl = await promisify(execFile)("curl", [
    "--silent",
    "--show-error",
    "--noproxy",
    "*",
    "--cacert",
    made.caFile,
    `https://localhost:${port}/`,
    `https://127.0.0.1:${port}/`,
  ]);
  expect(curl.stdout).toBe("hellohello");
  await expect(
    promisify(execFile)("curl", ["--silent", "--noproxy", "*", `https://localhost:${port}/`]),
  ).rejects.toMatchObject({ code: 60 });

  const request = get({ host: "localhost", port, ca: readFileSync(made.caFile), agent: false });
  const [response] = await once(request, "response");
  expect(response.statusCode).toBe(200);
  response.resume();
});

test("ensureCertificate, at later starts, keeps the certificate until 30 days before its end", async () => {
  const dir = aFolder();
  const first = await ensureCertificate({ dir, hostNames: ["a.example"], now });
  const end = Date.parse(new X509Certificate(first.certPem).validTo);
  expect(end - Date.now()).toBeLessThan(398 * DAY_MS);
  expect((await ensureCertificate({ dir, hostNames: ["a.example"], now: () => end - 31 * DAY_MS })).fingerprint).toBe(
    first.fingerprint,
  );
  expect(
    (await ensureCertificate({ dir, hostNames: ["a.example"], now: () => end - 29 * DAY_MS })).fingerprint,
  ).not.toBe(first.fingerprint);
});

test("ensureCertificate, when a name is new, makes another; when one is no longer asked for, keeps it", async () => {
  const dir = aFolder();
  const first = await ensureCertificate({ dir, hostNames: ["a.example", "b.example"], now });
  expect((await ensureCertificate({ dir, hostNames: ["a.example"], now })).fingerprint).toBe(first.fingerprint);
  expect((await ensureCertificate({ dir, hostNames: ["c.example"], now })).fingerprint).not.toBe(first.fingerprint);
});

test("ensureCertificate, when key and certificate do not belong together or are cut off, makes both anew", async () => {
  const dir = aFolder();
  const first = await ensureCertificate({ dir, hostNames: [], now });
  const other = await ensureCertificate({ dir: aFolder(), hostNames: [], now });
  writeFileSync(join(dir, "key.pem"), other.keyPem);
  const second = await ensureCertificate({ dir, hostNames: [], now });
  expect(second.fingerprint).not.toBe(first.fingerprint);
  writeFileSync(join(dir, "ca.pem"), second.certPem.slice(0, 200));
  await serve(await ensureCertificate({ dir, hostNames: [], now }));
});

test("readGivenCertificate, given a pair, uses it; given half of one, another's key, or a file that is none, says which setting", async () => {
  const [folder, other] = [aFolder(), aFolder()];
  await ensureCertificate({ dir: folder, hostNames: [], now });
  await ensureCertificate({ dir: other, hostNames: [], now });
  const [certFile, keyFile, foreignKey] = [join(folder, "ca.pem"), join(folder, "key.pem"), join(other, "key.pem")];
  expect(await readGivenCertificate({ certFile: undefined, keyFile: undefined, now })).toBeUndefined();
  expect(await readGivenCertificate({ certFile, keyFile, now })).toMatchObject({ caFile: certFile, selfSigned: true });
  await expect(readGivenCertificate({ certFile, keyFile: undefined, now })).rejects.toThrow(
    "TREADLE_TLS_CERT is set alone",
  );
  await expect(readGivenCertificate({ certFile, keyFile: foreignKey, now })).rejects.toThrow(
    `The key ${foreignKey} (TREADLE_TLS_KEY) does not belong`,
  );
  await expect(readGivenCertificate({ certFile, keyFile: certFile, now })).rejects.toThrow("TREADLE_TLS_KEY names");
  await expect(readGivenCertificate({ certFile: "/nowhere.pem", keyFile, now })).rejects.toThrow(
    "TREADLE_TLS_CERT names /nowhere.pem, which cannot be read (ENOENT)",
  );
  chmodSync(certFile, 0o600);
  await expect(readGivenCertificate({ certFile, keyFile, now: () => Date.now() + 500 * DAY_MS })).rejects.toThrow(
    "Put a current one there",
  );
});
