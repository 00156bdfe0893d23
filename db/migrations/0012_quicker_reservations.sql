-- Reservations of a busy account, with less work for each statement and each of its executions.

drop function reserve_credits(text[]);

-- Holds `charge_max` for each of the executions asked for that has no reservation yet, in the order asked. One that does
-- not fit is passed over, and a later one that fits is granted, as if each had asked by itself. All are of one account.
-- Answers a letter for each, in that order, because rows cost their reader more than the reservations cost the account:
-- `r` reserved, `i` insufficient credits, `c` closed before, `u` unknown.
-- The account is locked first, so that what is read after that cannot change until the end; and there is one lock, so
-- that no two calls can wait for each other. Nearly always nobody was asked for before, and all fit: then that is all.
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

create or replace function apply_reservations() returns trigger language plpgsql as $$
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
