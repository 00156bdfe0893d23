-- Executions: the record, its attempts, its files, and what is removed after a time.

create table executions (
  id                   text primary key check (id ~ '^ex_[0-9a-z]{16,40}$'),
  account_id           text not null references accounts (id),
  workflow_id          text not null references workflows (id),
  commit_id            text not null,
  trigger              text not null check (trigger in ('api', 'schedule', 'form')),
  state                text not null default 'queued'
                         check (state in ('queued', 'running', 'success', 'failed', 'timed_out', 'out_of_memory', 'cancelled')),
  -- An error code of domain/errors.ts: the service failed, or refused it. Null: the user's program ended by itself.
  failure              text check (failure in ('internal', 'insufficient_credits', 'no_capacity')),
  message              text not null default '',
  inputs               jsonb not null default '{}',
  secret_inputs        bytea,
  timeout_seconds      numeric not null check (timeout_seconds > 0),
  cpu                  numeric not null check (cpu > 0),
  -- How often failing user code is tried in all (retry.max_attempts of the manifest).
  attempts_max         int not null default 1 check (attempts_max between 1 and 10),
  charge_max           bigint not null check (charge_max >= 0),
  charge_compute       bigint not null default 0 check (charge_compute >= 0),
  charge_total         bigint not null default 0 check (charge_total >= 0),
  seconds_used         numeric not null default 0 check (seconds_used >= 0),
  log_bytes            bigint not null default 0,
  log_key              text,
  uploaded_at          timestamptz,
  idempotency_key      text,
  fingerprint          bytea,
  accepted_by          text not null,
  cancel_requested_at  timestamptz,
  cancel_requested_by  text,
  created_at           timestamptz not null default now(),
  started_at           timestamptz,
  finished_at          timestamptz,
  -- When it was let in: at once, or when its turn came. Null while it waits for others of its workflow.
  admitted_at          timestamptz default now(),
  -- Its commit limits how many executions of the workflow are under way: its end may let the next one in.
  limited              boolean not null default false,
  -- Its place in the queue of its workflow, if it had to wait. Lower ones are let in first.
  turn                 bigint,
  -- From when on its input and output files, or its log, are given to nobody. Null: they are kept.
  files_removed_at     timestamptz,
  log_removed_at       timestamptz,
  -- It begins only when no other execution of its workflow's schedule is under way.
  follows              boolean not null default false,
  -- It stands for a past tick that a person asked for. Such executions, while they wait, let all others of their workflow pass.
  backfilled           boolean not null default false,
  -- Inputs of kind `json` as JSON texts by name. jsonb, and JavaScript's numbers, change digits, `1.0` and the order of keys.
  -- A text within jsonb does not change.
  input_texts          jsonb not null default '{}' check (jsonb_typeof(input_texts) = 'object'),
  -- The attempt whose last lines the kept log has, while the execution is open. The next attempt continues its line ids.
  -- Null: there is none, or it is unknown.
  log_attempt          int,
  foreign key (workflow_id, commit_id) references commits (workflow_id, id),
  constraint finished_when_ended check ((state in ('queued', 'running')) = (finished_at is null)),
  constraint charged_at_most_reserved check (charge_total <= charge_max),
  constraint our_fault_is_free check (failure is null or charge_total = 0),
  constraint failure_is_failed check (failure is null or state = 'failed'),
  constraint running_when_admitted check (admitted_at is not null or state <> 'running'),
  constraint waiting_has_turn check (admitted_at is not null or turn is not null),
  constraint key_with_fingerprint check ((idempotency_key is null) = (fingerprint is null)),
  constraint backfilled_by_schedule check (not backfilled or trigger = 'schedule')
);

-- Lists: by workflow, by commit, by account.
create index executions_workflow on executions (workflow_id, created_at desc);
create index executions_commit on executions (workflow_id, commit_id, created_at desc);
create index executions_account on executions (account_id, created_at desc);
-- Pages of executions in one state, newest first. Most have succeeded: the account's own index finds those.
create index executions_unsuccessful on executions (account_id, state, created_at desc) where state <> 'success';
-- Executions that no program with a key has started.
create index executions_not_called on executions (account_id, trigger, created_at desc) where trigger <> 'api';

-- Executions under way, by workflow, so that they can be counted. All of them together are few enough to sort.
create index executions_open on executions (workflow_id, admitted_at)
  where state in ('queued', 'running') and admitted_at is not null;
create unique index executions_waiting on executions (workflow_id, turn) where state = 'queued' and admitted_at is null;

-- A refused execution gives its key back by leaving this index, in the statement that refuses it.
create unique index executions_idempotency on executions (workflow_id, idempotency_key)
  where idempotency_key is not null and (failure is null or failure = 'internal');
