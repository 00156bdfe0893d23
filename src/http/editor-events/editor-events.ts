import type { Db } from "../../../db/connect.ts";
import { listLatestStates, listStates, WORKFLOW_CHANGED } from "../../../db/executions/states.ts";
import { EXECUTION_ENDED } from "../../../db/ledger/credits.ts";
import type { Subscription } from "../../../db/subscription.ts";
import type { AccountId, ExecutionId } from "../../../domain/ids.ts";
import type { Log } from "../../log.ts";
import { type Channel, createChannel, type Follower } from "./channel.ts";

/**
 * How often the record of a followed account is polled. Accepting and beginning send no notification, which would slow
 * them down.
 */
const POLL_MS = 1_000;
const POLLED_MAX = 200;
/** Ends that come together are looked up together. */
const TOGETHER_MS = 100;
const ENDED_MAX = 1_000;
/** A page that comes back within this time has missed nothing. */
const KEPT_MS = 60_000;
const FOLLOWERS_MAX = 500;
/** Of one account: its open pages leave room for those of others. */
const FOLLOWERS_OF_ACCOUNT_MAX = 100;

/** Sends what happens in the accounts that users have open, as it happens. */
export interface EditorEvents {
  /**
   * Sends the follower what happens from now on, or after `lastId`. Returns the id to begin with and how to leave, or
   * undefined when this process or the account has as many followers as it may.
   */
  follow(
    accountId: AccountId,
    follower: Follower,
    lastId: string | undefined,
  ): Promise<{ readonly firstId: string; readonly leave: () => void } | undefined>;
  /** The notifications of the database that it needs. */
  readonly subscriptions: readonly Subscription[];
  /** Ends every stream; nobody can follow any more. */
  close(): void;
}

interface Watched {
  readonly channel: Channel;
  /** Settles when the record was polled for the first time. */
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
    log.warn({ event: "fault", error }, "Events could not be sent to open pages yet.");

  async function poll(accountId: AccountId, { channel }: Watched): Promise<void> {
    channel.learn(await listLatestStates(db, { accountId, ids: channel.openIds(), limit: POLLED_MAX }), "all");
  }

  function pollLater(accountId: AccountId, watched: Watched): void {
    watched.timer = setTimeout(() => {
      const isForgotten = watched.emptySince !== undefined && Date.now() - watched.emptySince > KEPT_MS;
      if (isForgotten) return void accounts.delete(accountId);
      void poll(accountId, watched)
        .catch(complain)
        .finally(() => !closed && pollLater(accountId, watched));
    }, POLL_MS).unref();
  }

  function watch(accountId: AccountId): Watched {
    const ready = Promise.resolve();
    const watched: Watched = { channel: createChannel(), timer: undefined, emptySince: undefined, ready };
    accounts.set(accountId, watched);
    watched.ready = poll(accountId, watched);
    watched.ready.then(
      () => !closed && pollLater(accountId, watched),
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
    subscriptions: toSubscriptions({ db, accounts, complain }),
    close() {
      closed = true;
      for (const { channel, timer } of accounts.values()) {
        clearTimeout(timer);
        for (const follower of Array.from(channel.followers)) follower.end();
      }
      accounts.clear();
    },
  };
}

interface SubscriptionDeps {
  readonly db: Db;
  readonly accounts: ReadonlyMap<AccountId, Watched>;
  readonly complain: (error: unknown) => void;
}

function toSubscriptions({ db, accounts, complain }: SubscriptionDeps): Subscription[] {
  let ended = new Set<ExecutionId>();

  function resyncAll(): void {
    for (const { channel } of accounts.values()) channel.send("resync", {});
  }

  async function lookUp(): Promise<void> {
    const ids = ended;
    ended = new Set();
    if (ids.size > ENDED_MAX) return resyncAll();
    const states = await listStates(db, [...ids]);
    for (const [accountId, { channel }] of accounts) {
      const own = states.filter((one) => one.accountId === accountId);
      if (own.length > 0) channel.learn(own, "some");
    }
  }

  return [
    {
      channel: EXECUTION_ENDED,
      onNotify(id) {
        if (accounts.size === 0) return;
        if (ended.size === 0) setTimeout(() => void lookUp().catch(complain), TOGETHER_MS).unref();
        if (ended.size <= ENDED_MAX) ended.add(id as ExecutionId);
      },
      // Polling finds the ends, and nothing of what became of workflows.
      onReconnect: resyncAll,
    },
    {
      channel: WORKFLOW_CHANGED,
      onNotify(payload) {
        const { accountId, workflowId } = JSON.parse(payload) as { accountId: AccountId; workflowId: string };
        accounts.get(accountId)?.channel.send("workflow", { workflowId });
      },
    },
  ];
}
