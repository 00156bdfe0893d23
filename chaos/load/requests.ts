import { createHash } from "node:crypto";
import { type Agent, request } from "undici";
import type { AnswerLine, ClientRecord, RequestLine, SilenceLine } from "../record.ts";
import type { Message } from "./messages.ts";

/** Longer than a call may wait, and than any recovery may take. */
const ANSWER_MAX_MS = 120_000;
const TEXT_MAX = 2_000;
const KEPT_HEADERS = [
  "content-type",
  "idempotent-replayed",
  "location",
  "preference-applied",
  "retry-after",
  "x-execution-id",
];

export interface Sending {
  readonly url: string;
  readonly method: "GET" | "POST" | "DELETE";
  readonly headers: Record<string, string>;
  readonly message?: Message;
  readonly hangUpMs?: number | undefined;
}

/** What is written down of a request before it is sent. */
export type Asked = Omit<RequestLine, "type" | "at" | "request">;

export type Heard = AnswerLine | SilenceLine;

/** Sends one request and writes down what it was and what came back. Never rejects. */
export async function sendRecorded(
  deps: { record: ClientRecord; agent: Agent },
  asked: Asked,
  sending: Sending,
): Promise<Heard> {
  const number = deps.record.nextRequest();
  deps.record.write({ type: "request", at: Date.now(), request: number, ...asked });
  const heard = await exchange(deps.agent, sending, number);
  deps.record.write(heard);
  return heard;
}

async function exchange(agent: Agent, sending: Sending, number: number): Promise<Heard> {
  const { hangUpMs, message } = sending;
  const signal = AbortSignal.timeout(hangUpMs ?? ANSWER_MAX_MS);
  try {
    const answer = await request(sending.url, {
      dispatcher: agent,
      method: sending.method,
      signal,
      headers: {
        ...sending.headers,
        ...(message === undefined ? {} : { "content-type": message.contentType }),
      },
      ...(message === undefined ? {} : { body: message.body }),
    });
    const content = Buffer.from(await answer.body.arrayBuffer());
    const headers = Object.fromEntries(
      KEPT_HEADERS.flatMap((name) => {
        const value = answer.headers[name];
        return value === undefined ? [] : [[name, String(value)]];
      }),
    );
    const told = { type: "answer", at: Date.now(), request: number, status: answer.statusCode, headers } as const;
    if (headers["content-type"]?.includes("application/json") === true)
      return { ...told, body: JSON.parse(content.toString("utf8")) as Record<string, unknown> };
    return {
      ...told,
      sha256: createHash("sha256").update(content).digest("hex"),
      bytes: content.length,
      text: content.subarray(0, TEXT_MAX).toString("utf8"),
    };
  } catch (error) {
    const { code, message: reason } = error as NodeJS.ErrnoException;
    const silence = { type: "silence", at: Date.now(), request: number, reason: code ?? reason } as const;
    if (signal.aborted) return { ...silence, cause: hangUpMs === undefined ? "too_long" : "hung_up" };
    return { ...silence, cause: code === "ECONNREFUSED" ? "refused" : "broken" };
  }
}
