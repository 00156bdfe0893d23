import type { Db } from "../../db/connect.ts";
import { EXECUTION_ENDED } from "../../db/credits.ts";
import { listLatestStates, listStates, WORKFLOW_CHANGED } from "../../db/execution-states.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import type { Log } from "../log.ts";
import type { Notice } from "../waiters.ts";
import { type Channel, createChannel, type Follower } from "./channel.ts";

/** Accepting and beginning are announced to nobody, which would slow them down: the record of a followed account is looked at this often. */
const LOOK_MS = 1_000;
const LOOKED_AT_MAX = 200;
/** Ends that come together are looked up together. */
const TOGETHER_MS = 100;
const HEARD_MAX = 1_000;
/** Whoever comes back within this time has missed nothing. */
const KEPT_MS = 60_000;
const FOLLOWERS_MAX = 500;
/** Of one account: its open pages leave room for those of others. */
const FOLLOWERS_OF_ACCOUNT_MAX = 100;

/** What happens in the accounts that somebody has open, told as it happens. */
export interface EditorEvents {
  /**
   * Tells the follower what happens from now on, or from behind `lastId`. Answers the id to begin with and how to leave; undefined
   * when there are as many followers as this process, or one account, may have.
   */
  follow(
    accountId: AccountId,
    follower: Follower,
    lastId: string | undefined,
  ): Promise<{ readonly firstId: string; readonly leave: () => void } | undefined>;
  /** What it has to hear of the database. */
  readonly notices: readonly Notice[];
  /** Ends every stream; nobody can follow any more. */
  close(): void;
}

interface Watched {
  readonly channel: Channel;
  /** Settles when the record was looked at for the first time. */
  ready: Promise<void>;
  timer: NodeJS.Timeout | undefined;
  /** Since when nobody follows it. */
  emptySince: number | undefined;
}

interface EditorEventsDeps {
  readonly db: Db;
  readonly log: Log;
  readonly followersMax?: number;
  readonly followersOfAccountMax?: number;
}

export function createEditorEvents(deps: EditorEventsDeps): EditorEvents {
  const { db, log, followersMax = FOLLOWERS_MAX, followersOfAccountMax = FOLLOWERS_OF_ACCOUNT_MAX } = deps;
  const accounts = new Map<AccountId, Watched>();
  let count = 0;
  let closed = false;

  const complain = (error: unknown): void =>
    log.warn({ event: "fault", error }, "What happens could not be told to open pages yet.");

  async function look(accountId: AccountId, { channel }: Watched): Promise<void> {
    channel.learn(await listLatestStates(db, { accountId, ids: channel.openIds(), limit: LOOKED_AT_MAX }), "all");
  }

  function lookLater(accountId: AccountId, watched: Watched): void {
    watched.timer = setTimeout(() => {
      const isForgotten = watched.emptySince !== undefined && Date.now() - watched.emptySince > KEPT_MS;
      if (isForgotten) return void accounts.delete(accountId);
      void look(accountId, watched)
        .catch(complain)
        .finally(() => !closed && lookLater(accountId, watched));
    }, LOOK_MS).unref();
  }

  function watch(accountId: AccountId): Watched {
    const watched: Watched = {
      ...{ channel: createChannel(), timer: undefined, emptySince: undefined, ready: Promise.resolve() },
    };
    accounts.set(accountId, watched);
    watched.ready = look(accountId, watched);
    watched.ready.then(
      () => !closed && lookLater(accountId, watched),
      () => accounts.delete(accountId),
    );
    return watched;
  }

  return {
    async follow(accountId, follower, lastId) {
      const ownCount = accounts.get(accountId)?.channel.followers.size ?? 0;
      if (closed || count >= followersMax || ownCount >= followersOfAccountMax) return undefined;
      count += 1;
      const watched = accounts.get(accountId) ?? watch(accountId);
      watched.emptySince = undefined;
      const { channel } = watched;
      channel.followers.add(follower);
      let isInside = true;
      const leave = (): void => {
        if (!isInside) return;
        isInside = false;
        count -= 1;
        channel.followers.delete(follower);
        if (channel.followers.size === 0) watched.emptySince = Date.now();
      };
      const firstId = channel.lastId();
      if (lastId !== undefined) channel.catchUp(follower, lastId);
      try {
        await watched.ready;
      } catch (error) {
        leave();
        throw error;
      }
      return { firstId, leave };
    },
    notices: toNotices({ db, accounts, complain }),
    close() {
      closed = true;
      for (const { channel, timer } of accounts.values()) {
        clearTimeout(timer);
        for (const follower of [...channel.followers]) follower.end();
      }
      accounts.clear();
    },
  };
}

interface Hearing {
  readonly db: Db;
  readonly accounts: ReadonlyMap<AccountId, Watched>;
  readonly complain: (error: unknown) => void;
}

function toNotices({ db, accounts, complain }: Hearing): Notice[] {
  let ended = new Set<ExecutionId>();

  function tellAllToAskAgain(): void {
    for (const { channel } of accounts.values()) channel.tell("resync", {});
  }

  async function lookUp(): Promise<void> {
    const ids = ended;
    ended = new Set();
    if (ids.size > HEARD_MAX) return tellAllToAskAgain();
    const states = await listStates(db, [...ids]);
    for (const [accountId, { channel }] of accounts) {
      const own = states.filter((one) => one.accountId === accountId);
      if (own.length > 0) channel.learn(own, "some");
    }
  }

  return [
    {
      channel: EXECUTION_ENDED,
      receive(id) {
        if (accounts.size === 0) return;
        if (ended.size === 0) setTimeout(() => void lookUp().catch(complain), TOGETHER_MS).unref();
        if (ended.size <= HEARD_MAX) ended.add(id as ExecutionId);
      },
      // Ends would be seen by looking; what became of workflows would not.
      missed: tellAllToAskAgain,
    },
    {
      channel: WORKFLOW_CHANGED,
      receive(payload) {
        const { accountId, workflowId } = JSON.parse(payload) as { accountId: AccountId; workflowId: string };
        accounts.get(accountId)?.channel.tell("workflow", { workflowId });
      },
    },
  ];
}
