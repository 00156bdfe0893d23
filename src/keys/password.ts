import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

/** OWASP's first choice: 128 MiB and about 0.4 s a hash. */
const COST = { N: 2 ** 17, r: 8, p: 1 } as const;
const HASH_BYTES = 32;
const SALT_BYTES = 16;
const MEMORY_BYTES_MAX = 256 * 1024 * 1024;
/** At 128 MiB each, more at once would be a way to use up the machine's memory. */
const CONCURRENT_MAX = 2;
/** Guesses of strangers that wait for their turn: about 4 s of work. */
const WAITING_MAX = 20;
const STORED = /^scrypt\$(\d{1,8})\$(\d{1,2})\$(\d{1,2})\$([0-9a-f]{32})\$([0-9a-f]{64})$/;

/** As many guesses are being checked as may wait. The same call may succeed a little later. */
export class PasswordQueueFullError extends Error {
  override readonly name = "PasswordQueueFullError";
}

interface Cost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

/** A salted hash to keep: `scrypt$N$r$p$salt$hash`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, salt, { cost: COST, isKnown: true });
  return ["scrypt", COST.N, COST.r, COST.p, salt.toString("hex"), hash.toString("hex")].join("$");
}

/**
 * Whether the password belongs to the stored hash. Takes the same time for an unknown user (`stored` undefined) as for a
 * wrong password. `outdated`: the hash was made with other parameters and should be made anew. Those that are known come
 * before strangers; a stranger for whom there is no room gets a `PasswordQueueFullError`.
 */
export async function verifyPassword(
  password: string,
  stored: string | undefined,
  { isKnown = true }: { isKnown?: boolean } = {},
): Promise<{ valid: boolean; outdated: boolean }> {
  const match = STORED.exec(stored ?? "");
  if (match === null) {
    await derive(password, randomBytes(SALT_BYTES), { cost: COST, isKnown });
    return { valid: false, outdated: false };
  }
  const [, n, r, p, salt, expected] = match as unknown as [string, string, string, string, string, string];
  const cost = { N: Number(n), r: Number(r), p: Number(p) };
  const hash = await derive(password, Buffer.from(salt, "hex"), { cost, isKnown });
  const valid = timingSafeEqual(hash, Buffer.from(expected, "hex"));
  return { valid, outdated: cost.N !== COST.N || cost.r !== COST.r || cost.p !== COST.p };
}

let running = 0;
const [known, strangers]: [(() => void)[], (() => void)[]] = [[], []];

async function derive(
  password: string,
  salt: Buffer,
  { cost, isKnown }: { cost: Cost; isKnown: boolean },
): Promise<Buffer> {
  if (running < CONCURRENT_MAX) running += 1;
  else {
    if (!isKnown && strangers.length >= WAITING_MAX) throw new PasswordQueueFullError("Too many passwords to check.");
    await new Promise<void>((resolve) => (isKnown ? known : strangers).push(resolve));
  }
  try {
    return await new Promise<Buffer>((resolve, reject) => {
      // Two ways to type the same accented letter are one password.
      scrypt(password.normalize("NFKC"), salt, HASH_BYTES, { ...cost, maxmem: MEMORY_BYTES_MAX }, (error, hash) => {
        if (error === null) resolve(hash);
        else reject(error);
      });
    });
  } finally {
    const next = known.shift() ?? strangers.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}
