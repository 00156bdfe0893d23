-- Money by construction. `balance` moves only with ledger entries and `reserved` only with reservations, in the same
-- statement; every other write to them is refused. Only db/ledger/credits.ts writes these tables. docs/credits.md lists what holds.

-- `account_id` has no foreign key. The statement that moves the account finds or refuses it once for all rows, where a foreign
-- key looks once for each row: a quarter of what a reservation costs. After that the account cannot go, because its ledger
-- has what was reserved. Nor is there an index of open reservations (a sixth of the cost): open executions lead to them.
create table reservations (
  execution_id  text primary key,
  account_id    text not null,
  amount        bigint not null check (amount >= 0),
  state         text not null check (state in ('open', 'settled', 'released')),
  created_at    timestamptz not null default now(),
  closed_at     timestamptz,
  constraint closed_when_not_open check ((state = 'open') = (closed_at is null))
);

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

-- What was refused: how much the execution needed, and how much was available when its turn came.
create table refusals (
  execution_id  text primary key,
  needed        bigint not null,
  available     bigint not null,
  created_at    timestamptz not null default now(),
  constraint refused_for_lack check (needed > available)
);

-- Charges of executions that went before `execution_days` counted them, so that the days can be compared with the ledger.
-- Written once, by the version that began to count days.
create table uncounted_charges (
  account_id  text primary key references accounts (id),
  amount      bigint not null
);

-- The ledger only grows.

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'ledger_entries is append-only' using errcode = 'restrict_violation';
end $$;

create trigger ledger_entries_append_only
  before update or delete or truncate on ledger_entries
  for each statement execute function refuse_change();

-- A statement moves an account once, however many rows it writes: many executions may use one account.

create function apply_ledger_entries() returns trigger language plpgsql as $$
begin
  if exists (
    select from entries
      left join reservations r on r.execution_id = entries.execution_id and r.account_id = entries.account_id
           and r.state = 'settled' and r.amount >= -entries.amount
     where entries.kind = 'settlement' and r.execution_id is null
  ) then
    raise exception 'a settlement needs a settled reservation of its account that covers it'
      using errcode = 'integrity_constraint_violation';
  end if;
  update accounts a set balance = a.balance + moved.amount
    from (select account_id, sum(amount) as amount from entries group by account_id) moved
   where a.id = moved.account_id;
  return null;
end $$;

create trigger ledger_entries_move_balance
  after insert on ledger_entries referencing new table as entries
  for each statement execute function apply_ledger_entries();

create function apply_reservations() returns trigger language plpgsql as $$
declare
  missing bigint;
begin
  with moved as (
    select account_id, coalesce(sum(amount) filter (where state = 'open'), 0) as amount from written group by account_id
  ), applied as (
    update accounts a set reserved = a.reserved + moved.amount from moved where a.id = moved.account_id returning a.id
  )
  select (select count(*) from moved) - (select count(*) from applied) into missing;
  if missing > 0 then
    raise exception 'a reservation needs its account' using errcode = 'foreign_key_violation';
  end if;
  return null;
end $$;

create trigger reservations_move_reserved
  after insert on reservations referencing new table as written
  for each statement execute function apply_reservations();

-- Every row of an update was open and is closed now: reservations_close_once refuses everything else.
create function apply_closed_reservations() returns trigger language plpgsql as $$
begin
  update accounts a set reserved = a.reserved - moved.amount
    from (select account_id, sum(amount) as amount from written group by account_id) moved
   where a.id = moved.account_id and moved.amount > 0;
  return null;
end $$;

create trigger reservations_free_reserved
  after update on reservations referencing new table as written
  for each statement execute function apply_closed_reservations();

create function refuse_account_change() returns trigger language plpgsql as $$
begin
  raise exception 'accounts.balance moves only through ledger_entries, accounts.reserved only through reservations'
    using errcode = 'restrict_violation';
end $$;

-- At depth 0 the writer is not one of the triggers above.
create trigger accounts_guard_amounts
  before update of balance, reserved on accounts
  for each row when (pg_trigger_depth() = 0) execute function refuse_account_change();

create trigger accounts_begin_empty
  before insert on accounts
  for each row when (new.balance <> 0 or new.reserved <> 0) execute function refuse_account_change();

-- A reservation ends once, and a settled one has its ledger entry.

create function refuse_reservation_change() returns trigger language plpgsql as $$
begin
  raise exception 'a reservation changes once, from open to settled or released' using errcode = 'restrict_violation';
