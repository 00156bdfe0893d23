import type { Readable } from "node:stream";
import type { RequestHandler, Router } from "express";
import type { Begun, Lead, LedExecution } from "../../activities/lead.ts";
import type { Db } from "../../db/connect.ts";
import type { Prices } from "../../domain/credits.ts";
import type { ExecutionResult, Trigger } from "../../domain/execution.ts";
import type { AccountId, CommitId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Threads } from "../../system/threads/threads.ts";
import type { RateLimits, Settings } from "../config.ts";
import type { GrantRules } from "../destinations/grants.ts";
import type { EditorEvents } from "../editor-events/editor-events.ts";
import type { KeyUses } from "../keys/key-uses.ts";
import type { OpenAccess } from "../keys/open-access.ts";
import type { SecretBox } from "../keys/secret-box.ts";
import type { OtherHosts } from "../live/other-hosts.ts";
import type { Log } from "../log.ts";
import type { Notices } from "../notices/notices.ts";
import type { PagesTarget } from "../setup/servers/temporal-door.ts";
import type { EditorParts } from "./editor-parts.ts";
import type { RefusedCalls } from "./execute/refused-calls.ts";

/** A commit that is to run somewhere. */
export interface RunCommit {
  readonly manifest: Manifest;
  readonly workflowId: WorkflowId;
  readonly commitId: CommitId;
}

/** Executions as the HTTP room sees them. */
export interface Executions {
  /** Whether the next execution of a commit begins before Temporal knows of it, here or on a worker. It is recorded with `headStart` then. */
  beginsAtOnce(commit: RunCommit): boolean;
  /** Takes a slot for an execution that is about to be recorded with `claim`; undefined when none is free now. */
  lead(execution: LedExecution): Lead | undefined;
  /**
   * Begins an execution that was recorded with `headStart`. Never throws: what goes wrong is left to its workflow. `begun`: it was
   * recorded with the claim of a lead.
   */
  begin(execution: LedExecution, commit: RunCommit, begun?: Begun): void;
  /** Starts a recorded execution. When it throws, it is unknown whether the execution was started. */
  start(input: {
    readonly executionId: ExecutionId;
    readonly workflowId: WorkflowId;
    readonly commitId: CommitId;
    readonly accountId: AccountId;
    readonly trigger: Trigger;
    readonly timeoutSeconds: number;
    readonly attemptsMax: number;
    readonly workflowName: string;
  }): Promise<void>;
  /** Starts one from the record, unless it has ended, waits for its turn, or was started before. */
  startAgain(executionId: ExecutionId): Promise<void>;
  /**
   * The result when the execution ended within the time, or true where only the record has it. False when the time was
   * over, or the caller gone, first. May be asked before the execution is started.
   */
  waitForEnd(executionId: ExecutionId, timeoutMs: number, gone?: AbortSignal): Promise<ExecutionResult | boolean>;
  /** Stops the program; `by` says who asked, for the record. */
  cancel(executionId: ExecutionId, by: string): Promise<void>;
  /** The execution's place among those that wait for a slot of this process, 1 for the next; undefined when it does not. */
  placeOf(executionId: ExecutionId): number | undefined;
  /** Why no program of a commit can begin where programs are run, as far as this process knows; undefined when it can. */
  hostProblem?: (commit: RunCommit) => string | undefined;
  /**
   * Returns whether one more program of the account may wait here. `reason` says why not, unless too many wait already.
   */
  capacity(accountId: AccountId): {
    readonly accepting: boolean;
    readonly reason?: string;
    readonly retryAfterSeconds: number;
  };
}

/** Bounds of one request. */
export interface HttpLimits {
  /** Of a JSON body, and of all text parts of a multipart body together. */
  readonly jsonBytesMax: number;
  readonly fileBytesMax: number;
  readonly requestBytesMax: number;
  readonly filesMax: number;
}

