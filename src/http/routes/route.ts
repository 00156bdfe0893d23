import type { ErrorCode } from "../../../domain/errors.ts";
import type { JsonValue } from "../../../domain/manifest/json-values.ts";
import type { JsonSchema } from "../../../domain/manifest/value-schema.ts";
import type { HeaderName } from "./headers.ts";

/** A way to be let in. One of those a route names is enough. */
export type Credential = "apiKey" | "session" | "accessToken" | "link";

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
  readonly example?: JsonValue;
}

/** A body of one media type. */
export interface Content {
  readonly schema: JsonSchema;
  readonly example?: JsonValue;
  /** Of a form: the media type of parts that are not plain text. */
  readonly encoding?: Readonly<Record<string, { readonly contentType: string }>>;
}

export type Contents = Readonly<Record<string, Content>>;

export interface Answer {
  readonly description: string;
  /** Headers that such an answer always has. `X-Request-Id` is in every answer and not named. */
  readonly always?: readonly HeaderName[];
  /** Headers that it has when there is something to say. */
  readonly sometimes?: readonly HeaderName[];
  readonly content?: Contents;
}

/** One route: everything that a caller may rely on, and nothing of how it is done. */
export interface Route {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  /** With parameters as `{name}`, as OpenAPI writes them. */
  readonly path: `/${string}`;
  readonly tag: keyof typeof TAGS;
  readonly summary: string;
  readonly description?: string;
  /** Empty: for everybody. */
  readonly credentials: readonly Credential[];
  readonly parameters?: readonly Parameter[];
  readonly body?: { readonly required: boolean; readonly content: Contents };
  /** What it answers when nothing is wrong, by status. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** What may go wrong beside what may go wrong everywhere. */
  readonly errors: readonly ErrorCode[];
  /** Headers that errors of an execution that was accepted may have: 402, 500 and 503. */
  readonly lateHeaders?: readonly HeaderName[];
}

export type Routes = Readonly<Record<string, Route>>;

export const TAGS = {
  Workflows: "Executing a workflow, with its own key.",
  Executions: "What became of executions: results, logs and files. With the workflow's key, or signed in.",
  Schedules: "When a workflow runs by the clock, and what became of it. With the workflow's key, or signed in.",
  Session: "Who is signed in.",
  Account: "An account, its credits and its members. See docs/accounts.md.",
  Access: "Sessions, access tokens and the password: each caller's own.",
  Publishing:
    "Workflows, their keys, drafts and commits. For members of an account, signed in or with an access token.",
  Service: "Whether the service is well, and what it can do.",
} as const;
