import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

/** OWASP's first choice: 128 MB and about 0.4 s a hash. */
const COST = { N: 2 ** 17, r: 8, p: 1 } as const;
const HASH_BYTES = 32;
const SALT_BYTES = 16;
const MEMORY_BYTES_MAX = 256 * 1024 * 1024;
/** At 128 MB each, more at once would be a way to use up the machine's memory. */
const CONCURRENT_MAX = 2;
const STORED = /^scrypt\$(\d{1,8})\$(\d{1,2})\$(\d{1,2})\$([0-9a-f]{32})\$([0-9a-f]{64})$/;

interface Cost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

/** A salted hash to keep: `scrypt$N$r$p$salt$hash`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, salt, COST);
  return ["scrypt", COST.N, COST.r, COST.p, salt.toString("hex"), hash.toString("hex")].join("$");
}

/**
 * Whether the password belongs to the stored hash. Takes the same time for an unknown user (`stored` undefined) as for a
 * wrong password. `outdated`: the hash was made with other parameters and should be made anew.
 */
export async function verifyPassword(
  password: string,
  stored: string | undefined,
): Promise<{ valid: boolean; outdated: boolean }> {
  const match = STORED.exec(stored ?? "");
  if (match === null) {
    await derive(password, randomBytes(SALT_BYTES), COST);
    return { valid: false, outdated: false };
  }
  const [, n, r, p, salt, expected] = match as unknown as [string, string, string, string, string, string];
  const cost = { N: Number(n), r: Number(r), p: Number(p) };
  const hash = await derive(password, Buffer.from(salt, "hex"), cost);
  const valid = timingSafeEqual(hash, Buffer.from(expected, "hex"));
  return { valid, outdated: cost.N !== COST.N || cost.r !== COST.r || cost.p !== COST.p };
}

let running = 0;
const queue: (() => void)[] = [];

async function derive(password: string, salt: Buffer, cost: Cost): Promise<Buffer> {
  if (running >= CONCURRENT_MAX) await new Promise<void>((resolve) => queue.push(resolve));
  else running += 1;
  try {
    return await new Promise<Buffer>((resolve, reject) => {
      // Two ways to type the same accented letter are one password.
      scrypt(password.normalize("NFKC"), salt, HASH_BYTES, { ...cost, maxmem: MEMORY_BYTES_MAX }, (error, hash) => {
        if (error === null) resolve(hash);
        else reject(error);
      });
    });
  } finally {
    const next = queue.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}
