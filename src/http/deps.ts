import type { Readable } from "node:stream";
import type { RequestHandler, Router } from "express";
import type { Db } from "../../db/connect.ts";
import type { Prices } from "../../domain/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import type { GrantRules } from "../../sandbox/network/grant-rules.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Threads } from "../../system/threads/threads.ts";
import type { RateLimits, Settings } from "../config.ts";
import type { Executions } from "../executions/executions.ts";
import type { OtherHosts } from "../executions/other-hosts.ts";
import type { KeyUses } from "../keys/key-uses.ts";
import type { OpenAccess } from "../keys/open-access.ts";
import type { SecretBox } from "../keys/secret-box.ts";
import type { Log } from "../log.ts";
import type { Notices } from "../notices/notices.ts";
import type { PagesTarget } from "../setup/servers/temporal-proxy.ts";
import type { EditorEvents } from "./editor-events/editor-events.ts";
import type { EditorParts } from "./editor-parts.ts";
import type { RefusedCalls } from "./refused-calls.ts";

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
  /** Of this program, as package.json says it. */
  readonly version: string;
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
