-- Files that callers bring before the call that takes them: in parts, straight to storage where it can be reached. What was declared is
-- kept from then on, whether it is there yet or not. An execution gets a copy.
create table file_uploads (
  id           text primary key check (id ~ '^up_[0-9a-z]{16,40}$'),
  workflow_id  text not null references workflows (id),
  account_id   text not null references accounts (id),
  file_name    text not null check (length(file_name) between 1 and 255),
  content_type text not null,
  bytes        bigint not null check (bytes >= 0),
  sha256       text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  part_bytes   bigint not null check (part_bytes > 0),
  -- What storage calls it; null until storage has answered.
  session      text,
  begun_at     timestamptz not null default clock_timestamp(),
  expires_at   timestamptz not null,
  completed_at timestamptz,
  check (expires_at > begun_at),
  check (completed_at is null or session is not null)
);

create index file_uploads_workflow on file_uploads (workflow_id, expires_at);
create index file_uploads_expiry on file_uploads (expires_at);

create or replace view kept_by_record as
  select e.account_id, sum(e.log_bytes) as bytes
    from executions e where e.log_key is not null and e.log_removed_at is null group by e.account_id
  union all
  select e.account_id, sum(f.bytes)
    from execution_files f join executions e on e.id = f.execution_id where e.files_removed_at is null group by e.account_id
  union all
  select w.account_id, sum(octet_length(o.content))
    from git_objects o join workflows w on w.id = o.workflow_id group by w.account_id
  union all
  select w.account_id, sum(octet_length(f.content))
    from draft_files f join workflows w on w.id = f.workflow_id where f.content is not null group by w.account_id
  union all
  select u.account_id, sum(u.bytes) from file_uploads u group by u.account_id;

create function count_kept_uploads() returns trigger language plpgsql as $$
begin
  insert into kept_changes (account_id, bytes)
  select u.account_id, case tg_op when 'DELETE' then -sum(u.bytes) else sum(u.bytes) end
    from changed u group by u.account_id having sum(u.bytes) > 0;
  return null;
end $$;

create trigger file_uploads_are_kept
  after insert on file_uploads referencing new table as changed
  for each statement execute function count_kept_uploads();
create trigger file_uploads_are_gone
  after delete on file_uploads referencing old table as changed
  for each statement execute function count_kept_uploads();

-- False: the workflow has as many that are not complete, or as many at all, as it may have. Its lock settles the race of two.
create function begin_file_upload(
  new_id text, workflow text, account text, name text, type text, size bigint, hash text, part_size bigint, seconds double precision,
  open_max int, kept_max int
) returns boolean language plpgsql as $$
begin
  perform lock_admission(workflow);
  if (select count(*) >= kept_max or count(*) filter (where u.completed_at is null) >= open_max
        from file_uploads u where u.workflow_id = workflow and u.expires_at > clock_timestamp()) then
    return false;
  end if;
  insert into file_uploads (id, workflow_id, account_id, file_name, content_type, bytes, sha256, part_bytes, expires_at)
  values (new_id, workflow, account, name, type, size, hash, part_size, clock_timestamp() + make_interval(secs => seconds));
  return true;
end $$;
