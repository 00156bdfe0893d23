import { createCredits } from "../../../activities/credits.ts";
import { connect, type Db, sqlState } from "../../../db/connect.ts";
import { finishAll } from "../../../db/executions/endings.ts";
import { adjust, grant, holdSlice, release, reserve, settle } from "../../../db/ledger/credits.ts";
import { createLedger, type Ledger } from "../../../db/ledger/ledger.ts";
import { microCredits } from "../../../domain/credits.ts";
import type { AccountId, ExecutionId } from "../../../domain/ids.ts";
import type { TestDatabase } from "../../support/postgres.ts";
import { aBill, aFault } from "./given.ts";

const CLIENTS = 32;
const NEARBY = 9;
const MOVES = [
  "reserve",
  "reserve",
  "reserve",
  "settle",
  "settle",
  "slice",
  "slice",
  "release",
  "grant",
  "adjust",
  "sweep",
  "repeat",
] as const;

/** Numbers in [0, 1) that follow from the seed alone (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface Operation {
  readonly client: number;
  readonly move: Exclude<(typeof MOVES)[number], "repeat">;
  readonly target: { readonly accountId: AccountId; readonly executionId: ExecutionId };
  readonly amount: bigint;
  /** Through which of the ways into the ledger: two processes that share statements, and one that does not. */
  readonly way: number;
}

/** What an operation was answered: `true` from a settlement or release that ended its execution. */
export interface Answered {
  readonly operation: Operation;
  readonly answer: unknown;
}

/**
 * Operations of 32 clients on these executions. Every tenth repeats an earlier one, of whichever client. At any time the
 * clients are busy with a few of the executions, so that they meet.
 */
export function planOperations(
  seed: number,
  given: { count: number; targets: readonly Operation["target"][]; amountMax: number },
): Operation[] {
  const random = createRandom(seed);
  const choose = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const operations: Operation[] = [];
  while (operations.length < given.count) {
    const client = operations.length % CLIENTS;
    const move = choose(MOVES);
    if (move === "repeat") {
      if (operations.length > 0) operations.push({ ...choose(operations), client, way: Math.floor(random() * 3) });
      continue;
    }
    const first = Math.floor((operations.length / given.count) * given.targets.length);
    const nearby = given.targets.slice(first, first + NEARBY);
    const amount = BigInt(Math.floor(random() * given.amountMax));
    operations.push({ client, move, target: choose(nearby), amount, way: Math.floor(random() * 3) });
  }
  return operations;
}

/** Carries operations out: each client one after the other, all clients at once, as in three processes. */
export async function performOperations(database: TestDatabase, operations: readonly Operation[]): Promise<Answered[]> {
  const elsewhere = connect(database.address, { poolMax: 6, applicationName: "another process" });
  try {
    const ways = [waysOf(database.db), waysOf(elsewhere), { ...waysOf(elsewhere), ledger: withoutSharing(elsewhere) }];
    const answered: Answered[] = [];
    const client = async (number: number): Promise<void> => {
      for (const operation of operations.filter((each) => each.client === number)) {
        const answer = await perform(ways[operation.way] as Ways, operation);
        answered.push({ operation, answer });
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
    return answered;
  } finally {
    await elsewhere.destroy();
  }
}

interface Ways {
  readonly db: Db;
  readonly ledger: Ledger;
  readonly activities: ReturnType<typeof createCredits>;
}

function waysOf(db: Db): Ways {
  const prices = { perCpuSecond: microCredits(0), perExecution: microCredits(0) };
  return { db, ledger: createLedger(db), activities: createCredits({ db, prices, onEnded: () => undefined }) };
}

function withoutSharing(db: Db): Ledger {
  return {
    reserve: ({ executionId }) => reserve(db, executionId),
    settle: (input) => settle(db, input),
    finish: async (_lane, ending) => (await finishAll(db, [ending]))[0] ?? "lost",
    release: (input) => release(db, input),
  };
}

async function perform({ db, ledger, activities }: Ways, { move, target, amount }: Operation): Promise<unknown> {
  const { accountId, executionId } = target;
  switch (move) {
    case "reserve":
      return (await ledger.reserve(target)).kind;
    case "settle":
      // Some bills are higher than what was reserved: the tables refuse those, and the other callers must not notice.
      return ledger.settle({ ...aBill(executionId, amount), accountId }).catch((error: unknown) => {
        if (sqlState(error) !== "23514") throw error;
        return "too much";
      });
    case "slice": {
      // Now and then by a process that has lost the attempt.
      const holder = { executionId, attempt: 1, processId: amount % 4n === 0n ? "proc_lost" : "proc_a" };
      // Often more than the account has: most of what is asked for must not be held.
      return (await holdSlice(db, { ...holder, amount: microCredits(amount * 4n) })).kind;
    }
    case "release":
      return ledger.release({ ...aFault(executionId), accountId });
    case "sweep":
      return activities.releaseCredits({ executionId, accountId, cause: "terminated" });
    case "grant":
      return grant(db, { accountId, amount: microCredits(amount + 1n), reason: "test" });
    case "adjust":
      return (await adjust(db, { accountId, amount: microCredits(-amount), reason: "test" })).kind;
  }
}
