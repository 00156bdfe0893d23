-- Schedules: what each workflow's latest commit wants, what became of each time it was due, and what Temporal does not know yet.

-- A declaration of a schedule and the time it held for. A commit that changes the declaration ends a row and begins the next.
-- So each past time is decided by what was declared then, a pause included.
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
  -- When its next tick should have a record, whichever process fires it. Null: all its ticks have one.
  look_at               timestamptz,
  -- Over how long Temporal spreads its firing. Where many schedules are due at one minute, firing them costs Temporal as much as
  -- executing them. The process that watches ticks begins those, and Temporal's firing, later, finds their records.
  spread_seconds        double precision not null default 0 check (spread_seconds >= 0)
);
create unique index schedules_current on schedules (workflow_id) where until is null;
create index schedules_by_time on schedules (workflow_id, since);
create index schedules_to_look_at on schedules (look_at) where look_at is not null;

-- What became of each time a schedule was due: one row a time, whoever decided it, and however often it was fired.
create table ticks (
  workflow_id   text not null references workflows (id),
  nominal_at    timestamptz not null check (mod(extract(epoch from nominal_at), 60) = 0),
  outcome       text not null check (outcome in ('started', 'skipped_overlap', 'missed', 'refused_credits', 'refused_concurrency',
                                                 'refused_storage', 'paused', 'no_commit')),
  -- For people: why it did not start. Empty when it did.
  reason        text not null default '',
  -- What decided it: Temporal's clock, the look for ticks without a record, or a person who asked for past ones.
  source        text not null check (source in ('clock', 'repair', 'backfill')),
  -- Stays when the execution itself goes.
  execution_id  text,
  decided_at    timestamptz not null default clock_timestamp(),
  primary key (workflow_id, nominal_at),
  constraint execution_when_begun check ((execution_id is not null) = (outcome in ('started', 'refused_credits')))
);
create unique index ticks_execution on ticks (execution_id) where execution_id is not null;
create index ticks_by_age on ticks (decided_at);

-- Credits are checked when the tick comes, and decided when its execution begins.
create function tell_tick_of_refusal() returns trigger language plpgsql as $$
begin
  update ticks t set outcome = 'refused_credits', reason = 'The account had too few credits when the execution was to begin.'
   where t.execution_id = new.execution_id and t.outcome = 'started';
  return null;
end $$;

create trigger refusals_tell_tick
  after insert on refusals for each row execute function tell_tick_of_refusal();

-- The outbox: workflows whose schedule Temporal must learn. A row is written in the transaction of the change and deleted when
-- Temporal agrees, unless the schedule has changed again meanwhile.
create sequence schedule_change_numbers;
create table schedule_changes (
  -- No foreign key: Temporal may have a schedule of a workflow that is not in the database.
  workflow_id  text primary key,
  change       bigint not null default nextval('schedule_change_numbers'),
  noted_at     timestamptz not null default now(),
  -- After a failure: not before then.
  try_at       timestamptz not null default '-infinity',
  failures     int not null default 0
);
create index schedule_changes_by_time on schedule_changes (try_at, change);

-- Which process watches schedules, and since when one has without a longer break. What was due before that was due while the
-- service was away.
create table schedule_watch (
  only_row  boolean primary key default true check (only_row),
  holder    text not null,
  since     timestamptz not null,
  seen_at   timestamptz not null
);
