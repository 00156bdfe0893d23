-- What is kept only for a time. Records say first that their files are gone, then the files go: whatever happens in between,
-- nobody is promised a file that is not there, and `removals` remembers what is still to be deleted from storage.

alter table executions
  -- From when on its input and output files, or its log, are not given to anybody any more. Null: they are kept.
  add column files_removed_at timestamptz,
  add column log_removed_at timestamptz;

-- Ended executions by the age of what is still kept of them. One whose idempotency key is kept stands in none: a call that is
-- repeated gets the answer it got before.
create index executions_with_files on executions (finished_at)
  where finished_at is not null and idempotency_key is null and files_removed_at is null;
create index executions_with_log on executions (finished_at)
  where finished_at is not null and idempotency_key is null and log_removed_at is null;
create index executions_ended on executions (finished_at)
  where finished_at is not null and idempotency_key is null;

-- Objects to delete from storage. Written in the transaction that gives them up, deleted when they are gone; deleting an
-- object twice is harmless. Of an execution that may have left more than it recorded, storage is asked for the rest (`look`).
create table removals (
  id             bigint generated always as identity primary key,
  execution_id   text not null,
  keys           text[] not null,
  look           boolean not null,
  -- Until then somebody is at it.
  claimed_until  timestamptz not null default '-infinity',
  created_at     timestamptz not null default now()
);
