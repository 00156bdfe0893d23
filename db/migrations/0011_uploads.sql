-- Requests that have files in storage, or are about to, and no execution yet. Written before the first byte is stored, deleted
-- in the transaction that records the execution, and by whoever deleted the files of a refused request. What stays longer than
-- any request may take was left by a process that died: so nobody ever has to look through all of storage for it.
create table uploads (
  execution_id  text primary key,
  begun_at      timestamptz not null default now()
);
