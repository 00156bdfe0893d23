-- Workflows with several schedules: `triggers.schedule`, whose name is `schedule`, and those of `triggers.schedules`. Each has its own
-- declarations, ticks and order. The outbox has their ids: `wf_…`, and `wf_…:nightly` for a named one.
alter table schedules
  add column name text not null default 'schedule' check (name ~ '^[a-z][a-z0-9_-]{0,39}$');
drop index if exists schedules_current;
create unique index schedules_current on schedules (workflow_id, name) where until is null;

alter table ticks
  add column schedule_name text not null default 'schedule';
alter table ticks drop constraint if exists ticks_pkey;
alter table ticks add primary key (workflow_id, schedule_name, nominal_at);

-- Null: `triggers.schedule`, or none.
alter table executions
  add column schedule_name text,
  add constraint name_by_schedule check (schedule_name is null or (trigger = 'schedule' and schedule_name <> 'schedule'));

drop function is_schedule_busy;
drop function accept_execution;

-- Returns whether an execution of a schedule is under way: of a tick that a person asked for, or of one of the clock.
create function is_schedule_busy(workflow text, backfill boolean, schedule text) returns boolean
  language sql stable set enable_seqscan = off as $$
  select exists (
    select from executions e
     where e.workflow_id = workflow and e.state in ('queued', 'running') and e.admitted_at is not null and e.trigger = 'schedule'
       and e.backfilled = backfill and e.schedule_name is not distinct from schedule
  );
$$;

-- Lets waiting executions in, in the order they came, as many as the workflow's latest commit allows beside those under way,
-- and all when it sets no limit. Places are counted anew each time, so that none can get lost. Each execution is announced.
-- Of those that follow others, one of the clock and one of a backfill may be next of each schedule, when nothing of its kind is
-- under way.
-- A follower that must wait lets others of the workflow pass. Backfills get the places that are left.
create or replace function admit_executions(workflow text) returns setof text language plpgsql set enable_seqscan = off as $$
declare
  most int;
  places bigint;
  followers text[];
begin
  perform lock_admission(workflow);
  select cast(c.manifest -> 'concurrency' ->> 'executionsMax' as int) into most
    from workflows w join commits c on c.workflow_id = w.id and c.id = w.head
   where w.id = workflow;
  select case when most is not null then greatest(most - count(*), 0) end into places
    from executions e
   where e.workflow_id = workflow and e.state in ('queued', 'running') and e.admitted_at is not null;
  select array_agg(f.id) into followers
    from (
      select distinct on (e.schedule_name, e.backfilled) e.id, e.schedule_name, e.backfilled from executions e
       where e.workflow_id = workflow and e.admitted_at is null and e.state = 'queued' and e.trigger = 'schedule'
       order by e.schedule_name, e.backfilled, e.turn
    ) f
   where not is_schedule_busy(workflow, f.backfilled, f.schedule_name);
  return query
    with next as (
      select n.id from (
        (select e.id, e.backfilled, e.turn from executions e
          where e.workflow_id = workflow and e.admitted_at is null and e.state = 'queued' and not e.backfilled
            and (not e.follows or e.id = any(followers))
          order by e.turn limit places)
        union all
        (select e.id, e.backfilled, e.turn from executions e
          where e.workflow_id = workflow and e.admitted_at is null and e.state = 'queued' and e.backfilled
            and (not e.follows or e.id = any(followers))
          order by e.turn limit places)
      ) n
      order by n.backfilled, n.turn limit places
    ), admitted as (
      update executions e set admitted_at = clock_timestamp() from next where e.id = next.id returning e.id
    )
    select a.id from admitted a, pg_notify('execution_admitted', a.id);
end $$;

-- Records an execution with its input files, or says why not; then nothing of it is left. `given` are its inputs, `texts` those
-- that are kept as JSON texts, `key` and `print` its idempotency key and the fingerprint of its inputs. The buckets are null
-- where there is no limit. `follow`: it begins only when nothing else of its schedule is under way, however few may wait.
-- `schedule` names the schedule; null: `triggers.schedule`. `backfill`: it stands for a tick that a person asked for. With `follow` it waits for others of that kind only.
-- Outcomes: `accepted`; `known`, when another execution has the key; `rate_limited`; `full`, when as many are under way as the
-- workflow allows and no more may wait. A function of several statements, because each reads what was committed while the one
-- before waited.
create function accept_execution(
  new_id text, account text, workflow text, commit_id text, started_by text, seconds numeric, cores numeric, attempts int,
  charge bigint, process text, given jsonb, secrets bytea, files jsonb, key text, print bytea,
  key_bucket text, key_spacing double precision, key_burst int,
  account_bucket text, account_spacing double precision, account_burst int,
  executions_max int, waiting_max int, follow boolean, backfill boolean, texts jsonb default '{}',
  schedule text default null
) returns table (outcome text, id text, admitted boolean, key_busy double precision, account_busy double precision)
  language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
