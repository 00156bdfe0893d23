import type { LedExecution, RunCommit } from "../../activities/lead.ts";
import type { PassOn } from "../../activities/passing-on.ts";
import { findCommit } from "../../db/commits/commits.ts";
import type { Db } from "../../db/connect.ts";
import { findExecution } from "../../db/executions/executions.ts";
import { type HostCeilings, type HostPrograms, type HostRow, listHosts } from "../../db/executions/hosts.ts";
import { offerExecution } from "../../db/executions/offers.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import { type CeilingsWatch, findHighest, givesMost } from "./ceilings.ts";
import { findLack, type OwnLacks } from "./host-lacks.ts";

type RunningHost = HostRow & { readonly programs: HostPrograms };

interface PassingOnDeps {
  readonly db: Db;
  readonly hostId: string;
  /** What programs lack here; undefined in a process that runs none. */
  readonly lacks: OwnLacks | undefined;
  /** The most that one program gets here. */
  readonly ceilings: HostCeilings;
  readonly others: Pick<CeilingsWatch, "areHigher"> | undefined;
}

/**
 * Returns what offers executions to other hosts. It offers those whose programs lack something here that another host has, such
 * as a network or an interpreter. So it does with those that get more of what they ask for there. The host with the most free
 * slots gets them. Costs nothing where nothing lacks.
 */
export function createPassOn({ db, hostId, lacks, ceilings, others }: PassingOnDeps): PassOn {
  async function offer({ executionId, accountId }: LedExecution): Promise<boolean> {
    if (lacks === undefined) return false;
    const { workflowId, commitId } = (await findExecution(db, executionId)) ?? {};
    if (workflowId === undefined || commitId === undefined) return false;
    const commit = await findCommit(db, workflowId, commitId);
    if (commit === undefined) return false;
    const hosted = { manifest: commit.manifest as Manifest, workflowId, commitId };
    const { limits } = hosted.manifest;
    const isLacking = lacks.problemOf(hosted) !== undefined;
    if (!isLacking && others?.areHigher() !== true) return false;
    const able = (await listHosts(db)).filter(
      (host): host is RunningHost => host.hostId !== hostId && canBegin(host, hosted),
    );
    const highest = findHighest(able);
    if (!isLacking && (highest === undefined || givesMost({ ceilings }, limits, highest))) return false;
    const [first] = able
      .filter(({ programs }) => givesMost(programs.offers, limits, highest))
      .toSorted((one, other) => countFree(other) - countFree(one));
    if (first === undefined) return false;
    await offerExecution(db, { executionId, accountId, hostId: first.hostId });
    return true;
  }
  return { isWanted: () => lacks !== undefined && (lacks.hasAny() || others?.areHigher() === true), offer };
}

function canBegin({ present, draining, programs }: HostRow, commit: RunCommit): boolean {
  return present && !draining && programs !== null && findLack(programs, commit) === undefined;
}

function countFree({ programs }: RunningHost): number {
  return programs.slots - programs.running - programs.waiting;
}
