import type { StreamState } from "./events.ts";

/** Connections come and go; what is over before anybody could have read it is not told. */
const GRACE_MS = 2_500;

const listeners = new Set<() => void>();
const returns = new Set<() => void>();
let isLost = false;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Records the state of the event stream, which is open while you are signed in. */
export function noteStream(state: StreamState): void {
  if (state === "waiting") {
    if (!isLost) timer ??= setTimeout(() => change(true), GRACE_MS);
    return;
  }
  const wasInterrupted = isLost || timer !== undefined;
  change(false);
  if (wasInterrupted) for (const returned of returns) returned();
}

/** Nobody is signed in any more: there is nothing that could be lost. */
export function forgetConnection(): void {
  change(false);
}

/** Whether the service has not answered for longer than a moment. For `useSyncExternalStore`. */
export const connectionLost = {
  get: (): boolean => isLost,
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
};

/** Calls `returned` whenever the service answers again after it did not, however short that was. Answers how to stop that. */
export function whenConnectionReturns(returned: () => void): () => void {
  returns.add(returned);
  return () => void returns.delete(returned);
}

function change(lost: boolean): void {
  clearTimeout(timer);
  timer = undefined;
  if (isLost === lost) return;
  isLost = lost;
  for (const listener of listeners) listener();
}
