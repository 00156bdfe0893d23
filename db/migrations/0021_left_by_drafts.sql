-- What drafts leave behind.

-- Contents of files that no commit has any more, kept because somebody's draft names them without having them itself. They go when no
-- draft does, unless a commit has them again by then.
create table draft_blobs (
  workflow_id  text not null,
  blob_id      text not null,
  primary key (workflow_id, blob_id),
  foreign key (workflow_id, blob_id) references git_objects (workflow_id, id) on delete cascade
);
create index draft_files_without_content on draft_files (workflow_id, blob_id) where content is null;
