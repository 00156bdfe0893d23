import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, get } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, jest, test } from "@jest/globals";
import { Registry } from "prom-client";
import { showTemporalCertificate } from "../../src/metrics/certificate.ts";
import { type Certificate, findServerName, readGivenCertificate } from "../../src/setup/certificate.ts";
import { ensureCertificate } from "../../src/setup/own-certificate.ts";
import { makeProxyCertificates } from "../../src/setup/servers/proxy-certificates.ts";
import { watchCertificate } from "../../src/start/certificate-watch.ts";
import { aFolder, afterwards } from "./servers/surroundings.ts";

const DAY_MS = 86_400_000;
const now = () => Date.now();

/** A certificate as versions before the authority made it. */
async function aSelfSigned() {
  const { generate } = await import("selfsigned");
  const addresses = ["127.0.0.1", "::1"].map((ip) => ({ type: 7, ip }) as const);
  return generate([{ name: "commonName", value: "Treadle on localhost" }], {
    keyType: "ec",
    curve: "P-256",
    algorithm: "sha256",
    notAfterDate: new Date(Date.now() + 397 * DAY_MS),
    extensions: [
      { name: "basicConstraints", cA: false, critical: true },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", serverAuth: true },
      { name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }, ...addresses] },
    ],
  });
}

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
    hostNames: ["Build-7.example.com", "192.168.7.9", "2001:db8::7:0:0:1", "0.0.0.0", "not_a_host"],
    now,
  });
  const certificate = new X509Certificate(made.certPem);
  for (const name of ["localhost", "build-7.example.com"]) expect(certificate.checkHost(name)).toBe(name);
  for (const address of ["127.0.0.1", "::1", "192.168.7.9", "2001:db8::7:0:0:1"])
    expect(certificate.checkIP(address)).toBe(address);
  expect(certificate.checkHost("not_a_host")).toBeUndefined();
  expect(certificate.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: "prime256v1" });
  expect(certificate.ca).toBe(false);
  expect(made).toMatchObject({
    caFile: join(dir, "ca.pem"),
    fingerprint: certificate.fingerprint256,
    selfSigned: true,
  });
  for (const key of ["key.pem", "ca-key.pem"]) expect(statSync(join(dir, key)).mode & 0o777).toBe(0o600);
  expect(readFileSync(made.caFile, "utf8")).toBe(made.caPem);
  const authority = new X509Certificate(made.caPem);
  expect([authority.ca, certificate.verify(authority.publicKey)]).toEqual([true, true]);
  expect(Date.parse(authority.validTo) - now()).toBeGreaterThan(3_600 * DAY_MS);
  // As Python 3.13 checks certificates.
  const strict = ["verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", made.caFile, join(dir, "cert.pem")];
  expect((await promisify(execFile)("openssl", strict)).stdout).toContain("OK");
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

test("ensureCertificate, at later starts, keeps the certificate until 30 days before its end, and the authority", async () => {
  const dir = aFolder();
  const first = await ensureCertificate({ dir, hostNames: ["a.example"], now });
  const end = Date.parse(new X509Certificate(first.certPem).validTo);
  expect(end - Date.now()).toBeLessThan(91 * DAY_MS);
  expect((await ensureCertificate({ dir, hostNames: ["a.example"], now: () => end - 31 * DAY_MS })).fingerprint).toBe(
    first.fingerprint,
  );
  const renewed = await ensureCertificate({ dir, hostNames: ["a.example"], now: () => end - 29 * DAY_MS });
  expect(renewed.fingerprint).not.toBe(first.fingerprint);
  expect(renewed.caPem).toBe(first.caPem);
});

test("ensureCertificate, when a name is new, makes another; when one is no longer asked for, keeps it", async () => {
  const dir = aFolder();
  const first = await ensureCertificate({ dir, hostNames: ["a.example", "b.example"], now });
  expect((await ensureCertificate({ dir, hostNames: ["a.example"], now })).fingerprint).toBe(first.fingerprint);
  const other = await ensureCertificate({ dir, hostNames: ["c.example"], now });
  expect([other.fingerprint === first.fingerprint, other.caPem]).toEqual([false, first.caPem]);
});

test("ensureCertificate, when key and certificate do not belong together or are cut off, makes both anew", async () => {
  const dir = aFolder();
  const first = await ensureCertificate({ dir, hostNames: [], now });
  const other = await ensureCertificate({ dir: aFolder(), hostNames: [], now });
  writeFileSync(join(dir, "key.pem"), other.keyPem);
  const second = await ensureCertificate({ dir, hostNames: [], now });
  expect([second.fingerprint === first.fingerprint, second.caPem]).toEqual([false, first.caPem]);
  writeFileSync(join(dir, "ca.pem"), second.caPem.slice(0, 200));
  await serve(await ensureCertificate({ dir, hostNames: [], now }));
});