end $$;

create trigger reservations_close_once
  before update on reservations for each row
  when (old.state <> 'open' or new.state = 'open' or new.execution_id <> old.execution_id
        or new.account_id <> old.account_id or new.amount <> old.amount)
  execute function refuse_reservation_change();

create trigger reservations_keep_open
  before delete on reservations for each row when (old.state = 'open')
  execute function refuse_reservation_change();

create function refuse_emptying() returns trigger language plpgsql as $$
begin
  if exists (select from reservations where state = 'open') then
    raise exception 'open reservations cannot be deleted' using errcode = 'restrict_violation';
  end if;
  return null;
end $$;

create trigger reservations_keep_all
  before truncate on reservations for each statement execute function refuse_emptying();

create function demand_settlement() returns trigger language plpgsql as $$
begin
  if not exists (select from ledger_entries l where l.execution_id = new.execution_id and l.kind = 'settlement') then
    raise exception 'a settled reservation needs its ledger entry' using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;

-- It looks when the transaction ends: the reservation is closed first, because the entry is checked against it.
create constraint trigger reservations_settled_are_charged
  after insert or update on reservations deferrable initially deferred
  for each row when (new.state = 'settled') execute function demand_settlement();

create function forget_refusals() returns trigger language plpgsql as $$
begin
  delete from refusals f using gone where f.execution_id = gone.id;
  return null;
end $$;

create trigger executions_forget_refusals
  after delete on executions referencing old table as gone
  for each statement execute function forget_refusals();

-- The three moves of executions, for many at once. Each is one call, so one transaction: all of it, or nothing. Each locks the
-- accounts first, in the order of their ids, and reads everything else after that. A statement of a volatile function sees what
-- was committed before it began, and every writer of reservations comes through here: what was read cannot change until the
-- end. So no race can be lost in the middle, and no two calls can wait for each other.
-- Their plans are made once a session and walk indexes, because the planner has no statistics of new tables.

-- Returns the executions that fit one after the other, in the order asked, when not all fit together. Records the refused.
create function choose_fitting(wanted text[], asked text[], available bigint, out ids text[], out amounts bigint[])
  language plpgsql as $$
declare
  one record;
  free bigint := available;
  refused text[] := '{}';
  needs bigint[] := '{}';
  lefts bigint[] := '{}';
begin
  ids := '{}';
  amounts := '{}';
  for one in
    select e.id, e.charge_max as amount from executions e
      join (select u.id, min(u.position) as position from unnest(asked) with ordinality as u (id, position) group by 1) a
        on a.id = e.id
     where e.id = any (wanted) order by a.position
  loop
    if one.amount <= free then
      free := free - one.amount;
      ids := ids || one.id;
      amounts := amounts || one.amount;
    else
      refused := refused || one.id;
      needs := needs || one.amount;
      lefts := lefts || free;
    end if;
  end loop;
  insert into refusals (execution_id, needed, available) select u.* from unnest(refused, needs, lefts) as u
      on conflict (execution_id) do update
     set needed = excluded.needed, available = excluded.available, created_at = now();
end $$;

-- Holds `charge_max` for each of the executions that has no reservation yet, in the order asked. It passes over one that does
-- not fit and grants a later one that fits, as if each had asked by itself. All are of one account.
-- Returns a letter for each, in that order, because rows cost their reader more than the reservations cost the account:
-- `r` reserved, `i` insufficient credits, `c` closed before, `u` unknown.
-- The account is locked first: what is read after that cannot change until the end. There is one lock, so no two calls can
-- wait for each other. Nearly always every execution is new and all fit: then the first insert is all.
create function reserve_credits(asked text[]) returns text
  language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  account record;
  fresh text[];
  chosen record;
  granted bigint;