/** Returns the bounds of this installation. Those of JSON and of the number of files are not settings. */
export function httpLimitsOf(settings: Settings): HttpLimits {
  return {
    jsonBytesMax: 1_048_576,
    fileBytesMax: settings.TREADLE_FILE_BYTES_MAX,
    requestBytesMax: settings.TREADLE_REQUEST_BYTES_MAX,
    filesMax: 100,
  };
}

export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, { readonly ok: boolean; readonly message: string }>>;
}

export interface AppDeps {
  readonly db: Db;
  readonly storage: Storage;
  readonly executions: Executions;
  readonly editor: EditorParts;
  /** For what takes long and whose cost a caller chooses. */
  readonly threads: Threads;
  readonly secretBox: SecretBox;
  /** Whom notices may go to, and what sends one at once. */
  readonly notices: Pick<Notices, "addresses" | "callHosts" | "sendsMail" | "send" | "giveUp">;
  /** What an operator may let programs connect to. */
  readonly grantRules: GrantRules;
  readonly prices: Prices;
  /** `https://host:port/api`: what file addresses begin with. Asked late, because the port may be chosen late. */
  readonly apiUrl: () => string;
  readonly limits: HttpLimits;
  readonly waitMaxSeconds: number;
  /** Calls that may wait in this process at the same time. */
  readonly waitingCallsMax: number;
  readonly rateLimits: RateLimits;
  /** How many bytes an account may keep with which nothing else was agreed; 0: any number. */
  readonly keptBytesMax: number;
  /** When API keys were last used. */
  readonly keyUses: Pick<KeyUses, "note">;
  /** Calls of programs that were refused. */
  readonly refusedCalls: Pick<RefusedCalls, "note">;
  readonly processId: string;
  /** Whom to ask for credits; named in the answers. */
  readonly contact: string | undefined;
  /** Where people look into a Temporal that is not ours; null where nobody has said it. */
  readonly temporalUiUrl?: string | null;
  /** How the pages of our own are requested, which are shown below `/temporal/`. */
  readonly temporalPages?: PagesTarget | undefined;
  /** Temporal's namespace that our executions are in. */
  readonly temporalNamespace?: string;
  readonly trustProxy: boolean;
  /** The service's certificate where it made it itself: `pem`, and the file it is in. Nothing behind a proxy. */
  readonly ownCertificate?: { readonly file: string; readonly pem: string };
  /** Makes browsers insist on HTTPS: only right with a certificate that they accept. */
  readonly strictTransport?: boolean;
  readonly readiness: () => Promise<Readiness>;
  /** Prometheus' text format. */
  readonly metrics?: () => Promise<string>;
  /** Sees every request before anybody else. */
  readonly countRequest?: RequestHandler;
  /** Other routes under /api, before the answer to unknown paths. */
  readonly routers?: readonly Router[];
  /** The log of an execution that is still going, as NDJSON from a byte on, where this process has it. */
  readonly liveLog?: (executionId: ExecutionId, start?: number) => Promise<Readable | undefined>;
  /** How far a program says it is, where this process runs it: the same object until it says something else. */
  readonly liveProgress?: (
    executionId: ExecutionId,
  ) => { readonly fraction: number; readonly message: string } | undefined;
  /** Executions that other hosts run; undefined where there are none. */
  readonly otherHosts?: OtherHosts | undefined;
  /** Where the build has put the pages of the editor; without it there are none. */
  readonly webFolder?: string;
  /** What happens in an account, for the pages that are open. */
  readonly editorEvents: EditorEvents;
  /** Who is still let in, for answers that are open for long. */
  readonly openAccess: OpenAccess;
  /** Aborted when the process stops: streams that wait for an execution end. */
  readonly leaving?: AbortSignal;
  /** Compares each answer with its schema, for tests. A difference is an error of ours. */
  readonly checksAnswers?: boolean;
  readonly log: Log;
}