create index executions_keyed on executions (created_at) where idempotency_key is not null;

-- The cost of past executions, for estimates.
create index executions_costs on executions (workflow_id, finished_at desc) include (charge_total) where state = 'success';
-- What was spent, by account and day of the end. The index has everything that is added up.
create index executions_finished on executions (account_id, finished_at) include (workflow_id, charge_total)
  where finished_at is not null;

-- Ended executions by the age of what is still kept of them. An execution whose idempotency key is kept is in none of the
-- three: a repeated call gets the answer that it got before.
create index executions_with_files on executions (finished_at)
  where finished_at is not null and idempotency_key is null and files_removed_at is null;
create index executions_with_log on executions (finished_at)
  where finished_at is not null and idempotency_key is null and log_removed_at is null;
create index executions_ended on executions (finished_at)
  where finished_at is not null and idempotency_key is null;

create function refuse_execution_delete() returns trigger language plpgsql as $$
begin
  raise exception 'an execution under way cannot be deleted: it may hold credits' using errcode = 'restrict_violation';
end $$;

create trigger executions_keep_open
  before delete on executions for each row when (old.finished_at is null)
  execute function refuse_execution_delete();

-- One row for each try of the user's program. At most one may be alive: the holder of the lease runs it, all others join it.
create table attempts (
  execution_id       text not null references executions (id),
  attempt            int not null check (attempt between 1 and 100),
  host_id            text not null,
  process_id         text not null,
  lease_until        timestamptz not null,
  started_at         timestamptz not null default now(),
  ended_at           timestamptz,
  -- How the program ended. Null with ended_at set: the worker was lost.
  status             text check (status in ('success', 'failed', 'timed_out', 'out_of_memory', 'cancelled')),
  message            text not null default '',
  seconds_used       numeric not null default 0 check (seconds_used >= 0),
  -- False: it was given up before the program began. That costs nobody anything and may be repeated without limit.
  begun              boolean not null default true,
  -- Where no cgroup limits the processor time of a program, it is measured. It is billed when it is more than limits.cpu times
  -- the program's seconds.
  processor_seconds  numeric not null default 0 check (processor_seconds >= 0),
  -- Its process was asked to stop while it ran. The next process begins the program again, and no worker counts as lost for it.
  handed_over        boolean not null default false,
  -- The host lacked what the program needs: isolation, network, interpreter or environment. `message` says which.
  unable             boolean not null default false,
  -- The program had ended well, and its outputs were lost with its host. Its outcome is void, and it counts as a try.
  outputs_lost       boolean not null default false,
  primary key (execution_id, attempt),
  constraint status_when_ended check (status is null or ended_at is not null)
);
create unique index attempts_alive on attempts (execution_id) where ended_at is null;

create table execution_files (
  execution_id  text not null references executions (id),
  direction     text not null check (direction in ('input', 'output')),
  name          text not null,
  position      int not null default 0,
  file_name     text not null,
  storage_key   text not null,
  bytes         bigint not null check (bytes >= 0),
  sha256        text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  content_type  text not null,
  primary key (execution_id, direction, name, position)
);
create unique index execution_files_output on execution_files (execution_id, file_name) where direction = 'output';

-- Requests that have files in storage, or are about to, and no execution yet. A row is written before the first byte is
-- stored. It is deleted in the transaction that records the execution, or after the files of a refused request were deleted.
-- A row that is older than any request may take was left by a process that died: nobody ever searches all of storage.
create table uploads (
  execution_id  text primary key,
  begun_at      timestamptz not null default now()
);

-- Objects to delete from storage. The record says first that files are gone, then the files go: nobody is promised a missing
-- file. A row is written in the transaction that gives the files up and deleted when they are gone. Deleting an object twice
-- is harmless.
create table removals (
  id             bigint generated always as identity primary key,
  execution_id   text not null,
  keys           text[] not null,
  -- The execution may have left more than it recorded: storage is asked for the rest.
  look           boolean not null,
  -- Until then a process works on it.
  claimed_until  timestamptz not null default '-infinity',
  created_at     timestamptz not null default now()
);

-- How many executions of each workflow ended on each day (UTC), and what they cost: lists and charts add these up. Rows count
-- executions that ended before `until`; the few since then are counted when a page asks. They stay when executions go.
create table execution_days (
  workflow_id  text not null references workflows (id),
  day          date not null,
  executions   int not null,
  spent        bigint not null,
  primary key (workflow_id, day)
);
create table execution_days_counted (
  only_row  boolean primary key default true check (only_row),
  until     timestamptz not null
);
insert into execution_days_counted (until) values (now());
