-- Executions that are sent twice, and executions that wait for others of their workflow.

alter table executions
  -- When it was let in: at once, or when its turn came. Null while it waits for others of its workflow.
  add column admitted_at timestamptz default now(),
  -- Its commit bounds how many executions of the workflow are under way: its end may let the next one in.
  add column limited boolean not null default false,
  -- Its place in the queue of its workflow, if it had to wait: lower ones are let in first.
  add column turn bigint,
  add constraint running_when_admitted check (admitted_at is not null or state <> 'running'),
  add constraint waiting_has_turn check (admitted_at is not null or turn is not null),
  add constraint key_with_fingerprint check ((idempotency_key is null) = (fingerprint is null));

-- Those under way, by workflow, so that they are counted; whoever wants all of them finds few enough to sort.
drop index executions_open;
create index executions_open on executions (workflow_id, admitted_at)
  where state in ('queued', 'running') and admitted_at is not null;
create unique index executions_waiting on executions (workflow_id, turn) where state = 'queued' and admitted_at is null;

-- An execution that was refused gives its key back by leaving this index, in the statement that refuses it.
drop index executions_idempotency;
create unique index executions_idempotency on executions (workflow_id, idempotency_key)
  where idempotency_key is not null and (failure is null or failure = 'internal');
create index executions_keyed on executions (created_at) where idempotency_key is not null;

-- Whoever counts what is under way for a workflow, in order to add to it, does so alone, until its transaction ends.
create function lock_admission(workflow text) returns void language sql as $$
  select pg_advisory_xact_lock(7283515, hashtext(workflow));
$$;

-- Lets in as many waiting executions, in the order they came, as the workflow's latest commit allows beside those under
-- way; all when it no longer sets a bound. They are counted anew each time, so that no place can get lost. Each is announced.
create function admit_executions(workflow text) returns setof text language plpgsql set enable_seqscan = off as $$
declare
  most int;
  places bigint;
begin
  perform lock_admission(workflow);
  select cast(c.manifest -> 'concurrency' ->> 'executionsMax' as int) into most
    from workflows w join commits c on c.workflow_id = w.id and c.id = w.head
   where w.id = workflow;
  select case when most is not null then greatest(most - count(*), 0) end into places
    from executions e
   where e.workflow_id = workflow and e.state in ('queued', 'running') and e.admitted_at is not null;
  return query
    with next as (
      select e.id from executions e
       where e.workflow_id = workflow and e.admitted_at is null and e.state = 'queued'
       order by e.turn limit places
    ), admitted as (
      update executions e set admitted_at = clock_timestamp() from next where e.id = next.id returning e.id
    )
    select a.id from admitted a, pg_notify('execution_admitted', a.id);
end $$;

create function admit_next() returns trigger language plpgsql as $$
begin
  perform admit_executions(new.workflow_id);
  return null;
end $$;

-- In the transaction that ends an execution: there is no moment at which a place is free and nobody knows.
create trigger executions_admit_next
  after update on executions
  for each row when (old.finished_at is null and new.finished_at is not null and new.limited)
  execute function admit_next();
