import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { writeWhole } from "../../system/whole-file.ts";
import type { Certificate } from "./certificate.ts";
import {
  authorityExtensions,
  endExtensions,
  issueCertificate,
  keyIdExtensions,
  keyIdOf,
  namesExtension,
  PURPOSE,
} from "./x509.ts";

const DAY_MS = 86_400_000;
/** Callers keep a copy of the authority, so it is to last; its end is before 2050. */
const AUTHORITY_DAYS = 3_650;
/** Nobody keeps a copy of the certificate. */
const VALID_DAYS = 90;
const RENEW_BEFORE_DAYS = 30;
/** Clocks of callers differ a little. */
const BACKDATE_MS = 3_600_000;
const NAMES_ALWAYS = ["localhost", "127.0.0.1", "::1"];

/** A certificate with its private key, PEM texts. */
interface Pair {
  readonly certPem: string;
  readonly keyPem: string;
}

/** Paths. `authority` is what callers trust: it has, behind the authority, a certificate that was trusted before there was one. */
interface Files {
  readonly authority: string;
  readonly authorityKey: string;
  readonly cert: string;
  readonly key: string;
}

/**
 * The certificate of our own making in `dir`, for `localhost` and `hostNames` (names and addresses), signed by an
 * authority of this installation. It makes a new one when the present one is missing, damaged, ends within 30 days, or
 * lacks a name. A self-signed one, as older versions made it, is used on until then, and stays in what callers trust.
 * P-256; keys have mode 0600.
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
  const files = {
    authority: join(dir, "ca.pem"),
    authorityKey: join(dir, "ca-key.pem"),
    cert: join(dir, "cert.pem"),
    key: join(dir, "key.pem"),
  };
  const authority = (await readAuthority(files, now())) ?? (await makeAuthority(files, now()));
  const existing = await readPair(files.cert, files.key);
  if (existing !== undefined && isGood(existing.certPem, authority, names, now()))
    return toCertificate(existing, authority, files);
  const made = issueFor(names, authority, now());
  await writePair(files.cert, files.key, made);
  const alone = { ...authority, certPem: firstOf(authority.certPem) };
  if (alone.certPem !== authority.certPem) await writeWhole(files.authority, alone.certPem, 0o644);
  return toCertificate(made, alone, files);
}

async function readAuthority(files: Files, now: number): Promise<Pair | undefined> {
  const pair = await readPair(files.authority, files.authorityKey);
  if (pair === undefined) return undefined;
  const { ca, validFrom, validTo } = new X509Certificate(pair.certPem);
  const isLasting = now >= Date.parse(validFrom) && Date.parse(validTo) - now > VALID_DAYS * DAY_MS;
  return ca && isLasting ? pair : undefined;
}

/** Where `ca.pem` is the self-signed certificate of an older version, that one becomes `cert.pem`, and is trusted beside the authority. */
async function makeAuthority(files: Files, now: number): Promise<Pair> {
  const before = await readPair(files.authority, files.key);
  if (before !== undefined) await writeWhole(files.cert, before.certPem, 0o644);
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = `Treadle authority ${keyIdOf(publicKey).toString("hex", 0, 4)}`;
  const certPem = issueCertificate({
    subject: publicKey,
    name,
    issuerName: name,
    issuerKey: privateKey,
    from: now - BACKDATE_MS,
    to: now + AUTHORITY_DAYS * DAY_MS,
    extensions: [...authorityExtensions(), ...keyIdExtensions(publicKey, publicKey)],
  });
  const made = { certPem: `${certPem}${before?.certPem ?? ""}`, keyPem: toPem(privateKey) };
  await writePair(files.authority, files.authorityKey, made);
  return made;
}

function issueFor(names: readonly string[], authority: Pair, now: number): Pair {
  const issuer = new X509Certificate(authority.certPem);
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const certPem = issueCertificate({
    subject: publicKey,
    name: "Treadle on localhost",
    issuerName: issuer.subject.replace(/^CN=/, ""),
    issuerKey: createPrivateKey(authority.keyPem),
    from: now - BACKDATE_MS,
    to: now + VALID_DAYS * DAY_MS,
    extensions: [
      ...endExtensions(PURPOSE.server),
      namesExtension(names),
      ...keyIdExtensions(publicKey, issuer.publicKey),
    ],
  });
  return { certPem, keyPem: toPem(privateKey) };
}

/** Undefined: missing, or damaged, or not of each other. A crash between two renames only means that both are made again. */
async function readPair(certPath: string, keyPath: string): Promise<Pair | undefined> {
  try {
    const [certPem, keyPem] = await Promise.all([readFile(certPath, "utf8"), readFile(keyPath, "utf8")]);
    return new X509Certificate(certPem).checkPrivateKey(createPrivateKey(keyPem)) ? { certPem, keyPem } : undefined;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "EACCES" || code === "EPERM") throw error;
    return undefined;
  }
}

async function writePair(certPath: string, keyPath: string, { certPem, keyPem }: Pair): Promise<void> {
  await writeWhole(keyPath, keyPem, 0o600);
  await writeWhole(certPath, certPem, 0o644);
}

function isGood(certPem: string, authority: Pair, names: readonly string[], now: number): boolean {
  const certificate = new X509Certificate(certPem);
  const covers = (name: string) => (isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name)) !== undefined;
  return (
    now >= Date.parse(certificate.validFrom) &&
    Date.parse(certificate.validTo) - now > RENEW_BEFORE_DAYS * DAY_MS &&
    names.every(covers) &&
    (certificate.verify(new X509Certificate(authority.certPem).publicKey) || authority.certPem.endsWith(certPem))
  );
}

function toCertificate({ certPem, keyPem }: Pair, authority: Pair, files: Files): Certificate {
  const { fingerprint256: fingerprint, validTo } = new X509Certificate(certPem);
  const endsAt = Date.parse(validTo);
  return { certPem, keyPem, caFile: files.authority, caPem: authority.certPem, fingerprint, endsAt, selfSigned: true };
}

function firstOf(pem: string): string {
  const end = "-----END CERTIFICATE-----\n";
  return pem.slice(0, pem.indexOf(end) + end.length);
}

function toPem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

/** Addresses that mean "every address" are nobody's name; underscores and the like are no host names. */
function isUsableName(name: string): boolean {
  if (isIP(name) !== 0) return name !== "0.0.0.0" && name !== "::" && !name.includes("%");
  return name.length <= 253 && /^[a-z0-9]([a-z0-9-]{0,62})(\.[a-z0-9][a-z0-9-]{0,62})*$/.test(name);
}
