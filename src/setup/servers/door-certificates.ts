import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

const AUTHORITY = "Treadle's door to Temporal";
const ECDSA_WITH_SHA256 = "1.2.840.10045.4.3.2";
const DAY_MS = 86_400_000;
/** Both ends are made at a start of the server's door, and a service may run for years. */
const VALID_DAYS = 3_650;
const BACKDATE_MS = 3_600_000;
/** The name that the door's certificate is for. No resolver is asked for it. */
export const DOOR_NAME = "temporal.treadle.internal";

/** A certificate with its private key, PEM texts. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

export interface DoorCertificates {
  /** The authority that both ends trust, and nothing else does. PEM. */
  readonly ca: string;
  readonly door: Identity;
  readonly caller: Identity;
}

/**
 * Makes an authority and one certificate for each end of a door. The authority's key is gone afterwards, so there is never
 * another caller. P-256, as every TLS library has it; written here because the package that makes the public certificate
 * takes 200 modules and a tenth of a second of every start.
 */
export function makeDoorCertificates(now: number): DoorCertificates {
  const authority = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issue = (subject: KeyObject, name: string, extensions: readonly Buffer[]) =>
    toCertificate({ subject, name, extensions, issuer: authority.privateKey, now });
  const identity = (name: string, purpose: string, extensions: readonly Buffer[]): Identity => {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const usages = [extension("2.5.29.15", bits(0x80)), extension("2.5.29.37", sequence(objectId(purpose)))];
    const cert = issue(publicKey, name, [extension("2.5.29.19", sequence()), ...usages, ...extensions]);
    return { cert, key: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
  };
  const dnsName = element(0x82, Buffer.from(DOOR_NAME));
  return {
    ca: issue(authority.publicKey, AUTHORITY, [
      extension("2.5.29.19", sequence(element(0x01, Buffer.from([0xff])))),
      extension("2.5.29.15", bits(0x04)),
    ]),
    door: identity(DOOR_NAME, "1.3.6.1.5.5.7.3.1", [extension("2.5.29.17", sequence(dnsName), false)]),
    caller: identity("treadle", "1.3.6.1.5.5.7.3.2", []),
  };
}

/** RFC 5280, 4.1: version 3, with the name of our authority as issuer. */
function toCertificate(given: {
  subject: KeyObject;
  name: string;
  extensions: readonly Buffer[];
  issuer: KeyObject;
  now: number;
}): string {
  const algorithm = sequence(objectId(ECDSA_WITH_SHA256));
  const body = sequence(
    element(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    distinguishedName(AUTHORITY),
    sequence(time(given.now - BACKDATE_MS), time(given.now + VALID_DAYS * DAY_MS)),
    distinguishedName(given.name),
    given.subject.export({ type: "spki", format: "der" }),
    element(0xa3, sequence(...given.extensions)),
  );
  const signature = element(0x03, Buffer.concat([Buffer.from([0]), sign("sha256", body, given.issuer)]));
  const base64 = sequence(body, algorithm, signature).toString("base64");
  return `-----BEGIN CERTIFICATE-----\n${base64.replaceAll(/(.{64})/g, "$1\n").trimEnd()}\n-----END CERTIFICATE-----\n`;
}

/** One element of DER: tag, length, content (X.690, 8.1 and 10.1). */
function element(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return element(0x30, Buffer.concat(parts));
}

function integer(bytes: Buffer): Buffer {
  return element(0x02, bytes);
}

/** A string of named bits, of which one is set; DER leaves the zeros after it out. */
function bits(octet: number): Buffer {
  return element(0x03, Buffer.from([31 - Math.clz32(octet), octet]));
}

function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const septets = (part: number): number[] => {
    const low = [part & 0x7f];
    for (let high = Math.floor(part / 128); high > 0; high = Math.floor(high / 128)) low.unshift((high & 0x7f) | 0x80);
    return low;
  };
  return element(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(septets)]));
}

function distinguishedName(commonName: string): Buffer {
  const attribute = sequence(objectId("2.5.4.3"), element(0x0c, Buffer.from(commonName)));
  return sequence(element(0x31, attribute));
}

/** UTCTime, which RFC 5280 wants until 2049. */
function time(at: number): Buffer {
  const text = new Date(at).toISOString().replaceAll(/[-:T]/g, "").slice(2, 14);
  return element(0x17, Buffer.from(`${text}Z`));
}

function extension(id: string, content: Buffer, critical = true): Buffer {
  const flag = critical ? [element(0x01, Buffer.from([0xff]))] : [];
  return sequence(objectId(id), ...flag, element(0x04, content));
}
