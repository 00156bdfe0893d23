import type { AttemptRow, ExecutionRow } from "../evidence.ts";
import type { Case, Finding } from "./case.ts";
import { groupBy } from "./groups.ts";

/** What the run's service charges, in micro-credits: `TREADLE_CREDITS_PER_CPU_SECOND`, `TREADLE_CREDITS_PER_EXECUTION`. */
export const PRICES = { perCpuSecond: 10_000, perExecution: 1_000 };

/** No charge twice, none for our faults, nothing left reserved, and every sum exact. */
export function checkMoney(given: Case): Finding[] {
  const { evidence } = given;
  const strangers = [...evidence.reservations, ...evidence.ledger].flatMap(({ execution_id }) =>
    execution_id === null || given.execution.has(execution_id)
      ? []
      : [{ rule: "money_of_nobody", subject: execution_id, text: "is not in the record, and has moved credits" }],
  );
  return [...evidence.executions.flatMap((row) => checkCharge(given, row)), ...strangers, ...checkAccounts(given)];
}

function checkCharge(given: Case, row: ExecutionRow): Finding[] {
  const findings: Finding[] = [];
  const find = (rule: string, text: string): void => void findings.push({ rule, subject: row.id, text });
  const reservations = given.reservationsOf.get(row.id) ?? [];
  const settlements = given.settlementsOf.get(row.id) ?? [];
  const charged = -settlements.reduce((sum, { amount }) => sum + amount, 0);
  const [reservation] = reservations;
  if (reservations.length > 1) find("reserved_twice", `has ${reservations.length} reservations`);
  if (settlements.length > 1) find("charged_twice", `has ${settlements.length} settlements`);
  if (reservations.some(({ state }) => state === "open")) find("held", "still holds its reservation");
  if (charged !== row.charge_total) find("charge", `was charged ${charged}, and its record says ${row.charge_total}`);
  if (row.failure !== null && charged !== 0) find("charged_for_our_fault", `was charged ${charged} (${row.failure})`);
  if (reservation?.state === "released" && settlements.length > 0) find("charge", "was released, and charged");
  if (reservation?.state === "settled" && settlements.length === 0) find("charge", "was settled without a settlement");
  if (reservation?.state === "settled" && charged > reservation.amount)
    find("charge", `was charged ${charged}, and had reserved ${reservation.amount}`);
  if (row.finished_at !== null && reservation === undefined) find("held", "has ended without its reservation");
  if (reservation?.state === "settled") {
    const [compute, total] = priceOf(row, given.attemptsOf.get(row.id) ?? []);
    if (row.charge_compute !== compute || row.charge_total !== total)
      find(
        "price",
        `of ${row.seconds_used} s is ${compute} and ${total}, not ${row.charge_compute} and ${row.charge_total}`,
      );
  }
  const used = (given.attemptsOf.get(row.id) ?? []).reduce((sum, { seconds_used }) => sum + seconds_used, 0);
  const expected = reservation?.state === "settled" ? Math.min(used, row.timeout_seconds * row.attempts_max) : 0;
  if (Math.abs(row.seconds_used - expected) > 0.0005)
    find("seconds", `has ${row.seconds_used} s on its bill, and its attempts used ${expected} s`);
  return findings;
}

/** Compute, and the whole, of what was used; rounded half up to a micro-credit. */
function priceOf(
  { state, seconds_used, cpu, timeout_seconds, attempts_max }: ExecutionRow,
  attempts: readonly AttemptRow[],
): [compute: number, total: number] {
  if (state === "cancelled" && seconds_used === 0) return [0, 0];
  const processor = attempts.reduce((sum, { processor_seconds }) => sum + processor_seconds, 0);
  const processorMs = Math.round(Math.min(processor, cpu * timeout_seconds * attempts_max) * 1000);
  const cpuMs = Math.max(Math.round(cpu * 1000) * Math.round(seconds_used * 1000), processorMs * 1000);
  const exact = cpuMs * PRICES.perCpuSecond;
  const compute = Math.floor((exact + 500_000) / 1_000_000);
  return [compute, compute + PRICES.perExecution];
}

function checkAccounts({ evidence }: Case): Finding[] {
  const entries = groupBy(evidence.ledger, ({ account_id }) => account_id);
  return evidence.accounts.flatMap(({ id, balance, reserved }) => {
    const sum = (entries.get(id) ?? []).reduce((total, { amount }) => total + amount, 0);
    return [
      ...(reserved === 0 ? [] : [{ rule: "held", subject: id, text: `has ${reserved} reserved when nothing runs` }]),
      ...(balance === sum
        ? []
        : [{ rule: "balance", subject: id, text: `is ${balance}, its ledger adds up to ${sum}` }]),
      ...(balance >= 0 ? [] : [{ rule: "balance", subject: id, text: `is ${balance}` }]),
    ];
  });
}
