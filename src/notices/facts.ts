import type { Db } from "../../db/connect.ts";
import type { Notice } from "../../db/notices/notices.ts";
import {
  findLastGood,
  findToldRun,
  findWorkflowName,
  type GivenInputs,
  type ToldRun,
} from "../../db/notices/told-runs.ts";
import { listUnstartedNames } from "../../db/schedules/ticks.ts";
import { toStableJson } from "../../domain/manifest/json-values.ts";
import { MAIN_SCHEDULE } from "../../domain/schedules/names.ts";
import type { Storage } from "../../storage/storage.ts";
import { readLogEnd } from "./log-end.ts";

/** Of a value, in characters. */
const VALUE_CHARACTERS_MAX = 200;
const CHANGES_MAX = 20;
const MINUTE_MS = 60_000;

/** An input that differs from the last good run; null where one of the two had none. */
interface InputDifference {
  readonly name: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** What is other than at the last good run. */
export interface Changed {
  readonly since: { readonly executionId: string; readonly finishedAt: Date | null };
  /** Null: it was the same commit. */
  readonly commit: { readonly before: string; readonly after: string; readonly message: string } | null;
  readonly inputs: readonly InputDifference[];
}

/** All that a message says, in no shape yet. */
export interface NoticeFacts {
  readonly notice: Notice;
  /** Null for a test, and for what is of a place. */
  readonly workflowName: string | null;
  /** Null where there is none, or it is not on record any more. */
  readonly run: ToldRun | null;
  /** The last lines of its log; empty where nothing failed. */
  readonly log: readonly string[];
  /** Null where there was no good run before, or nothing failed. */
  readonly changed: Changed | null;
  /** The command that does again what failed, or has a place used again; null where nothing is to be done. */
  readonly runAgain: string | null;
  /** The page of the run, the workflow or the places; null where the operator has set no public URL. */
  readonly url: string | null;
}

/** Reads what a notice tells of. Secret inputs are in no part of it. */
export async function findNoticeFacts(
  deps: { readonly db: Db; readonly storage: Pick<Storage, "get" | "head">; readonly publicUrl: string | null },
  notice: Notice,
): Promise<NoticeFacts> {
  const { db, storage, publicUrl } = deps;
  const { kind, workflowId, executionId } = notice;
  const workflowName = workflowId === null ? null : ((await findWorkflowName(db, workflowId)) ?? workflowId);
  const run = executionId === null ? null : ((await findToldRun(db, executionId)) ?? null);
  const good = kind === "failure" && run !== null ? await findLastGood(db, run.id) : undefined;
  const base = publicUrl?.replace(/\/+$/, "");
  return {
    notice,
    workflowName,
    run,
    log: kind === "failure" && run?.logKey ? await readLogEnd(storage, run.logKey) : [],
    changed: good === undefined || run === null ? null : findChanges(good, run),
    runAgain: kind === "missed" ? await toBackfill(db, notice) : toCommand(notice, run),
    url: base === undefined ? null : `${base}${toPath(notice, run)}`,
  };
}

function findChanges(good: ToldRun, run: ToldRun): Changed {
  const commit =
    good.commitId === run.commitId
      ? null
      : { before: good.commitId, after: run.commitId, message: run.commitMessage.split("\n")[0] ?? "" };
  const since = { executionId: good.id, finishedAt: good.finishedAt };
  return { since, commit, inputs: findDifferences(good, run).slice(0, CHANGES_MAX) };
}

function findDifferences(good: GivenInputs, run: GivenInputs): InputDifference[] {
  const names = [
    ...new Set([good, run].flatMap(({ inputs, files }) => [...Object.keys(inputs), ...Object.keys(files)])),
  ];
  return names.sort().flatMap((name) => {
    const [one, other] = [good, run].map((given) => toComparable(given, name));
    if (one === other) return [];
    return [{ name, before: toShown(good, name), after: toShown(run, name) }];
  });
}

function toComparable({ inputs, files }: GivenInputs, name: string): string {
  return toStableJson([inputs[name] ?? null, files[name] ?? null] as never);
}

function toShown({ inputs, files }: GivenInputs, name: string): string | null {
  const value = files[name]?.map(({ fileName, sha256 }) => `${fileName} (${sha256.slice(0, 8)})`) ?? inputs[name];
  if (value === undefined) return null;
  const text = JSON.stringify(value);
  return text.length > VALUE_CHARACTERS_MAX ? `${text.slice(0, VALUE_CHARACTERS_MAX)}…` : text;
}

function toPath({ workflowId }: Notice, run: ToldRun | null): string {
  if (run !== null) return `/executions/${run.id}`;
  return workflowId === null ? "/account/notices" : `/workflows/${workflowId}`;
}

/** Secrets have to be given again. */
function toCommand({ kind, reason }: Notice, run: ToldRun | null): string | null {
  if (kind === "disabled") return `treadle notify change ${reason}`;
  if (kind !== "failure" || run === null) return null;
  const secrets = run.hasSecrets ? run.secretNames.map((name) => ` -i ${name}=SECRET`).join("") : "";
  return `treadle executions rerun ${run.id}${secrets}`;
}

/** A command for each schedule of the workflow that was due then. */
async function toBackfill(db: Db, { workflowId, nominalAt }: Notice): Promise<string | null> {
  if (workflowId === null || nominalAt === null) return null;
  const period = `--from ${nominalAt.toISOString()} --to ${new Date(nominalAt.getTime() + MINUTE_MS).toISOString()}`;
  const names = await listUnstartedNames(db, workflowId, nominalAt);
  return (names.length === 0 ? [MAIN_SCHEDULE] : names)
    .map((name) => (name === MAIN_SCHEDULE ? "" : ` --schedule ${name}`))
    .map((schedule) => `treadle schedules backfill ${workflowId}${schedule} ${period}`)
    .join(" && ");
}
