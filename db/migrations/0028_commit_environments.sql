-- The minor version of Python that a commit was made with, such as 3.11. It runs on that while a host has it.
-- Null: made before this was noted.
alter table commits add column python text check (python ~ '^3\.[0-9]+$');

-- Environments that a commit runs in besides its own: made where its own does not fit, on another Python or another C library.
create table commit_environments (
  workflow_id      text not null,
  commit_id        text not null,
  environment_key  text not null references environments (key),
  created_at       timestamptz not null default now(),
  primary key (workflow_id, commit_id, environment_key),
  foreign key (workflow_id, commit_id) references commits (workflow_id, id) on delete cascade
);
