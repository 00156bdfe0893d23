import { generateKeyPairSync, type KeyObject } from "node:crypto";
import {
  authorityExtensions,
  type Extension,
  endExtensions,
  issueCertificate,
  namesExtension,
  PURPOSE,
} from "../x509.ts";

const AUTHORITY = "Treadle's proxy to Temporal";
const DAY_MS = 86_400_000;
/** Both ends are made at a start of the server's proxy, and a service may run for years. */
const VALID_DAYS = 3_650;
const BACKDATE_MS = 3_600_000;
/** The name that the proxy's certificate is for. No resolver is asked for it. */
export const PROXY_NAME = "temporal.treadle.internal";

/** A certificate with its private key, PEM texts. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

export interface ProxyCertificates {
  /** The authority that both ends trust, and nothing else does. PEM. */
  readonly ca: string;
  readonly proxy: Identity;
  readonly caller: Identity;
}

/**
 * Makes an authority and one certificate for each end of a proxy. The authority's key is gone afterwards, so there is never
 * another caller. P-256, as every TLS library has it.
 */
export function makeProxyCertificates(now: number): ProxyCertificates {
  const authority = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issue = (subject: KeyObject, name: string, extensions: readonly Extension[]) =>
    issueCertificate({
      subject,
      name,
      extensions,
      issuerName: AUTHORITY,
      issuerKey: authority.privateKey,
      from: now - BACKDATE_MS,
      to: now + VALID_DAYS * DAY_MS,
    });
  const identity = (name: string, extensions: readonly Extension[]): Identity => {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    return {
      cert: issue(publicKey, name, extensions),
      key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    };
  };
  return {
    ca: issue(authority.publicKey, AUTHORITY, authorityExtensions()),
    proxy: identity(PROXY_NAME, [...endExtensions(PURPOSE.server), namesExtension([PROXY_NAME])]),
    caller: identity("treadle", endExtensions(PURPOSE.client)),
  };
}