test("ensureCertificate, of an installation with a self-signed one, serves it to its end; who trusts the file trusts what comes after", async () => {
  const dir = aFolder();
  const old = await aSelfSigned();
  writeFileSync(join(dir, "ca.pem"), old.cert);
  writeFileSync(join(dir, "key.pem"), old.private);
  const names = { dir, hostNames: [] };
  const oldEnd = Date.parse(new X509Certificate(old.cert).validTo);
  for (const start of [1, 2]) {
    const adopted = await ensureCertificate({ ...names, now });
    expect([start, adopted.certPem]).toEqual([start, old.cert]);
    expect(readFileSync(adopted.caFile, "utf8")).toBe(adopted.caPem);
  }
  const adopted = await ensureCertificate({ ...names, now });
  const port = await serve(adopted);
  for (const ca of [old.cert, adopted.caPem]) {
    const [response] = await once(get({ host: "localhost", port, ca, agent: false }), "response");
    response.resume();
  }
  const later = await ensureCertificate({ ...names, now: () => oldEnd - 29 * DAY_MS });
  expect(new X509Certificate(later.certPem).verify(new X509Certificate(adopted.caPem).publicKey)).toBe(true);
  expect(adopted.caPem).toBe(`${later.caPem}${old.cert}`);
  expect(readFileSync(later.caFile, "utf8")).toBe(later.caPem);
});

test("watchCertificate, when the files change, serves both anew; a pair that does not fit is logged once, and the one before stays", async () => {
  const [folder, other] = [aFolder(), aFolder()];
  await ensureCertificate({ dir: folder, hostNames: [], now });
  const next = await ensureCertificate({ dir: other, hostNames: ["next.example"], now });
  const files = { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem"), now };
  const read = async () => (await readGivenCertificate(files)) as Certificate;
  const first = await read();
  const [served, events] = [[] as string[], [] as unknown[]];
  const note = (facts: object) => void events.push((facts as { event: string }).event);
  const watch = watchCertificate({
    first,
    read,
    log: { info: note, warn: note },
    serve: ({ certPem }) => void served.push(certPem),
  });
  afterwards(watch.close);
  await watch.reload();
  writeFileSync(files.certFile, next.certPem);
  await watch.reload();
  await watch.reload();
  rmSync(files.keyFile);
  await watch.reload();
  expect([served, watch.endsAt()]).toEqual([[], first.endsAt]);
  writeFileSync(files.keyFile, next.keyPem);
  await Promise.all([watch.reload(), watch.reload()]);
  expect([served, watch.endsAt()]).toEqual([[next.certPem], next.endsAt]);
  expect(events).toEqual(["certificate.refused", "certificate.refused", "certificate.replaced"]);
});

test("findServerName, of names, is the first that a certificate is for, else one of its own", async () => {
  const { certPem } = await ensureCertificate({ dir: aFolder(), hostNames: ["a.example"], now });
  expect(findServerName(certPem, ["b.example", "a.example", "localhost"])).toBe("a.example");
  expect(findServerName(certPem, ["[::1]"])).toBe("::1");
  expect(findServerName(certPem, ["b.example"])).toBe("localhost");
});

test("readGivenCertificate, given a pair, uses it; given half of one, another's key, or a file that is none, says which setting", async () => {
  const [folder, other] = [aFolder(), aFolder()];
  await ensureCertificate({ dir: folder, hostNames: [], now });
  await ensureCertificate({ dir: other, hostNames: [], now });
  const [certFile, keyFile, foreignKey] = [join(folder, "cert.pem"), join(folder, "key.pem"), join(other, "key.pem")];
  expect(await readGivenCertificate({ certFile: undefined, keyFile: undefined, now })).toBeUndefined();
  expect(await readGivenCertificate({ certFile, keyFile, now })).toMatchObject({ caFile: certFile, selfSigned: false });
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

test.each([
  { days: 3_640, warned: false },
  { days: 10, warned: true },
])(
  "the certificate that Temporal is shown, with $days days left, is in the figures; a warning: $warned",
  async ({ days, warned }) => {
    const lasts = 3_650 * DAY_MS;
    const { cert } = makeProxyCertificates(Date.now() + days * DAY_MS - lasts).caller;
    const registry = new Registry();
    const warn = jest.fn();
    showTemporalCertificate(registry, cert, { warn });
    const [, ends] =
      /^treadle_temporal_certificate_expires_timestamp_seconds (\d+)$/m.exec(await registry.metrics()) ?? [];
    expect(Math.round((Number(ends) * 1_000 - Date.now()) / DAY_MS)).toBe(days);
    expect(warn).toHaveBeenCalledTimes(warned ? 1 : 0);
  },
);
