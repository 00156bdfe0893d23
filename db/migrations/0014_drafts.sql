-- What people write before they commit it, who made a commit, and how far a commit under way is.

-- All files of a workflow as one user has them: one draft for each of the two. `version` counts its changes; who saves names the
-- version that he has seen, so that of two tabs one is told.
create table drafts (
  -- Tells a draft from one that was discarded before it.
  id           bigint generated always as identity unique,
  user_id      text not null references users (id) on delete cascade,
  workflow_id  text not null references workflows (id),
  -- The commit it began with, or last took over. Null: there was none.
  base         text,
  version      int not null default 1 check (version > 0),
  updated_at   timestamptz not null default now(),
  primary key (user_id, workflow_id),
  foreign key (workflow_id, base) references commits (workflow_id, id)
);
create index drafts_workflow on drafts (workflow_id);

-- A file is named by the blob that git would make of it. Its content is here only when no commit of the workflow has that blob:
-- a draft of a large workflow costs what was changed.
create table draft_files (
  user_id      text not null,
  workflow_id  text not null,
  path         text not null check (path <> ''),
  blob_id      text not null check (blob_id ~ '^[0-9a-f]{40}$'),
  content      bytea,
  executable   boolean not null,
  primary key (user_id, workflow_id, path),
  foreign key (user_id, workflow_id) references drafts (user_id, workflow_id) on delete cascade
);

-- The e-mail stays when the user goes: a history without names is none.
alter table commits
  add column author_id text references users (id) on delete set null,
  add column author_email text;
create index commits_author on commits (author_id) where author_id is not null;
create index commits_by_time on commits (workflow_id, created_at desc, id desc);

-- A commit that is being made: its environment may take minutes. Kept for a week after.
create table builds (
  id           text primary key check (id ~ '^bld_[0-9a-z]{16,40}$'),
  workflow_id  text not null references workflows (id),
  created_at   timestamptz not null default now(),
  -- Its process says so again and again: one that has been silent for long is lost.
  seen_at      timestamptz not null default now(),
  ended_at     timestamptz,
  -- Null where no commit was made.
  commit_id    text,
  -- False: the workflow's head had these files already.
  changed      boolean,
  -- As callers are told: code, message and details of an error. Null when there is a commit.
  failure      jsonb,
  foreign key (workflow_id, commit_id) references commits (workflow_id, id),
  constraint outcome_when_ended check ((ended_at is null) = (commit_id is null and failure is null)),
  constraint one_outcome check (commit_id is null or failure is null)
);
create index builds_by_age on builds (created_at);

-- What it says, in the order it was said.
create table build_logs (
  build_id  text not null references builds (id) on delete cascade,
  position  int not null check (position > 0),
  text      text not null,
  primary key (build_id, position)
);

-- Which executions a commit has had.
create index executions_commit on executions (workflow_id, commit_id, created_at desc);
