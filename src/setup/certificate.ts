import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";

export interface Certificate {
  readonly certPem: string;
  readonly keyPem: string;
  /** What callers must trust, for `curl --cacert` and Node's `ca`: a file, and what is in it. */
  readonly caFile: string;
  readonly caPem: string;
  /** SHA-256, as browsers and openssl show it. */
  readonly fingerprint: string;
  /** Its end, in milliseconds. */
  readonly endsAt: number;
  /** No authority that systems know vouches for it. */
  readonly selfSigned: boolean;
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
  const { fingerprint256: fingerprint } = certificate;
  return { certPem, keyPem, caFile: certFile, caPem: certPem, fingerprint, endsAt: to, selfSigned };
}

/** Returns the first of these names that a certificate is for, else one that it names itself; null when it names none. */
export function findServerName(certPem: string, names: readonly string[]): string | null {
  const certificate = new X509Certificate(certPem);
  const bare = names.map((name) => name.replace(/^\[|\]$/g, ""));
  const isNamed = (name: string) =>
    (isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name)) !== undefined;
  const own = /DNS:([^,*\s]+)/.exec(certificate.subjectAltName ?? "")?.[1];
  return bare.find(isNamed) ?? own ?? null;
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
