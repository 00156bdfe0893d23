import { createHash, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP, isIPv4 } from "node:net";

const ECDSA_WITH_SHA256 = "1.2.840.10045.4.3.2";
const KEY_ID_BYTES = 20;

/** Bits of a key usage, as the one octet that holds them. */
const KEY_USAGE = { digitalSignature: 0x80, certificateSigning: 0x04 } as const;
/** Purposes of a key (RFC 5280, 4.2.1.12). */
export const PURPOSE = { server: "1.3.6.1.5.5.7.3.1", client: "1.3.6.1.5.5.7.3.2" } as const;

/** One extension of a certificate, as DER. */
export type Extension = Buffer;

/**
 * Issues an X.509 certificate (RFC 5280, version 3), signed with a P-256 key. Times are in milliseconds and end before 2050. Returns
 * PEM. Written here because packages that do it take 200 modules and a tenth of a second of every start.
 */
export function issueCertificate(given: {
  readonly subject: KeyObject;
  readonly name: string;
  readonly issuerName: string;
  readonly issuerKey: KeyObject;
  readonly from: number;
  readonly to: number;
  readonly extensions: readonly Extension[];
}): string {
  const algorithm = sequence(objectId(ECDSA_WITH_SHA256));
  const body = sequence(
    element(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    distinguishedName(given.issuerName),
    sequence(time(given.from), time(given.to)),
    distinguishedName(given.name),
    given.subject.export({ type: "spki", format: "der" }),
    element(0xa3, sequence(...given.extensions)),
  );
  const signature = element(0x03, Buffer.concat([Buffer.from([0]), sign("sha256", body, given.issuerKey)]));
  const base64 = sequence(body, algorithm, signature).toString("base64");
  return `-----BEGIN CERTIFICATE-----\n${base64.replaceAll(/(.{64})/g, "$1\n").trimEnd()}\n-----END CERTIFICATE-----\n`;
}

/** Returns what makes a certificate an authority that signs for others, and for no further authority. */
export function authorityExtensions(): Extension[] {
  const constraints = sequence(element(0x01, Buffer.from([0xff])), integer(Buffer.from([0])));
  return [extension("2.5.29.19", constraints), extension("2.5.29.15", bits(KEY_USAGE.certificateSigning))];
}

/** Returns what makes a certificate one of an end of a connection. */
export function endExtensions(purpose: string): Extension[] {
  return [
    extension("2.5.29.19", sequence()),
    extension("2.5.29.15", bits(KEY_USAGE.digitalSignature)),
    extension("2.5.29.37", sequence(objectId(purpose))),
  ];
}

/** Returns the host names and addresses that a certificate is for. */
export function namesExtension(names: readonly string[]): Extension {
  const toName = (name: string): Buffer =>
    isIP(name) === 0 ? element(0x82, Buffer.from(name)) : element(0x87, addressBytes(name));
  return extension("2.5.29.17", sequence(...names.map(toName)), false);
}

/** Returns the ids of a certificate's key and of its issuer's. Python 3.13 refuses certificates without. */
export function keyIdExtensions(subject: KeyObject, issuer: KeyObject): Extension[] {
  return [
    extension("2.5.29.14", element(0x04, keyIdOf(subject)), false),
    extension("2.5.29.35", sequence(element(0x80, keyIdOf(issuer))), false),
  ];
}

/** Returns what names a public key: a part of its SHA-256. */
export function keyIdOf(key: KeyObject): Buffer {
  return createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest()
    .subarray(0, KEY_ID_BYTES);
}

/** The 4 or 16 bytes of an address. */
function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  const groupsOf = (text: string): string[] => (text === "" ? [] : text.split(":"));
  // URLs have one way to write an address: hexadecimal, at most one "::".
  const [head = "", tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split("::");
  const [before, after] = [groupsOf(head), groupsOf(tail ?? "")];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  const groups = tail === undefined ? before : [...before, ...zeros, ...after];
  return Buffer.from(groups.map((group) => group.padStart(4, "0")).join(""), "hex");
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

function extension(id: string, content: Buffer, critical = true): Extension {
  const flag = critical ? [element(0x01, Buffer.from([0xff]))] : [];
  return sequence(objectId(id), ...flag, element(0x04, content));
}
