-- Money by construction. `balance` moves only with ledger entries and `reserved` only with reservations, in the same
-- statement; both are refused to everybody else. docs/credits.md lists what holds.

-- Half of each page is left free, so that new versions of a much used account stay on its page and no index grows.
alter table accounts set (fillfactor = 50);

-- What one statement writes moves an account once, however many rows it has: many executions may hang on one account.
drop trigger ledger_entries_move_balance on ledger_entries;
drop function apply_ledger_entry();
drop trigger accounts_guard_balance on accounts;
drop function guard_balance();

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

-- The account is found, or refused, by the statement that moves it: once for all rows, where a foreign key looks once for
-- each, a quarter of what a reservation costs. From then on the account cannot go: its ledger has what was reserved.
alter table reservations drop constraint reservations_account_id_fkey;
-- Open reservations are found through open executions. This index cost every reservation a sixth.
drop index reservations_open;

create function apply_reservations() returns trigger language plpgsql as $$
declare
  accounts_moved bigint;
begin
  update accounts a set reserved = a.reserved + moved.amount
    from (select account_id, coalesce(sum(amount) filter (where state = 'open'), 0) as amount
            from written group by account_id) moved
   where a.id = moved.account_id;
  get diagnostics accounts_moved = row_count;
  if accounts_moved < (select count(distinct account_id) from written) then
    raise exception 'a reservation needs its account' using errcode = 'foreign_key_violation';
  end if;
  return null;
end $$;

create trigger reservations_move_reserved
  after insert on reservations referencing new table as written
  for each statement execute function apply_reservations();

-- Every row written by an update was open and is closed now: reservations_close_once lets nothing else pass.
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

-- Looks when the transaction ends: the reservation is closed first, because the entry is checked against it.
create constraint trigger reservations_settled_are_charged
  after insert or update on reservations deferrable initially deferred
  for each row when (new.state = 'settled') execute function demand_settlement();

create function refuse_account_change() returns trigger language plpgsql as $$
begin
  raise exception 'accounts.balance moves only through ledger_entries, accounts.reserved only through reservations'
    using errcode = 'restrict_violation';
end $$;

-- At depth 0 somebody other than the triggers above is writing.
create trigger accounts_guard_amounts
  before update of balance, reserved on accounts
  for each row when (pg_trigger_depth() = 0) execute function refuse_account_change();

create trigger accounts_begin_empty
  before insert on accounts
  for each row when (new.balance <> 0 or new.reserved <> 0) execute function refuse_account_change();

create function refuse_execution_delete() returns trigger language plpgsql as $$
begin
  raise exception 'an execution under way cannot be deleted: it may hold credits' using errcode = 'restrict_violation';
end $$;

create trigger executions_keep_open
  before delete on executions for each row when (old.finished_at is null)
  execute function refuse_execution_delete();

-- What an execution was refused for: what it needed, and what was available when its turn came.
create table refusals (
  execution_id  text primary key,
  needed        bigint not null,
  available     bigint not null,
  created_at    timestamptz not null default now(),
  constraint refused_for_lack check (needed > available)
);

create function forget_refusals() returns trigger language plpgsql as $$
begin
  delete from refusals f using gone where f.execution_id = gone.id;
  return null;
end $$;

create trigger executions_forget_refusals
  after delete on executions referencing old table as gone
  for each statement execute function forget_refusals();

-- The cost of past executions, for estimates.
create index executions_costs on executions (workflow_id, finished_at desc) include (charge_total) where state = 'success';

-- The three moves of executions, for many at once. Each is one call, so one transaction: all of it, or nothing.
-- Each locks the accounts first, in the order of their ids. What it reads after that it reads anew, as every statement
-- of a volatile function does; and because every writer of reservations comes through here, nothing of it can change
-- until the end. So there is no race to lose in the middle, and no two calls can wait for each other.
-- Their plans are made once a session and walk indexes, whatever the planner believes of tables it knows nothing about.

-- Of executions that do not fit together, those that fit one after the other in the order asked. Writes down the refused.
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

-- Holds `charge_max` for each of the executions asked for that has no reservation yet, in the order asked. One that does
-- not fit is passed over, and a later one that fits is granted, as if each had asked by itself.
create function reserve_credits(asked text[]) returns table (id text, outcome text)
  language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  account record;
  ids text[];
  amounts bigint[];
  total numeric;
  granted text[] := '{}';
begin
  for account in
    select a.id, a.balance - a.reserved as available from accounts a
     where a.id in (select e.account_id from executions e where e.id = any (asked))
     order by a.id for no key update
  loop
    -- Materialized, so that they are found by their ids and never by their account, which may have millions.
    with named as materialized (
      select e.id, e.account_id, e.charge_max, e.finished_at from executions e where e.id = any (asked)
    )
    select array_agg(n.id), array_agg(n.charge_max), sum(n.charge_max) into ids, amounts, total
      from named n
     where n.account_id = account.id and n.finished_at is null
       and n.id <> all (array(select r.execution_id from reservations r where r.execution_id = any (asked)));
    continue when ids is null;
    if total > account.available then
      select f.ids, f.amounts into ids, amounts from choose_fitting(ids, asked, account.available) f;
    end if;
    insert into reservations (execution_id, account_id, amount, state)
    select u.id, account.id, u.amount, 'open' from unnest(ids, amounts) as u (id, amount);
    granted := granted || ids;
  end loop;
  return query select u.id, 'reserved' from unnest(granted) as u (id);
  if cardinality(granted) < cardinality(asked) then
    return query
      select e.id,
             case when r.state = 'open' then 'reserved'
                  when r.state is not null or e.finished_at is not null then 'closed'
                  else 'insufficient_credits' end
        from executions e left join reservations r on r.execution_id = e.id
       where e.id = any (asked) and e.id <> all (granted);
  end if;
end $$;

-- Ends executions and charges them: closes the reservation, writes the ledger entry, announces the end. Answers those
-- that this call ended. Of two bills of one execution the first counts; one without an open reservation is left alone.
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

-- Ends executions without a charge and frees all they held; closes also those that hold nothing yet, so that a slow
-- reservation arriving later finds them closed. Answers those that this call ended. Of two for one execution the first counts.
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
