import type { AccountId } from "../../domain/ids.ts";

/** Something that an account holds, in the unit of what is scarce. */
export interface Holding {
  /** Undefined stands for one account, too. */
  readonly accountId: AccountId | undefined;
  readonly amount: number;
}

/**
 * Returns what goes first of `mayGo`: the first of the account that holds most of `all`. Where it goes for something
 * that `wanting` gets, accounts that hold less than that one lose nothing. Undefined when nothing may go.
 */
export function chooseToGo<Item extends Pick<Holding, "accountId">>(
  all: readonly Holding[],
  mayGo: readonly Item[],
  wanting?: Pick<Holding, "accountId">,
): Item | undefined {
  const held = new Map<AccountId | undefined, number>();
  for (const { accountId, amount } of all) held.set(accountId, (held.get(accountId) ?? 0) + amount);
  const amountOf = ({ accountId }: Pick<Holding, "accountId">): number => held.get(accountId) ?? 0;
  const least = wanting === undefined ? 0 : amountOf(wanting);
  const [first, ...others] = mayGo.filter((item) => amountOf(item) >= least);
  return others.reduce<Item | undefined>(
    (most, item) => (most !== undefined && amountOf(item) > amountOf(most) ? item : most),
    first,
  );
}
