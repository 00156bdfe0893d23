-- Schedules: what each workflow's latest commit wants, what became of each time it was due, and what Temporal is still to be told.

-- A declaration of a schedule and the time it held for. A commit that changes the declaration ends a row and begins the next,
-- so that each past time is judged by what was declared then, a pause included.
create table schedules (
  id                    bigint generated always as identity primary key,
  workflow_id           text not null references workflows (id),
  enabled               boolean not null,
  cron                  text not null,
  timezone              text not null,
  overlap               text not null check (overlap in ('skip', 'queue', 'allow', 'cancel_previous')),
  catchup               text not null check (catchup in ('none', 'latest', 'all')),
  max_lateness_seconds  double precision not null check (max_lateness_seconds > 0),
  jitter_seconds        double precision not null check (jitter_seconds >= 0),
  -- It holds for ticks after `since`, up to and with `until`. Null: it is the one that holds now.
  since                 timestamptz not null,
  until                 timestamptz check (until >= since),
  -- Each of its ticks up to here has a record.
  accounted_until       timestamptz not null check (accounted_until >= since),
  -- When its next tick should have a record, whoever was to fire it. Null: all its ticks have one.
  look_at               timestamptz
);
create unique index schedules_current on schedules (workflow_id) where until is null;
create index schedules_by_time on schedules (workflow_id, since);
create index schedules_to_look_at on schedules (look_at) where look_at is not null;

-- What became of each time a schedule was due: one row a time, whoever found out, and however often it was fired.
create table ticks (
  workflow_id   text not null references workflows (id),
  nominal_at    timestamptz not null check (mod(extract(epoch from nominal_at), 60) = 0),
  outcome       text not null check (outcome in ('started', 'skipped_overlap', 'missed', 'refused_credits', 'refused_concurrency',
                                                 'paused', 'no_commit')),
  -- For people: why it did not start. Empty when it did.
  reason        text not null default '',
  -- Who found out: Temporal's clock, the look for ticks without a record, or somebody who asked for past ones.
  source        text not null check (source in ('clock', 'repair', 'backfill')),
  -- Kept when the execution itself is not any more.
  execution_id  text,
  decided_at    timestamptz not null default clock_timestamp(),
  primary key (workflow_id, nominal_at),
  constraint execution_when_begun check ((execution_id is not null) = (outcome in ('started', 'refused_credits')))
);
create unique index ticks_execution on ticks (execution_id) where execution_id is not null;
create index ticks_by_age on ticks (decided_at);

-- Credits are looked at when the tick comes, and decided when its execution begins.
create function tell_tick_of_refusal() returns trigger language plpgsql as $$
begin
  update ticks t set outcome = 'refused_credits', reason = 'The account had too few credits when the execution was to begin.'
   where t.execution_id = new.execution_id and t.outcome = 'started';
  return null;
end $$;

create trigger refusals_tell_tick
  after insert on refusals for each row execute function tell_tick_of_refusal();

-- Workflows whose schedule Temporal is to be told of: the outbox. Written in the transaction of the change, deleted once
-- Temporal agrees, unless it has changed again meanwhile.
create sequence schedule_change_numbers;
create table schedule_changes (
  -- Perhaps of no workflow at all: Temporal may have a schedule that nobody knows.
  workflow_id  text primary key,
  change       bigint not null default nextval('schedule_change_numbers'),
  noted_at     timestamptz not null default now(),
  -- After a failure: not before then.
  try_at       timestamptz not null default '-infinity',
  failures     int not null default 0
);
create index schedule_changes_by_time on schedule_changes (try_at, change);

-- Which process looks after schedules, and since when somebody has without a longer break. What was due before that was due
-- while the service was away.
create table schedule_watch (
  only_row  boolean primary key default true check (only_row),
  holder    text not null,
  since     timestamptz not null,
  seen_at   timestamptz not null
);

-- Executions that wait for those of earlier ticks.

-- It begins only when no other execution of its workflow's schedule is under way.
alter table executions add column follows boolean not null default false;

create function is_schedule_busy(workflow text) returns boolean language sql stable set enable_seqscan = off as $$
  select exists (
    select from executions e
     where e.workflow_id = workflow and e.state in ('queued', 'running') and e.admitted_at is not null and e.trigger = 'schedule'
  );
$$;

-- As before, and: of the executions that follow others, the one whose turn is next when the schedule has nothing under way.
-- One that must wait for that lets others of the workflow pass.
create or replace function admit_executions(workflow text) returns setof text language plpgsql set enable_seqscan = off as $$
declare
  most int;
  places bigint;
  follower text;
