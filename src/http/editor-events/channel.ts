import { randomBytes } from "node:crypto";
import type { StateOfExecution } from "../../../db/executions/states.ts";
import type { ExecutionId } from "../../../domain/ids.ts";

/** Who was away for longer than this many events has to ask again for what is shown. */
const PAST_MAX = 500;
/** Executions whose state is remembered, so that nothing is sent twice. */
const KNOWN_MAX = 2_000;

export interface EditorEvent {
  /** What `Last-Event-ID` goes on behind. */
  readonly id: string;
  readonly name: "execution" | "workflow" | "resync";
  readonly data: Readonly<Record<string, string>>;
}

/** A follower of an account. */
export interface Follower {
  readonly receive: (event: EditorEvent) => void;
  /** No event comes any more. */
  readonly end: () => void;
}

/** What happens in one account, for those who follow it. */
export interface Channel {
  readonly followers: Set<Follower>;
  /** The id of the last event, or of the beginning. */
  lastId(): string;
  /** Sends an event to all followers. */
  send(name: EditorEvent["name"], data: EditorEvent["data"]): void;
  /**
   * Sends those whose state differs from the one sent last. At first, and after too much has happened, there is nothing
   * to compare with.
   */
  learn(states: readonly StateOfExecution[], how: "all" | "some"): void;
  /** Those that were under way at the last notification. */
  openIds(): ExecutionId[];
  /** Sends a follower what came behind the event of that id, or that it has to ask again. */
  catchUp(follower: Follower, lastId: string): void;
}

export function createChannel(): Channel {
  const name = randomBytes(6).toString("hex");
  const followers = new Set<Follower>();
  const past: EditorEvent[] = [];
  const known = new Map<ExecutionId, number>();
  let count = 0;
  let hasLearnt = false;

  function send(eventName: EditorEvent["name"], data: EditorEvent["data"]): void {
    count += 1;
    const event = { id: `${name}.${count}`, name: eventName, data };
    past.push(event);
    if (past.length > PAST_MAX) past.shift();
    for (const follower of Array.from(followers)) follower.receive(event);
  }

  /** A poll that began before another may end after it: nothing goes back to a state that it has left. */
  function remember({ executionId, status }: StateOfExecution): boolean {
    const before = known.get(executionId) ?? -1;
    const stage = stageOf(status);
    known.delete(executionId);
    known.set(executionId, Math.max(before, stage));
    return stage > before;
  }

  function trim(): void {
    for (const id of known.keys()) {
      if (known.size <= KNOWN_MAX) return;
      known.delete(id);
    }
  }

  return {
    followers,
    lastId: () => `${name}.${count}`,
    send,
    learn(states, how) {
      const isFirst = !hasLearnt;
      hasLearnt ||= how === "all";
      const hasGap =
        how === "all" && known.size > 0 && states.length > 0 && !states.some((one) => known.has(one.executionId));
      for (const one of states) {
        if (!remember(one) || isFirst || hasGap) continue;
        const { executionId, workflowId, status } = one;
        send("execution", { executionId, workflowId, status });
      }
      if (hasGap) send("resync", {});
      trim();
    },
    openIds: () => [...known].filter(([, stage]) => stage < ENDED).map(([id]) => id),
    catchUp(follower, lastId) {
      const [of, number] = lastId.split(".");
      const missed = count - Number(number);
      if (of === name && missed >= 0 && missed <= past.length) {
        for (const event of missed === 0 ? [] : past.slice(-missed)) follower.receive(event);
      } else follower.receive({ id: `${name}.${count}`, name: "resync", data: {} });
    },
  };
}

const ENDED = 2;

function stageOf(status: StateOfExecution["status"]): number {
  if (status === "queued") return 0;
  return status === "running" ? 1 : ENDED;
}