declare
  place bigint;
  admitted_since timestamptz := now();
  key_until timestamptz;
  account_until timestamptz;
  under_way bigint;
  first_turn bigint;
  last_turn bigint;
  is_crowded boolean := false;
  must_follow boolean := false;
begin
  outcome := 'accepted';
  if key_bucket is not null then
    key_until := take_rate(key_bucket, key_spacing, key_burst);
    if key_until is null then outcome := 'rate_limited'; end if;
  end if;
  if outcome = 'accepted' and account_bucket is not null then
    account_until := take_rate(account_bucket, account_spacing, account_burst);
    if account_until is null then outcome := 'rate_limited'; end if;
  end if;
  if outcome = 'accepted' and (executions_max is not null or follow) then
    perform lock_admission(workflow);
    -- Of one that is in the record already, the end may be waiting for this lock: it must not be waited for in turn.
    if key is not null and exists (
      select from executions o
       where o.workflow_id = workflow and o.idempotency_key = key and (o.failure is null or o.failure = 'internal')
    ) then outcome := 'known'; end if;
  end if;
  if outcome = 'accepted' and (executions_max is not null or follow) then
    if executions_max is not null then
      select count(*) into under_way from executions o
       where o.workflow_id = workflow and o.state in ('queued', 'running') and o.admitted_at is not null;
      is_crowded := under_way >= executions_max or exists (
        select from executions o
         where o.workflow_id = workflow and o.state = 'queued' and o.admitted_at is null and (backfill or not o.backfilled)
           and not (o.follows and is_schedule_busy(workflow, o.backfilled, o.schedule_name))
      );
    end if;
    must_follow := follow and (is_schedule_busy(workflow, backfill, schedule) or exists (
      select from executions o
       where o.workflow_id = workflow and o.state = 'queued' and o.admitted_at is null and o.trigger = 'schedule'
         and o.backfilled = backfill and o.schedule_name is not distinct from schedule
    ));
    if is_crowded or must_follow then
      -- Turns are not counted but measured, by the ends of the index: a queue may be long. Who left it is counted, too.
      select min(o.turn), max(o.turn) into first_turn, last_turn from executions o
       where o.workflow_id = workflow and o.state = 'queued' and o.admitted_at is null;
      admitted_since := null;
      place := coalesce(last_turn, 0) + 1;
      if not must_follow and place - coalesce(first_turn, place) >= waiting_max then outcome := 'full'; end if;
    end if;
  end if;

  if outcome = 'accepted' then
    insert into executions (id, account_id, workflow_id, commit_id, trigger, inputs, input_texts, secret_inputs, timeout_seconds, cpu,
                            attempts_max, charge_max, accepted_by, idempotency_key, fingerprint, limited, follows, backfilled,
                            turn, admitted_at, schedule_name)
    values (new_id, account, workflow, commit_id, started_by, given, texts, secrets, seconds, cores, attempts, charge, process, key,
            print, executions_max is not null or follow, follow, backfill, place, admitted_since,
            schedule)
        on conflict (workflow_id, idempotency_key)
           where idempotency_key is not null and (failure is null or failure = 'internal') do nothing;
    if not found then outcome := 'known'; end if;
  end if;

  -- A repeated call is told of its execution even where a new one would be refused.
  if outcome <> 'accepted' then
    if key_until is not null then key_until := return_rate(key_bucket, key_spacing); end if;
    if account_until is not null then account_until := return_rate(account_bucket, account_spacing); end if;
    select o.id into id from executions o
     where o.workflow_id = workflow and o.idempotency_key = key
       and (o.failure is null or o.failure = 'internal');
    if found then outcome := 'known'; end if;
  else
    id := new_id;
    admitted := admitted_since is not null;
    if jsonb_array_length(files) > 0 then
      insert into execution_files (execution_id, direction, name, position, file_name, storage_key, bytes, sha256, content_type)
      select new_id, 'input', f.name, row_number() over (partition by f.name order by f.ordinal) - 1,
             f.file_name, f.storage_key, f.bytes, f.sha256, f.content_type
        from rows from (jsonb_to_recordset(files)
               as (name text, file_name text, storage_key text, bytes bigint, sha256 text, content_type text))
             with ordinality as f (name, file_name, storage_key, bytes, sha256, content_type, ordinal);
    end if;
  end if;
  if key_bucket is not null and key_until is null then
    select b.busy_until into key_until from rate_buckets b where b.bucket = key_bucket;
  end if;
  if account_bucket is not null and account_until is null then
    select b.busy_until into account_until from rate_buckets b where b.bucket = account_bucket;
  end if;
  key_busy := extract(epoch from key_until - clock_timestamp());
  account_busy := extract(epoch from account_until - clock_timestamp());
  return next;
end $$;
