import type { LedExecution } from "../../activities/lead.ts";
import type { PassOn } from "../../activities/passing-on.ts";
import { findCommit } from "../../db/commits/commits.ts";
import type { Db } from "../../db/connect.ts";
import { findExecution } from "../../db/executions/executions.ts";
import { type HostRow, listHosts } from "../../db/executions/hosts.ts";
import { offerExecution } from "../../db/executions/offers.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import { findLack, type HostedCommit, type OwnLacks } from "./host-lacks.ts";

/**
 * Returns what offers executions to other hosts: those whose programs lack something here, such as a network or an interpreter,
 * that another host has. It gets the one with the most free slots. Costs nothing on a host that lacks nothing.
 */
export function createPassOn({ db, hostId, lacks }: { db: Db; hostId: string; lacks: OwnLacks | undefined }): PassOn {
  async function offer({ executionId, accountId }: LedExecution): Promise<boolean> {
    if (lacks === undefined) return false;
    const { workflowId, commitId } = (await findExecution(db, executionId)) ?? {};
    if (workflowId === undefined || commitId === undefined) return false;
    const commit = await findCommit(db, workflowId, commitId);
    if (commit === undefined) return false;
    const hosted = { manifest: commit.manifest as Manifest, workflowId, commitId };
    if (lacks.problemOf(hosted) === undefined) return false;
    const able = (await listHosts(db)).filter((host) => host.hostId !== hostId && canBegin(host, hosted));
    const [first] = able.toSorted((one, other) => countFree(other) - countFree(one));
    if (first === undefined) return false;
    await offerExecution(db, { executionId, accountId, hostId: first.hostId });
    return true;
  }
  return { isWanted: () => lacks?.hasAny() === true, offer };
}

function canBegin({ present, draining, programs }: HostRow, commit: HostedCommit): boolean {
  return present && !draining && programs !== null && findLack(programs.lacks, commit) === undefined;
}

function countFree({ programs }: HostRow): number {
  return programs === null ? 0 : programs.slots - programs.running - programs.waiting;
}
