-- What drafts leave behind, and what their authors still have to decide.

-- Contents of files that no commit has any more, kept because somebody's draft names them without having them itself. They go when no
-- draft does, unless a commit has them again by then.
create table draft_blobs (
  workflow_id  text not null,
  blob_id      text not null,
  primary key (workflow_id, blob_id),
  foreign key (workflow_id, blob_id) references git_objects (workflow_id, id) on delete cascade
);
create index draft_files_without_content on draft_files (workflow_id, blob_id) where content is null;

-- Files that a draft's author and somebody else have both changed, from when the other's commit was taken over until the author has
-- decided. The draft has the author's text, `commit_id` the other one.
create table draft_conflicts (
  user_id      text not null,
  workflow_id  text not null,
  path         text not null check (path <> ''),
  commit_id    text not null,
  primary key (user_id, workflow_id, path),
  foreign key (user_id, workflow_id) references drafts (user_id, workflow_id) on delete cascade,
  foreign key (workflow_id, commit_id) references commits (workflow_id, id)
);
