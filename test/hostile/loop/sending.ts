import { createThreads, toTask } from "../../../system/threads/threads.ts";
import { createCaller } from "../../support/https.ts";

export interface Sent {
  readonly server: { readonly url: string; readonly cert: string };
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
}

/** Sends a request and reads its answer; of a stream without an end only its beginning. Runs on the thread that it is called on. */
export async function sendRequest(sent: Sent): Promise<{ status: number; text: string }> {
  const { server, path, method, headers, body } = sent;
  const isStream = headers["accept"] === "text/event-stream";
  const signal = isStream ? AbortSignal.timeout(3_000) : undefined;
  const call = { method, headers, body: body === null ? undefined : Buffer.from(body), signal };
  try {
    const answer = await createCaller(server)(path, call);
    return { status: answer.status, text: answer.bytes.toString("utf8", 0, 300) };
  } catch (error) {
    if (signal?.aborted) return { status: 200, text: "" };
    throw error;
  }
}

const SEND = toTask(import.meta.url, sendRequest);
const threads = createThreads({ threadsMax: 1 });

/** Sends a request beside the event loop, which is the service's alone: what the caller computes is not counted for it. */
export function sendBeside(sent: Sent): Promise<{ status: number; text: string }> {
  return threads.run(SEND, sent, { owner: "caller", timeoutMs: 200_000 });
}
