-- Accounts and money. All amounts are whole micro-credits (1 credit = 1,000,000).
-- Only db/credits.ts writes balance, reserved, ledger_entries and reservations.

create table accounts (
  id          text primary key check (id ~ '^acct_[0-9a-z]{16,40}$'),
  name        text not null unique check (length(name) between 1 and 200),
  balance     bigint not null default 0,
  reserved    bigint not null default 0,
  created_at  timestamptz not null default now(),
  constraint reserved_not_negative check (reserved >= 0),
  constraint balance_covers_reserved check (balance >= reserved)
);

create table reservations (
  execution_id  text primary key,
  account_id    text not null references accounts (id),
  amount        bigint not null check (amount >= 0),
  state         text not null check (state in ('open', 'settled', 'released')),
  created_at    timestamptz not null default now(),
  closed_at     timestamptz,
  constraint closed_when_not_open check ((state = 'open') = (closed_at is null))
);
create index reservations_open on reservations (account_id) where state = 'open';

create table ledger_entries (
  id            bigint generated always as identity primary key,
  account_id    text not null references accounts (id),
  kind          text not null check (kind in ('grant', 'settlement', 'adjustment')),
  amount        bigint not null,
  execution_id  text,
  reason        text not null default '',
  created_at    timestamptz not null default now(),
  constraint settlement_names_execution check ((kind = 'settlement') = (execution_id is not null)),
  constraint settlement_takes check (kind <> 'settlement' or amount <= 0),
  constraint grant_gives check (kind <> 'grant' or amount > 0),
  constraint one_settlement_per_execution unique (execution_id)
);
create index ledger_entries_account on ledger_entries (account_id, id);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'ledger_entries is append-only' using errcode = 'restrict_violation';
end $$;

create trigger ledger_entries_append_only
  before update or delete or truncate on ledger_entries
  for each statement execute function refuse_change();

-- The balance is the sum of the ledger because nothing else may move it: an entry moves it, in the same statement.
create function apply_ledger_entry() returns trigger language plpgsql as $$
begin
  perform set_config('treadle.ledger', 'on', true);
  update accounts set balance = balance + new.amount where id = new.account_id;
  perform set_config('treadle.ledger', 'off', true);
  return null;
end $$;

create trigger ledger_entries_move_balance
  after insert on ledger_entries
  for each row execute function apply_ledger_entry();

create function guard_balance() returns trigger language plpgsql as $$
begin
  if new.balance <> (case tg_op when 'INSERT' then 0 else old.balance end)
     and coalesce(current_setting('treadle.ledger', true), 'off') <> 'on' then
    raise exception 'accounts.balance moves only through ledger_entries' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;

create trigger accounts_guard_balance
  before insert or update of balance on accounts
  for each row execute function guard_balance();
