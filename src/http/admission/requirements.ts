import { type BucketState, type RateState } from "../../../db/accounts/rates.ts";
import { getKeptBytes, keptBytesMax } from "../../../db/executions/kept-bytes.ts";
import { chargeMax, type MicroCredits, microCredits, toCredits } from "../../../domain/credits.ts";
import type { AccountId, ExecutionId } from "../../../domain/ids.ts";
import { limitsWithin } from "../../../domain/manifest/bounds.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { formatSize } from "../../../domain/manifest/sizes.ts";
import type { WaitingCalls } from "../../executions/waiting-calls.ts";
import type { Authenticated } from "../auth/authenticate.ts";
import { rateLimited } from "../auth/rates.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";

/** 503 when this host has more programs of the account waiting than it will get to soon, or no room for the outputs of one. */
export function requireCapacity(deps: Pick<AppDeps, "executions">, accountId: AccountId): void {
  const { accepting, reason, retryAfterSeconds } = deps.executions.capacity(accountId);
  if (!accepting) throw noCapacity(reason ?? "No more executions can be taken just now.", retryAfterSeconds);
}

/** Such a fault does not pass by itself: the operator has to mend it. */
const MENDED_AFTER_SECONDS = 30;

/** 503 when this host lacks what every program of the commit needs: isolation, a network, an interpreter, packages. */
export function requireHost(
  { executions }: Pick<AppDeps, "executions">,
  commit: Pick<Authenticated, "manifest" | "workflowId" | "commitId">,
): void {
  const problem = executions.hostProblem?.(commit);
  if (problem !== undefined) throw noCapacity(problem, MENDED_AFTER_SECONDS);
}

/** A place among the calls that wait, and how to give it back; 503 when there is none for this account. */
export function requirePlace(
  deps: Pick<AppDeps, "executions">,
  places: WaitingCalls,
  accountId: AccountId,
): () => void {
  const leave = places.enter(accountId);
  if (leave !== undefined) return leave;
  throw noCapacity(
    "No more calls can wait here just now (with Prefer: respond-async none has to).",
    deps.executions.capacity(accountId).retryAfterSeconds,
  );
}

function noCapacity(reason: string, retryAfterSeconds: number): ApiError {
  return new ApiError(
    "no_capacity",
    `${reason} Nothing was started or charged; try again in ${retryAfterSeconds} seconds.`,
    {},
    { "Retry-After": String(retryAfterSeconds) },
  );
}

/** 429 when a limit lets nothing through just now: advice before anything is read; the record decides. */
export function requireRate(state: RateState, contact: string | undefined): void {
  const isEmpty = (limit: BucketState | null): boolean => limit?.remaining === 0;
  if (isEmpty(state.key) || isEmpty(state.account)) throw rateLimited(state, contact);
}

/** What an execution of a commit gets here of the time and the cores that its manifest asks for. */
export function limitsHere({ editor }: Pick<AppDeps, "editor">, { limits }: Manifest) {
  return limitsWithin(limits, editor.abilities.bounds?.());
}

/** The most that the first slice of an attempt of this commit can cost: what is held for an execution when it begins. */
export function costAtMost(deps: Pick<AppDeps, "prices" | "editor">, manifest: Manifest): MicroCredits {
  return chargeMax(limitsHere(deps, manifest), deps.prices);
}

/** 402 when the account cannot pay the most it may cost: advice before anything is stored; the reservation decides. */
export function requireCredits(deps: AppDeps, { manifest, available }: Authenticated): void {
  const needed = costAtMost(deps, manifest);
  if (available < needed) throw insufficientCredits(deps, { needed, available: microCredits(available) });
}

/** A full account can still mend a workflow, pause its schedule or keep its files for a shorter time: all of these are commits. */
const COMMITS_SHARE = 1.1;

/**
 * 507 when the account keeps as many bytes as it may, times `share`. What is under way may end meanwhile, so the bound may be
 * exceeded by that.
 */
export function requireStorage(
  deps: Pick<AppDeps, "keptBytesMax"> & Partial<Pick<AppDeps, "contact">>,
  { kept }: Pick<Authenticated, "kept">,
  share = 1,
): void {
  const agreed = keptBytesMax(kept, deps.keptBytesMax);
  const allowed = agreed && Math.floor(agreed * share);
  if (allowed === undefined || kept.bytes < allowed) return;
  throw new ApiError(
    "storage_full",
    `The account keeps ${formatSize(kept.bytes)} of files, logs, commits and drafts, and may keep ${formatSize(allowed)}. Nothing was started or committed. Wait until old files are removed, or ask ${deps.contact ?? "the operator"} for more.`,
    { kept: kept.bytes, allowed },
  );
}

/** 507 when the account keeps a tenth more than it may: what is committed may take that. */
export async function requireStorageForCommit(
  deps: Pick<AppDeps, "db" | "keptBytesMax"> & Partial<Pick<AppDeps, "contact">>,
  accountId: AccountId,
): Promise<void> {
  requireStorage(deps, { kept: await getKeptBytes(deps.db, accountId) }, COMMITS_SHARE);
}

export function insufficientCredits(
  deps: Pick<AppDeps, "contact">,
  amounts: { needed: MicroCredits; available: MicroCredits; executionId?: ExecutionId },
): ApiError {
  const needed = toCredits(amounts.needed);
  const available = toCredits(amounts.available);
  const contact = deps.contact === undefined ? "" : ` Ask ${deps.contact}.`;
  const message = `This execution needs ${needed} credits to begin, and the account has ${available} available. Top up the account, or lower the workflow's time-out or cpu.${contact}`;
  return new ApiError("insufficient_credits", message, {
    needed,
    available,
    ...(amounts.executionId === undefined ? {} : { executionId: amounts.executionId }),
  });
}
