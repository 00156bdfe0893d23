import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";

/** Layout of a box: version, nonce, ciphertext, tag. A new way of sealing gets a new version; old boxes stay readable. */
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** Encrypts what must be read again: API keys for display, secret inputs of executions. Signs what we hand out to be brought back. */
export interface SecretBox {
  /** `context` is the id of what the secret belongs to: a workflow for its key, an execution for its inputs. */
  seal(plain: string | Buffer, context: string): Buffer;
  /** Throws when the box was not sealed with this key for this very context, or was changed since. */
  open(box: Buffer, context: string): Buffer;
  /** A signature that only this installation can make: 43 characters that need no escaping in an address. */
  sign(text: string): string;
  isSignature(text: string, signature: string): boolean;
}

/**
 * AES-256-GCM under a key derived from the installation's 32 bytes. The context is authenticated, so that a box copied
 * from another row opens nothing. Nonces are random: safe for 2^32 boxes under one key.
 */
export function createSecretBox(masterKey: Buffer): SecretBox {
  if (masterKey.length !== KEY_BYTES)
    throw new RangeError(`The master key has ${masterKey.length} bytes instead of ${KEY_BYTES}.`);
  const key = Buffer.from(hkdfSync("sha256", masterKey, "", "treadle secret box 1", KEY_BYTES));
  const signingKey = Buffer.from(hkdfSync("sha256", masterKey, "", "treadle signatures 1", KEY_BYTES));
  const sign = (text: string): string => createHmac("sha256", signingKey).update(text).digest("base64url");
  return {
    sign,
    isSignature(text, signature) {
      // As texts: base64 in other letters can stand for the same bytes.
      const [given, right] = [Buffer.from(signature), Buffer.from(sign(text))];
      return given.length === right.length && timingSafeEqual(given, right);
    },
    seal(plain, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([
        typeof plain === "string" ? cipher.update(plain, "utf8") : cipher.update(plain),
        cipher.final(),
      ]);
      return Buffer.concat([Buffer.of(VERSION), nonce, sealed, cipher.getAuthTag()]);
    },
    open(box, context) {
      if (box[0] !== VERSION || box.length < 1 + NONCE_BYTES + TAG_BYTES) {
        throw new Error("This is not a sealed secret of a version that this service can open.");
      }
      const nonce = box.subarray(1, 1 + NONCE_BYTES);
      const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES }).setAAD(
        Buffer.from(context),
      );
      decipher.setAuthTag(box.subarray(-TAG_BYTES));
      try {
        return Buffer.concat([decipher.update(box.subarray(1 + NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
      } catch (error) {
        throw new Error("A secret cannot be opened: it was sealed with another master key, or changed.", {
          cause: error,
        });
      }
    },
  };
}