begin
  perform lock_admission(workflow);
  select cast(c.manifest -> 'concurrency' ->> 'executionsMax' as int) into most
    from workflows w join commits c on c.workflow_id = w.id and c.id = w.head
   where w.id = workflow;
  select case when most is not null then greatest(most - count(*), 0) end into places
    from executions e
   where e.workflow_id = workflow and e.state in ('queued', 'running') and e.admitted_at is not null;
  if not is_schedule_busy(workflow) then
    select e.id into follower from executions e
     where e.workflow_id = workflow and e.admitted_at is null and e.state = 'queued' and e.trigger = 'schedule'
     order by e.turn limit 1;
  end if;
  return query
    with next as (
      select e.id from executions e
       where e.workflow_id = workflow and e.admitted_at is null and e.state = 'queued' and (not e.follows or e.id = follower)
       order by e.turn limit places
    ), admitted as (
      update executions e set admitted_at = clock_timestamp() from next where e.id = next.id returning e.id
    )
    select a.id from admitted a, pg_notify('execution_admitted', a.id);
end $$;

drop trigger executions_admit_next on executions;
create trigger executions_admit_next
  after update on executions
  for each row when (old.finished_at is null and new.finished_at is not null and (new.limited or new.trigger = 'schedule'))
  execute function admit_next();

drop function accept_execution(text, text, text, text, text, numeric, numeric, int, bigint, text, jsonb, bytea, jsonb, text, bytea,
                               text, double precision, int, text, double precision, int, int, int);

-- Records an execution with its input files, or says why not; then nothing of it is left. `given` are its inputs, `key` and
-- `print` its idempotency key and the fingerprint of its inputs; the buckets are null where there is no limit. Outcomes:
-- `accepted`; `known`, when the key is another execution's; `rate_limited`; `full`, when as many are under way as the
-- workflow allows and none may wait, or as many wait as may. A function of several statements, because each reads what was
-- committed while the one before waited. `follow`: it begins only when nothing else of its schedule is under way, and waits for
-- that whatever the workflow's concurrency says about waiting.
create function accept_execution(
  new_id text, account text, workflow text, commit_id text, started_by text, seconds numeric, cores numeric, attempts int,
  charge bigint, process text, given jsonb, secrets bytea, files jsonb, key text, print bytea,
  key_bucket text, key_spacing double precision, key_burst int,
  account_bucket text, account_spacing double precision, account_burst int,
  executions_max int, waiting_max int, follow boolean
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
  busy boolean;
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
    busy := is_schedule_busy(workflow);
    if executions_max is not null then
      select count(*) into under_way from executions o
       where o.workflow_id = workflow and o.state in ('queued', 'running') and o.admitted_at is not null;
      is_crowded := under_way >= executions_max or exists (
        select from executions o
         where o.workflow_id = workflow and o.state = 'queued' and o.admitted_at is null and not (o.follows and busy)
      );
    end if;
    must_follow := follow and (busy or exists (
      select from executions o
       where o.workflow_id = workflow and o.state = 'queued' and o.admitted_at is null and o.trigger = 'schedule'
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
    insert into executions (id, account_id, workflow_id, commit_id, trigger, inputs, secret_inputs, timeout_seconds, cpu,
                            attempts_max, charge_max, accepted_by, idempotency_key, fingerprint, limited, follows, turn,
                            admitted_at)
    values (new_id, account, workflow, commit_id, started_by, given, secrets, seconds, cores, attempts, charge, process, key,
            print, executions_max is not null or follow, follow, place, admitted_since)
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

-- Workflows that were published before schedules ran: their schedules begin now.
insert into schedules (workflow_id, enabled, cron, timezone, overlap, catchup, max_lateness_seconds, jitter_seconds, since,
                       accounted_until, look_at)
select w.id, (d.schedule ->> 'enabled')::boolean, d.schedule ->> 'cron', d.schedule ->> 'timezone', d.schedule ->> 'overlap',
       d.schedule ->> 'catchup', (d.schedule ->> 'maxLatenessSeconds')::double precision,
       (d.schedule ->> 'jitterSeconds')::double precision, now(), now(), now()
  from workflows w
  join commits c on c.workflow_id = w.id and c.id = w.head
 cross join lateral (select c.manifest #> '{triggers,schedule}' as schedule) d
 where w.deleted_at is null and jsonb_typeof(d.schedule) = 'object';

insert into schedule_changes (workflow_id) select workflow_id from schedules;