begin
  select a.id, a.balance - a.reserved as available into account from accounts a
   where a.id = (select e.account_id from executions e where e.id = any (asked) limit 1) for no key update;

  -- Materialized, so that they are found by their ids and never by their account, which may have millions.
  with named as materialized (
    select e.id, e.account_id, e.charge_max from executions e
     where e.id = any (asked) and e.finished_at is null
       and e.id <> all (array(select r.execution_id from reservations r where r.execution_id = any (asked)))
  )
  insert into reservations (execution_id, account_id, amount, state)
  select n.id, n.account_id, n.charge_max, 'open' from named n
   where (select sum(n.charge_max) <= account.available and bool_and(n.account_id = account.id) from named n);
  get diagnostics granted = row_count;
  if granted = cardinality(asked) then return repeat('r', cardinality(asked)); end if;

  if exists (select from executions e where e.id = any (asked) and e.account_id <> account.id) then
    raise exception 'executions that are reserved together must be of one account' using errcode = 'invalid_parameter_value';
  end if;
  if granted = 0 then
    fresh := array(select e.id from executions e where e.id = any (asked) and e.finished_at is null
                      and e.id <> all (array(select r.execution_id from reservations r where r.execution_id = any (asked))));
    if cardinality(fresh) > 0 then
      select f.ids, f.amounts into chosen from choose_fitting(fresh, asked, account.available) f;
      insert into reservations (execution_id, account_id, amount, state)
      select u.id, account.id, u.amount, 'open' from unnest(chosen.ids, chosen.amounts) as u (id, amount);
    end if;
  end if;

  return (
    with named as materialized (
      select e.id, e.finished_at from executions e where e.id = any (asked)
    ), held as materialized (
      select r.execution_id as id, r.state from reservations r where r.execution_id = any (asked)
    )
    select string_agg(
             case when n.id is null then 'u'
                  when h.state = 'open' then 'r'
                  when h.state is not null or n.finished_at is not null then 'c'
                  else 'i' end, '' order by a.position)
      from unnest(asked) with ordinality as a (id, position)
      left join named n on n.id = a.id
      left join held h on h.id = a.id
  );
end $$;

-- Ends executions and charges them: closes the reservation, writes the ledger entry, notifies of the end. Returns the ids that
-- this call ended. The first of two bills of one execution counts. It leaves executions without an open reservation alone.
create function settle_executions(
  ids text[], statuses text[], seconds numeric[], computes bigint[], totals bigint[], channel text
) returns setof text language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  ended text[];
begin
  perform from accounts a where a.id in (select e.account_id from executions e where e.id = any (ids))
    order by a.id for no key update;
  with bills as (
    select distinct on (u.id) u.*
      from unnest(ids, statuses, seconds, computes, totals) with ordinality as u (id, status, seconds, compute, total, position)
     order by u.id, u.position
  ), updated as (
    update executions e
       set state = b.status, finished_at = clock_timestamp(), seconds_used = b.seconds,
           charge_compute = b.compute, charge_total = b.total,
           message = coalesce((select t.message from attempts t where t.execution_id = e.id and t.status is not null
                                order by t.attempt desc limit 1), '')
      from bills b
     where e.id = b.id and e.state in ('queued', 'running')
       and exists (select from reservations r where r.execution_id = e.id and r.state = 'open')
    returning e.id
  )
  select coalesce(array_agg(u.id), '{}') into ended from updated u;
  update reservations r set state = 'settled', closed_at = now() where r.execution_id = any (ended);
  insert into ledger_entries (account_id, kind, amount, execution_id)
  select e.account_id, 'settlement', -e.charge_total, e.id from executions e where e.id = any (ended);
  perform pg_notify(channel, u.id) from unnest(ended) as u (id);
  return query select u.id from unnest(ended) as u (id);
end $$;

-- Ends executions without a charge and frees all they held. It also closes executions that hold nothing yet, so that a slow
-- reservation arriving later finds them closed. Returns the ids that this call ended. The first of two for one execution counts.
create function release_executions(ids text[], statuses text[], failures text[], messages text[], channel text)
  returns setof text language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  ended text[];
begin
  perform from accounts a where a.id in (select e.account_id from executions e where e.id = any (ids))
    order by a.id for no key update;
  with releases as (
    select distinct on (u.id) u.*
      from unnest(ids, statuses, failures, messages) with ordinality as u (id, status, failure, message, position)
     order by u.id, u.position
  ), updated as (
    update executions e
       set state = f.status, failure = f.failure, message = f.message, finished_at = clock_timestamp()
      from releases f
     where e.id = f.id and e.state in ('queued', 'running')
    returning e.id
  )
  select coalesce(array_agg(u.id), '{}') into ended from updated u;
  update reservations r set state = 'released', closed_at = now() where r.execution_id = any (ended) and r.state = 'open';
  insert into reservations (execution_id, account_id, amount, state, closed_at)
  select e.id, e.account_id, 0, 'released', now() from executions e where e.id = any (ended)
      on conflict (execution_id) do nothing;
  perform pg_notify(channel, u.id) from unnest(ended) as u (id);
  return query select u.id from unnest(ended) as u (id);
end $$;
