-- What is held for an execution is what one attempt can cost. An attempt after another one raises it, before it begins, to what was used
-- and one attempt more. So a reservation may grow while it is open; it is still settled or released once, and covers what is charged.
create or replace function refuse_reservation_change() returns trigger language plpgsql as $$
begin
  raise exception 'a reservation grows while it is open, and changes once, to settled or released' using errcode = 'restrict_violation';
end $$;

drop trigger reservations_close_once on reservations;
create trigger reservations_close_once
  before update on reservations for each row
  when (old.state <> 'open' or new.execution_id <> old.execution_id or new.account_id <> old.account_id
        or (new.state = 'open' and new.amount <= old.amount) or (new.state <> 'open' and new.amount <> old.amount))
  execute function refuse_reservation_change();

-- Every row of an update was open before: reservations_close_once refuses everything else.
create or replace function apply_closed_reservations() returns trigger language plpgsql as $$
begin
  update accounts a set reserved = a.reserved + moved.amount
    from (select account_id, sum(amount) as amount
            from (select account_id, amount from written where state = 'open'
                  union all select account_id, -amount from before) parts
           group by account_id) moved
   where a.id = moved.account_id and moved.amount <> 0;
  return null;
end $$;

drop trigger reservations_free_reserved on reservations;
create trigger reservations_free_reserved
  after update on reservations referencing old table as before new table as written
  for each statement execute function apply_closed_reservations();

-- Raises what is held for an execution, and the most it can be charged, to `wanted`. Returns null where that much is held now, or
-- nothing is held at all; otherwise what the account has available, which is less than it takes. The account is locked first.
create function raise_reservation(raised text, wanted bigint) returns bigint
  language plpgsql as $$
declare
  free bigint;
  held bigint;
begin
  select a.balance - a.reserved into free from accounts a
   where a.id = (select e.account_id from executions e where e.id = raised) for no key update;
  select r.amount into held from reservations r where r.execution_id = raised and r.state = 'open';
  if held is null or wanted <= held then return null; end if;
  if wanted - held > free then return free; end if;
  update executions set charge_max = wanted where id = raised;
  update reservations set amount = wanted where execution_id = raised;
  return null;
end $$;
