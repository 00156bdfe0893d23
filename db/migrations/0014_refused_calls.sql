-- Calls of a workflow that were refused before anything ran, so that its owner can say why. The newest ones of each workflow, for
-- a week. Unlogged: a crash of the server may empty it, and backups leave it out.
create unlogged table refused_calls (
  id          bigint generated always as identity primary key,
  workflow_id text not null references workflows (id),
  refused_at  timestamptz not null,
  status      smallint not null check (status between 400 and 599),
  error       text not null check (length(error) <= 100),
  message     text not null check (length(message) <= 500),
  -- Of the key that was sent, right or wrong; empty without one.
  key_end     text not null check (length(key_end) <= 4)
);
-- Calls without the right key are counted by themselves: anyone can make those, and they must not push out the others.
create index refused_calls_of_workflow on refused_calls (workflow_id, (status = 401), id desc);
create index refused_calls_by_time on refused_calls (refused_at);
