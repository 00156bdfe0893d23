import type { ExecutionId, WorkflowId } from "../../domain/ids.ts";
import type { Piece } from "./wire.ts";

/** What the entries of the corpus aim at: a workflow whose inputs are all optional, and an ended execution of it. */
export interface Target {
  readonly workflowId: WorkflowId;
  readonly apiKey: string;
  readonly executionId: ExecutionId;
  /** The key of another workflow. */
  readonly foreignKey: string;
  /** A good session, as the header `Cookie` has it. */
  readonly cookie: string;
  /** The operator's access token. */
  readonly token: string;
}

/** One hostile request, and the only answers that are right. */
export interface Entry {
  readonly name: string;
  readonly send: (target: Target) => Piece | readonly Piece[];
  /** Every answer has one of these statuses. Empty: the service closes without an answer. */
  readonly statuses: readonly number[];
  /** How many answers come; 1 unless given. More than expected is a smuggled request. */
  readonly replies?: number;
  readonly isHead?: boolean;
  /** What the message of the answer has to say. */
  readonly says?: RegExp;
}

export interface RequestOptions {
  /** In order, as they are: nothing is corrected. */
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | Buffer | undefined;
  /** Instead of the true length; null sends none. */
  readonly length?: string | null;
  /** Null sends none. */
  readonly host?: string | null;
  readonly version?: string;
  /** False leaves the connection open after the answer. */
  readonly close?: boolean;
}

/** A request as bytes. Text is Latin-1 in the head and UTF-8 in the body. */
export function aRequest(method: string, path: string, options: RequestOptions = {}): Buffer {
  const { headers = [], host = "localhost", version = "HTTP/1.1", close = true } = options;
  const body = typeof options.body === "string" ? Buffer.from(options.body) : options.body;
  const length = options.length === undefined && body !== undefined ? String(body.length) : options.length;
  const lines = [
    `${method} ${path} ${version}`,
    ...(host === null ? [] : [`Host: ${host}`]),
    ...(close ? ["Connection: close"] : []),
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(length === undefined || length === null ? [] : [`Content-Length: ${length}`]),
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), body ?? Buffer.alloc(0)]);
}

/** A call of the target's workflow, with its key. */
export function anExecuteRequest(target: Target, options: RequestOptions & { type?: string | null } = {}): Buffer {
  const { type = "application/json", headers = [], ...rest } = options;
  const all: (readonly [string, string])[] = [["x-api-key", target.apiKey], ...headers];
  if (type !== null) all.push(["Content-Type", type]);
  return aRequest("POST", executePath(target), { ...rest, headers: all });
}

export function executePath({ workflowId }: Pick<Target, "workflowId">): string {
  return `/api/workflows/${workflowId}/execute`;
}

/** A request with the workflow's key that has no body. */
export function aKeyedRequest(target: Target, method: string, path: string, options: RequestOptions = {}): Buffer {
  return aRequest(method, path, { ...options, headers: [["x-api-key", target.apiKey], ...(options.headers ?? [])] });
}

export const FILE_NAME = "report.txt";

export function filePath({ executionId }: Pick<Target, "executionId">, name = FILE_NAME): string {
  return `/api/run-logs/${executionId}/files/${name}`;
}
