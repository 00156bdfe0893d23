import { NoSuchObjectError } from "../storage/storage.ts";
import { DamagedArchiveError, type EnvironmentArchives } from "./archives.ts";
import { EnvironmentError } from "./build-steps.ts";
import { partsOfHost } from "./installer.ts";
import type { EnvironmentKey, Python } from "./lock.ts";

interface SharingSettings {
  readonly archives?: EnvironmentArchives | undefined;
  readonly log: { warn(facts: object, message: string): void };
}

interface Shared {
  readonly key: EnvironmentKey;
  /** Where the finished environment is. */
  readonly path: string;
  readonly python: Python;
  readonly report: (line: string) => void;
}

/** The two ways to an environment. */
interface Ways {
  build(): Promise<void>;
  unpack(download: (dir: string) => Promise<string>): Promise<void>;
}

/**
 * Makes an environment from what another host has put into storage; else builds it, and puts it there when its callers
 * have it. Where storage or database fail, it is built as if there were no other host.
 */
export async function shareEnvironment({ archives, log }: SharingSettings, shared: Shared, ways: Ways): Promise<void> {
  if (archives === undefined) return ways.build();
  const { key } = shared;
  const warn = (error: unknown, message: string): void =>
    log.warn({ event: "fault", environment: key, error }, message);
  const turn = await archives.takeTurn(key, shared.report).catch((error: unknown) => {
    warn(error, "It is not known whether another host has made an environment.");
    return undefined;
  });
  const endTurn = (): void => {
    turn?.end().catch(() => {}); // it runs out by itself
  };
  const archive = turn?.archive;
  if (archive !== undefined) {
    try {
      await ways.unpack((dir) => archives.download(archive, dir));
      return endTurn();
    } catch (error) {
      if (isDamage(error)) await archives.remove(archive).catch(() => {});
      else if (error instanceof EnvironmentError) {
        endTurn();
        throw error;
      }
      warn(error, "An environment could not be had from storage. It is built here.");
    }
  }
  try {
    await ways.build();
  } catch (error) {
    endTurn();
    throw error;
  }
  archives
    .keep(key, shared.path, partsOfHost(shared.python))
    .catch((error: unknown) =>
      warn(error, "An environment could not be put into storage. Other hosts build their own."),
    )
    .finally(endTurn);
}

function isDamage(error: unknown): boolean {
  if (error instanceof EnvironmentError) return error.kind === "refused";
  return error instanceof DamagedArchiveError || error instanceof NoSuchObjectError;
}
