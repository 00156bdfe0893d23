create table executions (
  id                  text primary key check (id ~ '^ex_[0-9a-z]{16,40}$'),
  account_id          text not null references accounts (id),
  workflow_id         text not null references workflows (id),
  commit_id           text not null,
  trigger             text not null check (trigger in ('api', 'schedule', 'form')),
  state               text not null default 'queued'
                        check (state in ('queued', 'running', 'success', 'failed', 'timed_out', 'out_of_memory', 'cancelled')),
  -- Why it is our fault, or refused: an error code of domain/errors.ts. Null when the user's program ended by itself.
  failure             text check (failure in ('internal', 'insufficient_credits', 'no_capacity')),
  message             text not null default '',
  inputs              jsonb not null default '{}',
  secret_inputs       bytea,
  timeout_seconds     numeric not null check (timeout_seconds > 0),
  cpu                 numeric not null check (cpu > 0),
  -- How often failing user code is tried in all (retry.max_attempts of the manifest).
  attempts_max        int not null default 1 check (attempts_max between 1 and 10),
  charge_max          bigint not null check (charge_max >= 0),
  charge_compute      bigint not null default 0 check (charge_compute >= 0),
  charge_total        bigint not null default 0 check (charge_total >= 0),
  seconds_used        numeric not null default 0 check (seconds_used >= 0),
  log_bytes           bigint not null default 0,
  log_key             text,
  uploaded_at         timestamptz,
  idempotency_key     text,
  fingerprint         bytea,
  accepted_by         text not null,
  cancel_requested_at timestamptz,
  cancel_requested_by text,
  created_at          timestamptz not null default now(),
  started_at          timestamptz,
  finished_at         timestamptz,
  foreign key (workflow_id, commit_id) references commits (workflow_id, id),
  constraint finished_when_ended check ((state in ('queued', 'running')) = (finished_at is null)),
  constraint charged_at_most_reserved check (charge_total <= charge_max),
  constraint our_fault_is_free check (failure is null or charge_total = 0),
  constraint failure_is_failed check (failure is null or state = 'failed')
);
create index executions_workflow on executions (workflow_id, created_at desc);
create index executions_account on executions (account_id, created_at desc);
create index executions_open on executions (created_at) where state in ('queued', 'running');
create unique index executions_idempotency on executions (workflow_id, idempotency_key) where idempotency_key is not null;

-- One row a try of the user's program. At most one may be alive: who holds the lease runs it, everybody else joins it.
create table attempts (
  execution_id  text not null references executions (id),
  attempt       int not null check (attempt between 1 and 100),
  host_id       text not null,
  process_id    text not null,
  lease_until   timestamptz not null,
  started_at    timestamptz not null default now(),
  ended_at      timestamptz,
  -- How the program ended; all null with ended_at set: the worker was lost.
  status        text check (status in ('success', 'failed', 'timed_out', 'out_of_memory', 'cancelled')),
  message       text not null default '',
  seconds_used  numeric not null default 0 check (seconds_used >= 0),
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
