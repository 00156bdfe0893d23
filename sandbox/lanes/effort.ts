/** Of the time, that starting lanes may take in the long run. */
const START_SHARE = 0.1;

/** What starting lanes has taken: those of one code, or those of one account that no call has asked for yet. */
export interface Effort {
  /** Seconds that starts have taken, less what has been made up for by `at`. */
  debt: { readonly seconds: number; readonly at: number };
  /** No lane is started before. */
  restUntil: number;
}

/** Returns an effort of nothing yet. */
export function createEffort(): Effort {
  return { debt: { seconds: 0, at: 0 }, restUntil: 0 };
}

/**
 * Counts a start that began at `startedAt` and ends now. It runs code of packages that nobody pays for. Who took
 * `burstSeconds` rests until that is no more than a tenth of the time.
 */
export function noteStart(effort: Effort, startedAt: number, burstSeconds: number): void {
  const now = Date.now();
  effort.debt = { seconds: countDebt(effort, startedAt) + (now - startedAt) / 1000, at: now };
  const over = effort.debt.seconds - burstSeconds;
  if (over >= 0) effort.restUntil = Math.max(effort.restUntil, now + (over / START_SHARE) * 1000);
}

/** Returns the seconds that are not made up for at `now`. */
export function countDebt({ debt }: Effort, now: number): number {
  return Math.max(0, debt.seconds - ((now - debt.at) / 1000) * START_SHARE);
}

/** Returns what finds the effort of an account. Those that have made up for theirs are forgotten. */
export function createEfforts(): (accountId: string | undefined) => Effort {
  const efforts = new Map<string | undefined, Effort>();
  return (accountId) => {
    const now = Date.now();
    for (const [known, effort] of efforts) if (countDebt(effort, now) === 0) efforts.delete(known);
    const effort = efforts.get(accountId) ?? createEffort();
    efforts.set(accountId, effort);
    return effort;
  };
}
