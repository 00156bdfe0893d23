import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { createGzip } from "node:zlib";
import {
  addArchive,
  type EnvironmentArchive,
  findArchive,
  listUnusedArchives,
  removeArchive,
} from "../db/commits/environment-archives.ts";
import type { Db } from "../db/connect.ts";
import { giveLease, takeLease } from "../db/leases.ts";
import type { Storage } from "../storage/storage.ts";
import type { EnvironmentKey } from "./lock.ts";

/** So long another host is waited for that has died while it made an environment. */
const LEASE_SECONDS = 30;
const RENEW_MS = 10_000;
/** Adds little to the seconds that an environment takes. */
const LOOK_AGAIN_MS = 300;
/** Code packs well at any level, and the first one takes a third of the time of the usual one. */
const GZIP_LEVEL = 1;
const REMOVED_AT_ONCE_MAX = 100;

/** The right to make an environment, which one host has at a time; or what another one has made of it. */
export interface ArchiveTurn {
  /** What is in storage now. */
  readonly archive: EnvironmentArchive | undefined;
  /** Lets other hosts have the turn. */
  end(): Promise<void>;
}

/** Environments that hosts share through storage, so that each is built once. */
export interface EnvironmentArchives {
  /** Waits until no other host makes this environment. */
  takeTurn(key: EnvironmentKey, report: (line: string) => void): Promise<ArchiveTurn>;
  /** Returns the archive as a file in `dir`. Throws a `DamagedArchiveError`. */
  download(archive: EnvironmentArchive, dir: string): Promise<string>;
  /** Packs a finished environment, without what each host makes by itself, and puts it into storage. */
  keep(key: EnvironmentKey, path: string, leftOut: Iterable<string>): Promise<void>;
  /** Removes an archive that is of no use. */
  remove(archive: Pick<EnvironmentArchive, "object">): Promise<void>;
  /** Removes archives that no host has used for so many days. Returns how many. */
  prune(days: number): Promise<number>;
}

/** The object is not what was put into storage. */
export class DamagedArchiveError extends Error {
  override readonly name = "DamagedArchiveError";
}

export function createEnvironmentArchives({ db, storage }: { db: Db; storage: Storage }): EnvironmentArchives {
  async function remove({ object }: Pick<EnvironmentArchive, "object">): Promise<void> {
    await storage.delete(object);
    await removeArchive(db, object);
  }

  return {
    async takeTurn(key, report) {
      const lease = { name: `environment ${key}`, holder: randomUUID() };
      const take = (): Promise<boolean> =>
        takeLease(db, { name: lease.name, holder: lease.holder, seconds: LEASE_SECONDS });
      for (let isFirst = true; !(await take()); isFirst = false) {
        if (isFirst) report("Another host is making this environment.");
        await sleep(LOOK_AGAIN_MS);
      }
      const renewing = setInterval(() => {
        take().catch(() => {}); // a database that is away is asked again; at worst two hosts make the same
      }, RENEW_MS).unref();
      const end = async (): Promise<void> => {
        clearInterval(renewing);
        await giveLease(db, lease);
      };
      try {
        return { archive: await findArchive(db, key), end };
      } catch (error) {
        await end().catch(() => {});
        throw error;
      }
    },

    async download({ object, sha256 }, dir) {
      const path = await storage.localFile(object, join(dir, "archive"));
      const hash = createHash("sha256");
      await pipeline(createReadStream(path), hash);
      if (hash.digest("hex") !== sha256) throw new DamagedArchiveError(`${object} is not what was put into storage.`);
      await chmod(path, 0o644);
      return path;
    },

    async keep(key, path, leftOut) {
      const object = `environments/${key}/${randomUUID()}.tar.gz`;
      const gzip = createGzip({ level: GZIP_LEVEL });
      const packing = pipeline(Readable.from(packed(path, leftOut)), gzip);
      const [{ bytes, sha256 }] = await Promise.all([storage.put(object, gzip), packing]);
      if (!(await addArchive(db, { environmentKey: key, object, bytes, sha256 }))) await storage.delete(object);
    },

    remove,

    async prune(days) {
      const objects = await listUnusedArchives(db, days, REMOVED_AT_ONCE_MAX);
      for (const object of objects) await remove({ object });
      return objects.length;
    },
  };
}

/** What `tar` writes of a folder. Throws where it did not reach the end. */
async function* packed(path: string, leftOut: Iterable<string>): AsyncGenerator<Buffer> {
  const excluded = Array.from(leftOut, (name) => `--exclude=./${name}`);
  const args = [
    "--create",
    "--hard-dereference",
    "--anchored",
    "--no-wildcards",
    ...excluded,
    "--directory",
    path,
    ".",
  ];
  const child = spawn("tar", args, { stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise<number | null>((resolve, reject) => child.once("error", reject).once("close", resolve));
  ended.catch(() => {}); // is thrown below
  yield* child.stdout;
  const code = await ended;
  if (code !== 0) throw new Error(`The environment at ${path} could not be packed: tar ended with ${code}.`);
}
