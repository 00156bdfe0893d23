-- Workflows, their commits, what a commit needs to run, and the keys that call them.

create table workflows (
  id           text primary key check (id ~ '^wf_[0-9a-z]{16,40}$'),
  account_id   text not null references accounts (id),
  name         text not null check (length(name) between 1 and 200),
  -- The latest commit. Null: there is none yet.
  head         text,
  created_at   timestamptz not null default now(),
  deleted_at   timestamptz
);
create index workflows_account on workflows (account_id) where deleted_at is null;

-- Git objects, named exactly as git names them. Each workflow has its own, so that a chosen SHA-1 collision of one customer
-- can never stand in for another customer's file.
create table git_objects (
  workflow_id  text not null references workflows (id),
  id           text not null check (id ~ '^[0-9a-f]{40}$'),
  kind         text not null check (kind in ('blob', 'tree', 'commit')),
  content      bytea not null,
  primary key (workflow_id, id)
);

create table commits (
  workflow_id      text not null references workflows (id),
  id               text not null,
  parent_id        text,
  tree_id          text not null,
  message          text not null,
  manifest         jsonb not null,
  environment_key  text,
  created_at       timestamptz not null default now(),
  author_id        text references users (id) on delete set null,
  -- The address stays when the user goes: a history needs names.
  author_email     text,
  -- Files of a draft, kept because an execution has used them. Such a commit is never the head and in no history.
  draft            boolean not null default false,
  -- The minor version of Python that the commit was made with, such as 3.11. It runs on that while a host has it.
  -- Null: the version is unknown.
  python           text check (python ~ '^3\.[0-9]+$'),
  primary key (workflow_id, id),
  foreign key (workflow_id, id) references git_objects (workflow_id, id),
  foreign key (workflow_id, tree_id) references git_objects (workflow_id, id)
);
alter table workflows add constraint head_is_a_commit foreign key (id, head) references commits (workflow_id, id);
create index commits_author on commits (author_id) where author_id is not null;
create index commits_by_time on commits (workflow_id, created_at desc, id desc);
-- Commits of drafts go when no execution uses them any more.
create index commits_of_drafts on commits (created_at) where draft;

-- Notifies every process of a new or changed workflow, for open pages.
create function announce_workflow() returns trigger language plpgsql as $$
begin
  perform pg_notify('workflow_changed', json_build_object('accountId', new.account_id, 'workflowId', new.id)::text);
  return null;
end $$;

create trigger workflows_announced
  after insert on workflows
  for each row execute function announce_workflow();
create trigger workflows_announced_again
  after update of head, name, deleted_at on workflows
  for each row when ((old.head, old.name, old.deleted_at) is distinct from (new.head, new.name, new.deleted_at))
  execute function announce_workflow();

-- What an environment is made of. Its files are in the data folder and can be built again from the lock.
create table environments (
  key           text primary key,
  interpreter   text not null,
  requirements  text not null,
  lock          text not null,
  created_at    timestamptz not null default now()
);

-- Environments that a commit runs in besides its own. They are made on a host with another Python or another C library.
create table commit_environments (
  workflow_id      text not null,
  commit_id        text not null,
  environment_key  text not null references environments (key),
  created_at       timestamptz not null default now(),
  primary key (workflow_id, commit_id, environment_key),
  foreign key (workflow_id, commit_id) references commits (workflow_id, id) on delete cascade
);

-- A commit that is being made: its environment may take minutes. The row is kept for a week after.
create table builds (
  id           text primary key check (id ~ '^bld_[0-9a-z]{16,40}$'),
  workflow_id  text not null references workflows (id),
  created_at   timestamptz not null default now(),
  -- The building process renews it. A build that is silent for long is lost.
  seen_at      timestamptz not null default now(),
  ended_at     timestamptz,
  -- Null: no commit was made.
  commit_id    text,
  -- False: the workflow's head had these files already.
  changed      boolean,
  -- The error as callers get it: code, message and details. Null when there is a commit.
  failure      jsonb,
  foreign key (workflow_id, commit_id) references commits (workflow_id, id),
  constraint outcome_when_ended check ((ended_at is null) = (commit_id is null and failure is null)),
  constraint one_outcome check (commit_id is null or failure is null)
);
create index builds_by_age on builds (created_at);

-- The log of a build, in order.
create table build_logs (
  build_id  text not null references builds (id) on delete cascade,
  position  int not null check (position > 0),
  text      text not null,
  primary key (build_id, position)
);

create table api_keys (
  hash         bytea primary key check (length(hash) = 32),
  workflow_id  text not null references workflows (id),
  encrypted    bytea not null,
  created_at   timestamptz not null default now(),
  expires_at   timestamptz,
  revoked_at   timestamptz
);
-- A workflow has exactly one current key. Replaced keys may live on until expires_at.
create unique index api_keys_current on api_keys (workflow_id) where expires_at is null and revoked_at is null;
