-- Where a call wants its result, beside its answer: the address that it gave. What a row says of the receiver is sealed under the
-- account's data key.
create table call_receivers (
  execution_id text primary key references executions (id) on delete cascade,
  target       bytea not null,
  -- What the message is signed with; null: with nothing.
  secret       bytea,
  -- What links in the result begin with, as in the answer of the call.
  api_url      text not null
);

-- The result of a call goes to no place.
alter table notices
  alter column place_id drop not null,
  drop constraint notices_kind_check,
  add constraint notices_kind_check check (kind in ('failure', 'recovery', 'missed', 'slow', 'disabled', 'result', 'test')),
  drop constraint run_is_named,
  add constraint run_is_named check ((kind in ('failure', 'recovery', 'slow', 'result')) = (execution_id is not null)),
  add constraint result_has_no_place check ((kind = 'result') = (place_id is null));
create unique index notices_result on notices (execution_id) where kind = 'result';

-- The execution was accepted in the same statement, as for listen_to_end.
create function send_result(new_id text, target bytea, secret bytea, api_url text) returns boolean language plpgsql as $$
begin
  insert into call_receivers values (new_id, target, secret, api_url);
  return listen_to_end(new_id);
end $$;

create or replace function note_end() returns trigger language plpgsql as $$
declare
  wanted jsonb := (select c.manifest -> 'notify' from commits c where c.workflow_id = new.workflow_id and c.id = new.commit_id and not c.draft);
  written text;
begin
  insert into notices (account_id, kind, workflow_id, execution_id)
  select new.account_id, 'result', new.workflow_id, new.id from call_receivers r where r.execution_id = new.id
  returning id into written;
  if written is not null then perform pg_notify('notice_written', written); end if;
  if wanted is null then return null; end if;
  if new.finished_at - new.started_at > make_interval(secs => cast(wanted #>> '{slow,afterSeconds}' as double precision)) then
    perform write_notices('slow', new.account_id, new.workflow_id, new.id, null, '', wanted #> '{slow,to}');
  end if;
  if new.state = 'success' then
    delete from failing_workflows f where f.workflow_id = new.workflow_id;
    if found then
      perform write_notices('recovery', new.account_id, new.workflow_id, new.id, null, '', wanted -> 'recovery');
    end if;
  elsif new.state <> 'cancelled' then
    insert into failing_workflows (workflow_id) values (new.workflow_id) on conflict (workflow_id) do nothing;
    perform write_notices('failure', new.account_id, new.workflow_id, new.id, null, '', wanted -> 'failure');
  end if;
  return null;
end $$;
