-- Messages to places: written by what they tell of, and sent by a workflow of Temporal.

-- Whether the end of an execution, or how long it takes, is somebody's to hear: its commit has `notify`. The trigger below reads
-- it without a statement.
alter table executions add column notifies boolean not null default false;

-- A message to one place. What it says is read from the record when it is sent.
create table notices (
  id              text primary key default create_id('nt_') check (id ~ '^nt_[0-9a-z]{16,40}$'),
  account_id      text not null references accounts (id),
  place_id        text not null references notice_places (id) on delete cascade,
  kind            text not null check (kind in ('failure', 'recovery', 'missed', 'slow', 'test')),
  workflow_id     text references workflows (id),
  -- It may be kept for longer than its execution.
  execution_id    text,
  -- Of a schedule's time that started nothing.
  nominal_at      timestamptz,
  reason          text not null default '',
  -- How many more of the kind there were until it was due.
  more            integer not null default 0 check (more >= 0),
  created_at      timestamptz not null default clock_timestamp(),
  due_at          timestamptz not null default clock_timestamp(),
  state           text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed')),
  -- When Temporal got it; null: it has to be started.
  started_at      timestamptz,
  attempts        integer not null default 0,
  last_attempt_at timestamptz,
  answer          text not null default '',
  constraint test_is_of_no_workflow check ((kind = 'test') = (workflow_id is null)),
  constraint missed_has_time check ((kind = 'missed') = (nominal_at is not null)),
  constraint run_is_named check ((kind in ('failure', 'recovery', 'slow')) = (execution_id is not null))
);
create index notices_due on notices (due_at) where started_at is null and state = 'waiting';
create index notices_started on notices (started_at) where started_at is not null and state = 'waiting';
create index notices_account on notices (account_id, created_at desc, id desc);
create index notices_storms on notices (place_id, workflow_id, kind, due_at desc);
create unique index notices_slow on notices (execution_id, place_id) where kind = 'slow';

-- Workflows whose last run failed: the next success is a recovery.
create table failing_workflows (
  workflow_id   text primary key references workflows (id),
  since         timestamptz not null default clock_timestamp()
);

-- Writes a notice for each of the named places. After one of a kind, more failures of a workflow wait for ten minutes, and come
-- as one. Ends of an account's executions come one after the other, by the lock on the account.
create function write_notices(new_kind text, account text, workflow text, execution text, tick timestamptz, why text, names jsonb)
returns void language plpgsql as $$
declare
  place text;
  written text;
  before timestamptz;
begin
  for place in
    select p.id from notice_places p
     where p.account_id = account and p.disabled_at is null and p.name in (select jsonb_array_elements_text(names))
     order by p.id
  loop
    before := null;
    if new_kind in ('failure', 'missed') then
      update notices n set more = n.more + 1
       where n.place_id = place and n.workflow_id = workflow and n.kind = new_kind and n.state = 'waiting'
         and n.started_at is null and n.due_at > clock_timestamp();
      if found then continue; end if;
      select max(n.due_at) + interval '10 minutes' into before from notices n
       where n.place_id = place and n.workflow_id = workflow and n.kind = new_kind
         and n.due_at > clock_timestamp() - interval '10 minutes';
    end if;
    insert into notices (account_id, place_id, kind, workflow_id, execution_id, nominal_at, reason, due_at)
    values (account, place, new_kind, workflow, execution, tick, why, coalesce(before, clock_timestamp()))
        on conflict (execution_id, place_id) where kind = 'slow' do nothing
    returning id into written;
    if written is not null and before is null then perform pg_notify('notice_written', written); end if;
  end loop;
end $$;

create function note_end() returns trigger language plpgsql as $$
declare
  wanted jsonb := (select c.manifest -> 'notify' from commits c where c.workflow_id = new.workflow_id and c.id = new.commit_id and not c.draft);
begin
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

create trigger executions_note_end after update on executions for each row
  when (old.finished_at is null and new.finished_at is not null and new.notifies) execute function note_end();

-- Times of a schedule that started nothing although they should have. What an overlap left out, or a person who sees it, is not one.
create function note_missed_tick() returns trigger language plpgsql as $$
declare
  latest record;
begin
  select w.account_id, c.manifest #> '{notify,missed}' as names into latest
    from workflows w join commits c on c.workflow_id = w.id and c.id = w.head
   where w.id = new.workflow_id and w.deleted_at is null;
  if latest.names is not null then
    perform write_notices('missed', latest.account_id, new.workflow_id, null, new.nominal_at, new.reason, latest.names);
  end if;
  return null;
end $$;

create trigger ticks_note_missed after insert on ticks for each row
  when (new.source <> 'backfill'
        and new.outcome in ('missed', 'refused_credits', 'refused_concurrency', 'refused_storage', 'no_commit'))
  execute function note_missed_tick();

-- The execution was accepted in the same statement: its row is there for this function, and not for the statement itself.
create function listen_to_end(new_id text) returns boolean language plpgsql as $$
begin
  update executions e set notifies = true where e.id = new_id;
  return found;
end $$;
