import { isDeepStrictEqual } from "node:util";
import type { Db } from "../../db/connect.ts";
import { listRecentCalls, type RecentCall } from "../../db/executions/recent-calls.ts";
import type { InputProblem } from "../../domain/errors.ts";
import type { AccountId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import type { UploadedFile } from "../../domain/manifest/uploads.ts";
import { OverBudgetError, type Threads } from "../../system/threads/threads.ts";
import type { SecretBox } from "../keys/secret-box.ts";
import { FIND_PROBLEMS, type SentCall } from "./call-problems.ts";

const LAST_CALLS = 100;
const EXAMPLES_MAX = 3;
const PROBLEMS_MAX = 3;
/** The steps of all calls together end before, unless the machine has no time. */
const TIMEOUT_MS = 10_000;
const TRIGGERS = ["api", "form"] as const;
const NO_API: InputProblem = { input: "", message: "Calls with the API key are refused: triggers.api is not enabled." };

/** What a commit would do with calls that were accepted. */
export interface JudgedCalls {
  /** Of each trigger that was used: how many calls were looked at, and how many of them would be refused. */
  readonly triggers: readonly {
    readonly trigger: RecentCall["trigger"];
    readonly calls: number;
    readonly refused: number;
  }[];
  /** The newest that would be refused, at most three, each with at most three reasons. */
  readonly examples: readonly {
    readonly executionId: ExecutionId;
    readonly trigger: RecentCall["trigger"];
    readonly createdAt: Date;
    readonly problems: readonly InputProblem[];
  }[];
}

export interface JudgeDeps {
  readonly db: Db;
  readonly threads: Threads;
  readonly secretBox: SecretBox;
}

/**
 * Decides what `execute` would say to the last accepted calls of a workflow under this manifest. What was the default of
 * the call's own commit counts as not sent. Undefined: there are no calls, or comparing them with patterns takes too long.
 */
export async function judgeCalls(
  { db, threads, secretBox }: JudgeDeps,
  of: { readonly workflowId: WorkflowId; readonly accountId: AccountId },
  manifest: Manifest,
): Promise<JudgedCalls | undefined> {
  const calls = await listRecentCalls(db, of.workflowId, LAST_CALLS);
  if (calls.length === 0) return undefined;
  const sent = calls.map((call) => toSent(call, secretBox));
  const given = { inputs: manifest.inputs, sent };
  const found = await threads
    .run(FIND_PROBLEMS, given, { owner: of.accountId, timeoutMs: TIMEOUT_MS })
    .catch((error: unknown) => {
      if (error instanceof OverBudgetError) return undefined;
      throw error;
    });
  if (found === undefined) return undefined;
  const hasApi = manifest.triggers.api?.enabled ?? false;
  const judged = found.map((problems, index) => {
    const { id: executionId, trigger, createdAt } = calls[index] as RecentCall;
    const own = trigger === "api" && !hasApi ? [NO_API] : problems;
    return { executionId, trigger, createdAt, problems: own.slice(0, PROBLEMS_MAX) };
  });
  const refused = judged.filter(({ problems }) => problems.length > 0);
  return {
    triggers: TRIGGERS.flatMap((trigger) => {
      const count = (list: typeof judged) => list.filter((call) => call.trigger === trigger).length;
      return count(judged) === 0 ? [] : [{ trigger, calls: count(judged), refused: count(refused) }];
    }),
    examples: refused.slice(0, EXAMPLES_MAX),
  };
}

/** What a caller gave, as far as it is known: not what its commit filled in. */
function toSent({ id, declared, inputs, inputTexts, secretInputs, files }: RecentCall, secretBox: SecretBox): SentCall {
  const defaults = new Map(declared.map((input) => [input.name, "default" in input ? input.default : null]));
  const given = Object.entries(inputs).filter(
    ([name, value]) => value !== null && !isDeepStrictEqual(value, defaults.get(name)),
  );
  const secrets = secretInputs === null ? {} : (JSON.parse(secretBox.open(secretInputs, id).toString()) as object);
  const byInput = new Map<string, UploadedFile[]>();
  for (const { name, fileName, bytes, contentType } of files)
    byInput.set(name, [...(byInput.get(name) ?? []), { fileName, bytes, contentType }]);
  const names = new Set(given.map(([name]) => name));
  return {
    values: Object.fromEntries([...given, ...Object.entries(secrets)]),
    texts: Object.fromEntries(Object.entries(inputTexts).filter(([name]) => names.has(name))),
    files: Object.fromEntries(byInput),
  };
}
