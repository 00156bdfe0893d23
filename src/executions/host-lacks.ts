import type { RunCommit } from "../../activities/lead.ts";
import { findHostProblem, type HostAbilities } from "../../activities/program.ts";
import type { HostLacks, HostPrograms } from "../../db/executions/hosts.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import type { CommitEnvironments } from "../../environments/commit-environments.ts";
import { findScratchLack, type ScratchDisks } from "./scratch-disks.ts";

/** More are found out when they are run. */
const COMMITS_MAX = 100;

/** What programs lack on this host. */
export interface OwnLacks {
  /** Returns why no program of a commit can begin here; undefined when it can. */
  problemOf(commit: RunCommit): string | undefined;
  /** Whether there is anything that a program might need and not find. */
  hasAny(): boolean;
  /** Returns why no program can have a network here; undefined when one can. */
  networkProblem(): string | undefined;
  /** Returns why no program can have scratch folders on disk here; undefined when one can. */
  scratchProblem(): string | undefined;
  /** Returns all of it, for processes that only answer callers. */
  list(): HostLacks;
}

export interface OwnAbilities extends HostAbilities {
  readonly commitEnvironments: CommitEnvironments;
  readonly scratch: ScratchDisks;
}

/** Returns what is asked for what programs lack on this host; undefined stands for programs that need nothing of it. */
export function createHostLacks(abilities: OwnAbilities | undefined): OwnLacks {
  return {
    problemOf({ manifest, workflowId, commitId }) {
      if (abilities === undefined) return undefined;
      const ofCommit = abilities.commitEnvironments.problemOf(workflowId, commitId);
      return findHostProblem(abilities, manifest) ?? (ofCommit?.isBeingMade === false ? ofCommit.reason : undefined);
    },
    hasAny() {
      if (abilities === undefined) return false;
      const { isolationProblems, networkProblem, commitEnvironments, scratch } = abilities;
      if (isolationProblems.length > 0 || networkProblem() !== undefined) return true;
      return scratch.problemOf(scratch.ceiling) !== undefined || commitEnvironments.problems().length > 0;
    },
    networkProblem: () => abilities?.networkProblem(),
    scratchProblem: () => abilities?.scratch.problem,
    list: () => ({
      isolationProblems: abilities?.isolationProblems ?? [],
      networkProblem: abilities?.networkProblem() ?? null,
      scratchProblem: abilities?.scratch.problem ?? null,
      scratchBytesMax: abilities?.scratch.bytesMax(),
      commits: (abilities?.commitEnvironments.problems() ?? [])
        .filter(({ isBeingMade }) => !isBeingMade)
        .slice(0, COMMITS_MAX)
        .map(({ workflowId, commitId, reason }) => ({ workflowId, commitId, reason })),
    }),
  };
}

/** Returns why no program of a commit can begin on a host that lacks something; undefined when it can. */
export function findLack(
  { lacks, offers }: Pick<HostPrograms, "lacks" | "offers">,
  { manifest, workflowId, commitId }: RunCommit,
): string | undefined {
  const networkProblem = (): string | undefined => lacks.networkProblem ?? undefined;
  const ofCommit = lacks.commits.find((each) => each.commitId === commitId && each.workflowId === workflowId);
  const scratchProblem = (bytes: number): string | undefined => {
    const { scratchProblem: problem = "Its version has no disks for scratch folders.", scratchBytesMax } = lacks;
    return problem ?? findScratchLack(bytes, scratchBytesMax);
  };
  const problem = findHostProblem({ ...lacks, networkProblem, scratchProblem }, manifest);
  return problem ?? findPythonProblem(offers, manifest) ?? ofCommit?.reason;
}

function findPythonProblem(
  { pythons }: Pick<HostPrograms["offers"], "pythons">,
  { python }: Pick<Manifest, "python">,
): string | undefined {
  if (python === null || pythons.includes(python)) return undefined;
  return `This workflow needs Python ${python} (python), and this host has ${pythons.join(", ")}.`;
}
