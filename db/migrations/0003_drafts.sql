-- What people write before they commit it.

-- All files of a workflow as one user has them: one draft for each of the two. `version` counts its changes. A save names the
-- version that its author has seen, so that the second of two tabs is refused.
create table drafts (
  -- Tells a draft from one that was discarded before it.
  id           bigint generated always as identity unique,
  user_id      text not null references users (id) on delete cascade,
  workflow_id  text not null references workflows (id),
  -- The commit that the draft began with, or last took over. Null: there was none.
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
create index draft_files_without_content on draft_files (workflow_id, blob_id) where content is null;

-- Contents of files that no commit has any more, kept because a draft names them without having them itself. They go when the
-- last such draft goes, unless a commit has them again by then.
create table draft_blobs (
  workflow_id  text not null,
  blob_id      text not null,
  primary key (workflow_id, blob_id),
  foreign key (workflow_id, blob_id) references git_objects (workflow_id, id) on delete cascade
);

-- Files that a draft's author and another person have both changed. A row stays from when the draft took over the other's
-- commit until the author has decided. The draft has the author's text, `commit_id` the other one.
create table draft_conflicts (
  user_id      text not null,
  workflow_id  text not null,
  path         text not null check (path <> ''),
  commit_id    text not null,
  primary key (user_id, workflow_id, path),
  foreign key (user_id, workflow_id) references drafts (user_id, workflow_id) on delete cascade,
  foreign key (workflow_id, commit_id) references commits (workflow_id, id)
);
