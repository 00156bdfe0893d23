import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";

const DAY_MS = 86_400_000;
/** Browsers accept no certificate for longer. */
const VALID_DAYS = 397;
const RENEW_BEFORE_DAYS = 30;
/** Clocks of callers differ a little. */
const BACKDATE_MS = 3_600_000;
const NAMES_ALWAYS = ["localhost", "127.0.0.1", "::1"];

export interface Certificate {
  readonly certPem: string;
  readonly keyPem: string;
  /** What callers must trust, for `curl --cacert` and Node's `ca`. */
  readonly caFile: string;
  /** SHA-256, as browsers and openssl show it. */
  readonly fingerprint: string;
  readonly selfSigned: boolean;
}

/**
 * The certificate of our own making in `dir`, for `localhost` and `hostNames` (names and addresses): the one that is
 * there, or a new one when it is missing, damaged, about to end, or lacks a name. P-256; its key has mode 0600.
 */
export async function ensureCertificate(deps: {
  dir: string;
  hostNames: readonly string[];
  now: () => number;
}): Promise<Certificate> {
  const { dir, now } = deps;
  const names = [...new Set([...NAMES_ALWAYS, ...deps.hostNames.map((name) => name.toLowerCase())])].filter(
    isUsableName,
  );
  const files = { cert: join(dir, "ca.pem"), key: join(dir, "key.pem") };
  const existing = await readPair(files);
  if (existing !== undefined && isGood(existing.certPem, names, now())) return toCertificate(existing, files.cert);
  const made = await make(names, now());
  // The pair is checked when it is read: a crash between the two renames only means that it is made again.
  await writeFile(`${files.key}.tmp`, made.keyPem, { mode: 0o600 });
  await writeFile(`${files.cert}.tmp`, made.certPem, { mode: 0o644 });
  await rename(`${files.key}.tmp`, files.key);
  await rename(`${files.cert}.tmp`, files.cert);
  return toCertificate(made, files.cert);
}

/**
 * The certificate of `TREADLE_TLS_CERT` and `TREADLE_TLS_KEY`. Rejects, naming file and reason, when one is missing or
 * cannot be read, when they do not belong together, and outside the certificate's time.
 */
export async function readGivenCertificate(given: {
  certFile: string | undefined;
  keyFile: string | undefined;
  now: () => number;
}): Promise<Certificate | undefined> {
  const { certFile, keyFile } = given;
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined) {
    throw new Error(
      `${certFile === undefined ? "TREADLE_TLS_KEY" : "TREADLE_TLS_CERT"} is set alone. Set TREADLE_TLS_CERT and TREADLE_TLS_KEY both, or neither.`,
    );
  }
  const certPem = await readGiven("TREADLE_TLS_CERT", certFile);
  const keyPem = await readGiven("TREADLE_TLS_KEY", keyFile);
  const certificate = parseGiven("TREADLE_TLS_CERT", certFile, () => new X509Certificate(certPem));
  const key = parseGiven("TREADLE_TLS_KEY", keyFile, () => createPrivateKey(keyPem));
  if (!certificate.checkPrivateKey(key)) {
    throw new Error(
      `The key ${keyFile} (TREADLE_TLS_KEY) does not belong to the first certificate in ${certFile} (TREADLE_TLS_CERT).`,
    );
  }
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  if (given.now() < from || given.now() > to) {
    throw new Error(
      `The certificate ${certFile} (TREADLE_TLS_CERT) is valid from ${certificate.validFrom} to ${certificate.validTo}, not now. Put a current one there.`,
    );
  }
  const selfSigned = certificate.issuer === certificate.subject && certificate.verify(certificate.publicKey);
  return { certPem, keyPem, caFile: certFile, fingerprint: certificate.fingerprint256, selfSigned };
}

async function readPair(files: {
  cert: string;
  key: string;
}): Promise<{ certPem: string; keyPem: string } | undefined> {
  try {
    const [certPem, keyPem] = await Promise.all([readFile(files.cert, "utf8"), readFile(files.key, "utf8")]);
    return new X509Certificate(certPem).checkPrivateKey(createPrivateKey(keyPem)) ? { certPem, keyPem } : undefined;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "EACCES" || code === "EPERM") throw error;
    return undefined; // missing, or damaged: made again
  }
}

function isGood(certPem: string, names: readonly string[], now: number): boolean {
  const certificate = new X509Certificate(certPem);
  const covers = (name: string) => (isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name)) !== undefined;
  return (
    now >= Date.parse(certificate.validFrom) &&
    Date.parse(certificate.validTo) - now > RENEW_BEFORE_DAYS * DAY_MS &&
    names.every(covers)
  );
}

let generator: Promise<typeof import("selfsigned")> | undefined;

/** Loads, once, what makes certificates: 200 modules, for what most starts find made. Whoever is about to lose sight of them does so before. */
export function loadGenerator(): Promise<typeof import("selfsigned")> {
  generator ??= import("selfsigned");
  return generator;
}

async function make(names: readonly string[], now: number): Promise<{ certPem: string; keyPem: string }> {
  const { generate } = await loadGenerator();
  const { cert, private: key } = await generate([{ name: "commonName", value: "Treadle on localhost" }], {
    keyType: "ec",
    curve: "P-256",
    algorithm: "sha256",
    notBeforeDate: new Date(now - BACKDATE_MS),
    notAfterDate: new Date(now + VALID_DAYS * DAY_MS),
    extensions: [
      // Not an authority: whoever trusts it trusts this one server, and nothing that could be signed with its key.
      { name: "basicConstraints", cA: false, critical: true },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", serverAuth: true },
      {
        name: "subjectAltName",
        altNames: names.map((name) => (isIP(name) ? { type: 7, ip: name } : { type: 2, value: name })),
      },
    ],
  });
  return { certPem: cert.replaceAll("\r\n", "\n"), keyPem: key.replaceAll("\r\n", "\n") };
}

function toCertificate({ certPem, keyPem }: { certPem: string; keyPem: string }, caFile: string): Certificate {
  return { certPem, keyPem, caFile, fingerprint: new X509Certificate(certPem).fingerprint256, selfSigned: true };
}

/** Addresses that mean "every address" are nobody's name; underscores and the like are no host names. */
function isUsableName(name: string): boolean {
  if (isIP(name) !== 0) return name !== "0.0.0.0" && name !== "::";
  return name.length <= 253 && /^[a-z0-9]([a-z0-9-]{0,62})(\.[a-z0-9][a-z0-9-]{0,62})*$/.test(name);
}

async function readGiven(setting: string, path: string): Promise<string> {
  return readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${setting} names ${path}, which cannot be read (${error.code}).`, { cause: error });
  });
}

function parseGiven<T>(setting: string, path: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Error(
      `${setting} names ${path}, which is not a PEM file that can be used: a certificate chain with the server's own first, or a private key without a passphrase.`,
      {
        cause: error,
      },
    );
  }
}
