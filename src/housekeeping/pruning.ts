import { listHeads } from "../../db/commits/commits.ts";
import type { Db } from "../../db/connect.ts";
import type { EnvironmentArchives } from "../../environments/archives.ts";
import type { Environments } from "../../environments/builder.ts";
import type { Checkouts } from "../../environments/checkout.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { type Repeating, repeat } from "../../system/repeating.ts";
import type { Log } from "../log.ts";

/** Environments of many publishes one after the other could fill a disk within an hour. */
const INTERVAL_MS = 600_000;
const DAY_MS = 86_400_000;
/** What is built again within seconds or minutes when it is needed after all. */
const ENVIRONMENTS = { bytesMax: 20 * 1024 ** 3, unusedForMs: 30 * DAY_MS };
const ARCHIVES_UNUSED_DAYS = 30;
const CHECKOUTS = { bytesMax: 5 * 1024 ** 3, unusedForMs: 7 * DAY_MS };

export interface PruningDeps {
  readonly db: Db;
  readonly sandbox: Pick<Sandbox, "usedFolders">;
  readonly environments: Pick<Environments, "prune">;
  /** Of environments in storage, where hosts share them. */
  readonly archives?: Pick<EnvironmentArchives, "prune"> | undefined;
  readonly checkouts: Pick<Checkouts, "prune">;
  readonly log: Log;
}

/** Removes environments and checkouts that nobody has used for long, every ten minutes; see `prune`. Not during the start, which is to be quick. */
export function startPruning(deps: PruningDeps): Repeating {
  return repeat(() => prune(deps), {
    everyMs: INTERVAL_MS,
    first: "later",
    onError: (error) => deps.log.warn({ event: "fault", error }, "Old environments could not be removed."),
  });
}

/** What heads of workflows need stays, and what executions and lanes have before them. */
export async function prune({
  db,
  sandbox,
  environments,
  archives,
  checkouts,
}: Omit<PruningDeps, "log">): Promise<void> {
  const heads = await listHeads(db);
  const inUse = new Set(heads.flatMap((head) => head.environmentKeys));
  const isBusy = (path: string): boolean => sandbox.usedFolders().has(path);
  await environments.prune({ ...ENVIRONMENTS, inUse, isBusy });
  await archives?.prune(ARCHIVES_UNUSED_DAYS);
  await checkouts.prune({ ...CHECKOUTS, inUse: heads, isBusy });
}
