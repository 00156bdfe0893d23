import { randomUUID } from "node:crypto";
import type { Db } from "../../db/connect.ts";
import {
  askLive,
  endLive,
  findLiveAnswer,
  LIVE_ANSWERED,
  type LiveAnswer,
  type LiveRequest,
} from "../../db/executions/live-requests.ts";
import type { Subscription } from "../../db/subscription.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { withTimeout } from "../../system/with-timeout.ts";
import type { Log } from "../log.ts";
import type { LiveState } from "./live-state.ts";

/** A question is asked again after this time: the process it went to may be gone, and another may have begun since. */
const ASK_AGAIN_MS = 5_000;
const EXPIRY_SECONDS = 30;
/** How long a question that wants an answer at once waits for it. Then nobody runs the execution. */
const ANSWER_MS_MAX = 1_000;

/** Where a follower is in the log of a host. */
export interface LogPlace {
  /** In bytes. */
  offset: number;
  /** Undefined: on this host, or nowhere yet. */
  hostId?: string;
}

/** An execution that runs on another host, followed from here. */
export interface RemoteExecution {
  /**
   * Returns what came behind a place in its log, and asks for more. Undefined where nothing has come. The place is moved to the
   * beginning where another host runs it now.
   */
  take(at: LogPlace): Buffer | undefined;
  /** As far as is known here. */
  state(): LiveState;
  close(): void;
}

/** The executions that other hosts run, for a process that is asked for them. */
export interface OtherHosts {
  /** Whether an execution may be on another host: the one of its open attempt is given, null where there is none. */
  mayHave(hostId: string | null): boolean;
  /** Follows an execution until it is closed; `onNews` is called when `take` or `state` has something new. */
  follow(executionId: ExecutionId, onNews: () => void): RemoteExecution;
  /** Returns what there is of its log now. */
  readLog(executionId: ExecutionId): AsyncGenerator<Buffer>;
  /** Returns its state now; undefined where no host answers within a second. */
  look(executionId: ExecutionId): Promise<LiveState | undefined>;
}

/** The questions of one follower, one after the other. */
interface Questions {
  ask(question: { at: LogPlace; known: string | null; wants: LiveRequest["wants"] }): void;
  close(): void;
}

/** What asks other hosts; each answer is looked up when it is announced. */
function createAsking({ db, log }: { db: Db; log: Log }) {
  const followers = new Map<string, () => void>();

  const complain = (error: unknown): void =>
    log.warn({ event: "fault", error }, "The host that runs an execution could not be asked for its log.");

  function open(executionId: ExecutionId, onAnswer: (answer: LiveAnswer) => void): Questions {
    const id = `live_${randomUUID()}`;
    let turn = 0;
    const look = async (): Promise<void> => {
      const asked = turn;
      const answer = await findLiveAnswer(db, { id, turn: asked });
      if (answer === undefined || asked !== turn || !followers.has(id)) return;
      turn += 1; // It is answered once.
      onAnswer(answer);
    };
    followers.set(id, () => void look().catch(complain));
    return {
      ask({ at, known, wants }) {
        turn += 1;
        const place = { hostId: at.hostId ?? null, start: at.hostId === undefined ? 0 : at.offset };
        askLive(db, { id, turn, executionId, ...place, known, wants }, EXPIRY_SECONDS).catch(complain);
      },
      close() {
        followers.delete(id);
        if (turn > 0) endLive(db, id).catch(complain);
      },
    };
  }

  const subscription: Subscription = {
    channel: LIVE_ANSWERED,
    onNotify: (id) => followers.get(id)?.(),
    onReconnect: () => {
      for (const look of followers.values()) look();
    },
  };
  return { open, subscription };
}

/** Asks once, for an answer at once. */
async function askOnce(
  { open }: Pick<ReturnType<typeof createAsking>, "open">,
  executionId: ExecutionId,
  at: LogPlace,
  wants: "lines" | "state",
): Promise<LiveAnswer | undefined> {
  let close = (): void => {};
  const answered = new Promise<LiveAnswer>((resolve) => {
    const questions = open(executionId, resolve);
    close = questions.close;
    questions.ask({ at, known: null, wants });
  });
  return withTimeout(answered, ANSWER_MS_MAX, () => undefined).finally(close);
}

/** Asks other hosts through the database; see `live_requests`. `runsPrograms`: whether an execution may also be here. */
export function createOtherHosts(deps: {
  db: Db;
  hostId: string;
  runsPrograms: boolean;
  log: Log;
}): OtherHosts & { readonly subscription: Subscription } {
  const asking = createAsking(deps);
  return {
    mayHave: (hostId) => (hostId === null ? !deps.runsPrograms : hostId !== deps.hostId),
    follow: (executionId, onNews) => followRemote(asking, executionId, onNews),
    async *readLog(executionId) {
      const at: LogPlace = { offset: 0 };
      for (;;) {
        const answer = await askOnce(asking, executionId, at, "lines");
        // Another host begins it anew: what was read is all of the one before.
        if (answer === undefined || answer.lines.length === 0 || answer.answeredBy !== (at.hostId ?? answer.answeredBy))
          return;
        at.hostId = answer.answeredBy;
        at.offset += answer.lines.length;
        yield answer.lines;
      }
    },
    look: async (executionId) => {
      const answer = await askOnce(asking, executionId, { offset: 0 }, "state");
      return answer && toState(answer.state);
    },
    subscription: asking.subscription,
  };
}

function followRemote(
  { open }: Pick<ReturnType<typeof createAsking>, "open">,
  executionId: ExecutionId,
  onNews: () => void,
): RemoteExecution {
  let answer: LiveAnswer | undefined;
  let known: string | null = null;
  let askedAt = Number.NEGATIVE_INFINITY;
  const { ask, close } = open(executionId, (given) => {
    answer = given;
    known = given.state;
    askedAt = Number.NEGATIVE_INFINITY;
    onNews();
  });
  return {
    close,
    state: () => toState(known),
    take(at) {
      const taken = answer;
      answer = undefined;
      if (taken !== undefined) {
        if (taken.answeredBy !== at.hostId) at.offset = 0;
        at.hostId = taken.answeredBy;
        return taken.lines;
      }
      if (Date.now() - askedAt >= ASK_AGAIN_MS) {
        askedAt = Date.now();
        ask({ at, known, wants: "news" });
      }
      return undefined;
    },
  };
}

function toState(text: string | null): LiveState {
  return text === null ? { progress: null, slotPosition: null } : (JSON.parse(text) as LiveState);
}
