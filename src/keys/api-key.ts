import { createHash, randomBytes } from "node:crypto";

const PREFIX = "trd_";
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_BYTES = 32;
/** 62^43 > 2^256: every 32 bytes fit, and shorter numbers are filled up with zeros. */
const SECRET_CHARACTERS = 43;
/** 62^6 > 2^32. */
const CHECKSUM_CHARACTERS = 6;
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_CHARACTERS + CHECKSUM_CHARACTERS}}$`);

/** A new API key: `trd_`, 32 random bytes and a checksum in base 62. Always 53 characters. */
export function createApiKey(): string {
  const secret = toBase62(randomBytes(SECRET_BYTES), SECRET_CHARACTERS);
  return `${PREFIX}${secret}${checksumOf(secret)}`;
}

/** Whether a text has the shape and the checksum of an API key, as a scanner for leaked keys would ask. Says nothing of whether it opens anything. */
export function isApiKey(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  const secret = text.slice(PREFIX.length, -CHECKSUM_CHARACTERS);
  return checksumOf(secret) === text.slice(-CHECKSUM_CHARACTERS);
}

/** What the database knows a key by: 32 bytes of SHA-256. A key has 256 random bits, so nothing slower is needed. */
export function hashApiKey(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function checksumOf(secret: string): string {
  return toBase62(
    createHash("sha256")
      .update(PREFIX + secret)
      .digest()
      .subarray(0, 4),
    CHECKSUM_CHARACTERS,
  );
}

function toBase62(bytes: Uint8Array, characters: number): string {
  let rest = 0n;
  for (const byte of bytes) rest = (rest << 8n) | BigInt(byte);
  let text = "";
  for (let left = characters; left > 0; left -= 1) {
    text = (ALPHABET[Number(rest % 62n)] as string) + text;
    rest /= 62n;
  }
  return text;
}
