export const REFUSED = "23001";
const CONTRADICTS = "23000";
const CHECKED = "23514";
const TWICE = "23505";
const UNKNOWN = "23503";

const close = (state: string, id: string): string =>
  `update reservations set state = '${state}', closed_at = now() where execution_id = ${id}`;
const enter = (values: string): string =>
  `insert into ledger_entries (account_id, kind, amount, execution_id) values (${values})`;
const hold = (values: string): string =>
  `insert into reservations (execution_id, account_id, amount, state, closed_at) values (${values})`;
const drop = (trigger: string, table: string): string => `drop trigger ${trigger} on ${table}`;
const uncheck = (table: string, constraint: string): string => `alter table ${table} drop constraint ${constraint}`;

const KEEP_LEDGER = drop("ledger_entries_append_only", "ledger_entries");
const CLOSE_ONCE = drop("reservations_close_once", "reservations");
const GUARD = drop("accounts_guard_amounts", "accounts");
const COVERED = uncheck("accounts", "balance_covers_reserved");

/**
 * What somebody tries, what the database says, and the guard without which it would go through. Names after a colon are
 * an account, executions by the state of their reservation (`fresh` has none), and another account.
 */
export const ATTACKS: readonly (readonly [what: string, attack: string, state: string, guard: string])[] = [
  ["an entry is changed", "update ledger_entries set amount = amount + 1", REFUSED, KEEP_LEDGER],
  ["an entry is deleted", "delete from ledger_entries", REFUSED, KEEP_LEDGER],
  ["no entry matches a deletion", "delete from ledger_entries where false", REFUSED, KEEP_LEDGER],
  ["the ledger is emptied", "truncate ledger_entries", REFUSED, KEEP_LEDGER],
  [
    "the accounts are emptied with all that names them",
    "truncate accounts cascade",
    REFUSED,
    `${KEEP_LEDGER}; ${drop("reservations_keep_all", "reservations")}`,
  ],
  ["a balance is set", "update accounts set balance = balance + 1 where id = :account", REFUSED, GUARD],
  ["a reserved amount is set", "update accounts set reserved = reserved - 1 where id = :account", REFUSED, GUARD],
  [
    "an account begins with a balance",
    "insert into accounts (id, name, balance) values ('acct_' || repeat('9', 20), 'rich', 1)",
    REFUSED,
    drop("accounts_begin_empty", "accounts"),
  ],
  [
    "an account begins with something reserved",
    "insert into accounts (id, name, balance, reserved) values ('acct_' || repeat('9', 20), 'rich', 1, 1)",
    REFUSED,
    drop("accounts_begin_empty", "accounts"),
  ],
  [
    "a settlement has an execution that holds its reservation open",
    enter("cast(:account as text), 'settlement', -1, cast(:open as text)"),
    CONTRADICTS,
    drop("ledger_entries_move_balance", "ledger_entries"),
  ],
  [
    "a settlement has an execution that was released",
    enter("cast(:account as text), 'settlement', 0, cast(:released as text)"),
    CONTRADICTS,
    drop("ledger_entries_move_balance", "ledger_entries"),
  ],
  [
    "a settlement has an execution without a reservation",
    enter("cast(:account as text), 'settlement', -1, cast(:fresh as text)"),
    CONTRADICTS,
    drop("ledger_entries_move_balance", "ledger_entries"),
  ],
  [
    "a settlement is of another account than its reservation",
    `${close("settled", ":open")}; ${enter("cast(:other as text), 'settlement', -1, cast(:open as text)")}`,
    CONTRADICTS,
    drop("ledger_entries_move_balance", "ledger_entries"),
  ],
  [
    "a settlement takes more than was reserved",
    `${close("settled", ":open")}; ${enter("cast(:account as text), 'settlement', -1001, cast(:open as text)")}`,
    CONTRADICTS,
    drop("ledger_entries_move_balance", "ledger_entries"),
  ],
  [
    "an execution is settled a second time",
    enter("cast(:account as text), 'settlement', -1, cast(:settled as text)"),
    TWICE,
    uncheck("ledger_entries", "one_settlement_per_execution"),
  ],
  [
    "a settlement gives",
    `${close("settled", ":open")}; ${enter("cast(:account as text), 'settlement', 1, cast(:open as text)")}`,
    CHECKED,
    uncheck("ledger_entries", "settlement_takes"),
  ],
  [
    "a settlement names no execution",
    enter("cast(:account as text), 'settlement', 0, null"),
    CHECKED,
    `${uncheck("ledger_entries", "settlement_names_execution")}; ${drop("ledger_entries_move_balance", "ledger_entries")}`,
  ],
  [
    "a grant takes",
    enter("cast(:account as text), 'grant', -1, null"),
    CHECKED,
    uncheck("ledger_entries", "grant_gives"),
  ],
  [
    "a grant has no account",
    enter("'acct_' || repeat('9', 20), 'grant', 1, null"),
    UNKNOWN,
    uncheck("ledger_entries", "ledger_entries_account_id_fkey"),
  ],
  [
    "an adjustment takes what is reserved",
    enter("cast(:account as text), 'adjustment', -1901, null"),
    CHECKED,
    COVERED,
  ],
  [
    "a reservation holds more than is available",
    hold("cast(:fresh as text), cast(:account as text), 1901, 'open', null"),
    CHECKED,
    COVERED,
  ],
  [
    "a reservation holds less than nothing",
    hold("cast(:fresh as text), cast(:account as text), -1, 'open', null"),
    CHECKED,
    uncheck("reservations", "reservations_amount_check"),
  ],
  [
    "a reservation is of an account that is not there",
    hold("cast(:fresh as text), 'acct_' || repeat('9', 20), 0, 'released', now()"),
    UNKNOWN,
    drop("reservations_move_reserved", "reservations"),
  ],
  [
    "an execution gets a second reservation",
    hold("cast(:settled as text), cast(:account as text), 1, 'open', null"),
    TWICE,
    uncheck("reservations", "reservations_pkey"),
  ],
  [
    "a reservation begins as settled, without an entry",
    hold("cast(:fresh as text), cast(:account as text), 1, 'settled', now()"),
    CONTRADICTS,
    drop("reservations_settled_are_charged", "reservations"),
  ],
  [
    "a reservation is settled without an entry",
    close("settled", ":open"),
    CONTRADICTS,
    drop("reservations_settled_are_charged", "reservations"),
  ],
  [
    "a released reservation is opened again",
    "update reservations set state = 'open', closed_at = null where execution_id = :released",
    REFUSED,
    `${CLOSE_ONCE}; ${drop("reservations_free_reserved", "reservations")}`,
  ],
  [
    "a settled reservation is released",
    close("released", ":settled"),
    REFUSED,
    `${CLOSE_ONCE}; ${drop("reservations_free_reserved", "reservations")}`,
  ],
  [
    "an open reservation holds less from now on",
    "update reservations set amount = 1 where execution_id = :open",
    REFUSED,
    CLOSE_ONCE,
  ],
  [
    "a reservation is closed as of another account",
    "update reservations set state = 'released', closed_at = now(), account_id = :other where execution_id = :open",
    REFUSED,
    `${CLOSE_ONCE}; ${drop("reservations_free_reserved", "reservations")}`,
  ],
  [
    "a reservation is closed with another amount",
    "update reservations set state = 'released', closed_at = now(), amount = 999 where execution_id = :open",
    REFUSED,
    CLOSE_ONCE,
  ],
  [
    "an open reservation is deleted",
    "delete from reservations where execution_id = :open",
    REFUSED,
    drop("reservations_keep_open", "reservations"),
  ],
  [
    "the reservations are emptied while one is open",
    "truncate reservations",
    REFUSED,
    drop("reservations_keep_all", "reservations"),
  ],
  [
    "a reservation is closed and not closed",
    "update reservations set state = 'released' where execution_id = :open",
    CHECKED,
    uncheck("reservations", "closed_when_not_open"),
  ],
  [
    "an execution under way is deleted",
    "delete from executions where id = :open",
    REFUSED,
    drop("executions_keep_open", "executions"),
  ],
  [
    "an execution is charged more than was reserved",
    "update executions set charge_total = charge_max + 1 where id = :settled",
    CHECKED,
    uncheck("executions", "charged_at_most_reserved"),
  ],
];
