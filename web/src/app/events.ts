import { openApi } from "./api.ts";
import { isFinal } from "./api-error.ts";
import { createEventParser, type ServerEvent } from "./event-parser.ts";

const AGAIN_MS_MIN = 1_000;
const AGAIN_MS_MAX = 15_000;
/** A page that nobody looks at gives its connection back: browsers have six for all pages of a service together. */
const HIDDEN_MS = 20_000;
/** The service says something every 15 seconds at least: a connection that is silent for longer than this is none. */
const SILENCE_MS = 45_000;

export type StreamState = "open" | "waiting";

/**
 * Follows a stream of server-sent events until `onEvents` answers `stop`, or the signal is aborted. A connection that
 * breaks is opened again behind the last id that came, at once when the browser says that it has a network again. Pauses
 * while the page is hidden. Rejects with what the service says when asking again would not help: no such thing, not allowed.
 */
export async function followEvents(
  path: string,
  options: {
    readonly signal: AbortSignal;
    readonly onEvents: (events: readonly ServerEvent[]) => "stop" | undefined;
    readonly onState?: (state: StreamState) => void;
  },
): Promise<void> {
  const { signal, onEvents, onState } = options;
  let lastId = "";
  let waitMs = AGAIN_MS_MIN;
  while (!signal.aborted) {
    await untilVisible(signal);
    // The page may have been left meanwhile.
    if (signal.aborted) return;
    const attempt = abortWhenUseless(signal);
    try {
      const headers = { accept: "text/event-stream", ...(lastId === "" ? {} : { "last-event-id": lastId }) };
      const response = await openApi(path, { headers, signal: attempt.signal });
      onState?.("open");
      for await (const events of readEvents(response, attempt.heard)) {
        waitMs = AGAIN_MS_MIN;
        lastId = events.at(-1)?.id ?? lastId;
        if (onEvents(events) === "stop") return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isFinal(error)) throw error;
    } finally {
      attempt.release();
    }
    if (signal.aborted) return;
    if (!document.hidden) {
      onState?.("waiting");
      await pause(waitMs, signal);
      waitMs = Math.min(AGAIN_MS_MAX, waitMs * 2);
    }
  }
}

async function* readEvents(response: Response, heard: () => void): AsyncGenerator<readonly ServerEvent[], void> {
  const parse = createEventParser();
  const reader = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>)
    .pipeThrough(new TextDecoderStream())
    .getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      const events = parse(value);
      if (events.length > 0) yield events;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/**
 * Returns a signal that aborts a stream which has become useless. It aborts with `signal`, after the page was hidden for a
 * while, and after too long a silence. It also aborts when the browser loses its network: the service may be on this
 * machine, and then answers the next attempt.
 */
function abortWhenUseless(signal: AbortSignal): { signal: AbortSignal; heard: () => void; release: () => void } {
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal.reason);
  let hidden: ReturnType<typeof setTimeout> | undefined;
  let silent = setTimeout(abort, SILENCE_MS);
  const look = (): void => {
    clearTimeout(hidden);
    if (document.hidden) hidden = setTimeout(abort, HIDDEN_MS);
  };
  look();
  signal.addEventListener("abort", abort);
  globalThis.addEventListener("offline", abort);
  document.addEventListener("visibilitychange", look);
  return {
    signal: controller.signal,
    heard() {
      clearTimeout(silent);
      silent = setTimeout(abort, SILENCE_MS);
    },
    release() {
      clearTimeout(hidden);
      clearTimeout(silent);
      controller.abort();
      signal.removeEventListener("abort", abort);
      globalThis.removeEventListener("offline", abort);
      document.removeEventListener("visibilitychange", look);
    },
  };
}

function untilVisible(signal: AbortSignal): Promise<void> {
  if (!document.hidden || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const look = (): void => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look, { once: true });
  });
}

/** Some time, shorter when the browser has a network again meanwhile. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      globalThis.removeEventListener("online", end);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms + Math.random() * (ms / 2));
    globalThis.addEventListener("online", end);
    signal.addEventListener("abort", end);
  });
}
