import type { Checkouts } from "../activities/commits/checkout.ts";
import type { Environments } from "../activities/environments/builder.ts";
import { listHeads } from "../db/commits.ts";
import type { Db } from "../db/connect.ts";
import type { Log } from "./log.ts";

const INTERVAL_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** What is built again within seconds or minutes when it is needed after all. */
const ENVIRONMENTS = { bytesMax: 20 * 1024 ** 3, unusedForMs: 30 * DAY_MS };
const CHECKOUTS = { bytesMax: 5 * 1024 ** 3, unusedForMs: 7 * DAY_MS };

/** Removes environments and checkouts that nobody has used for long, every hour. What heads of workflows need stays. */
export function startPruning(deps: { db: Db; environments: Environments; checkouts: Checkouts; log: Log }): {
  close(): void;
} {
  const timer = setInterval(() => {
    prune(deps).catch((error: unknown) =>
      deps.log.warn({ event: "fault", error }, "Old environments could not be removed."),
    );
  }, INTERVAL_MS).unref();
  return { close: () => clearInterval(timer) };
}

async function prune({ db, environments, checkouts }: Parameters<typeof startPruning>[0]): Promise<void> {
  const heads = await listHeads(db);
  const inUse = new Set(heads.flatMap((head) => (head.environmentKey === null ? [] : [head.environmentKey])));
  await environments.prune({ ...ENVIRONMENTS, inUse });
  await checkouts.prune({ ...CHECKOUTS, inUse: heads });
}
