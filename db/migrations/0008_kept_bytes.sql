-- What an account keeps: files of executions, their logs, contents of commits and of drafts. Each is counted when it is recorded
-- and when it is given up.

-- Changes that are not in `accounts.kept_bytes` yet; both together are what the account keeps. Rows instead of the account
-- itself: executions that end at the same time would wait for each other there.
create table kept_changes (
  id          bigint generated always as identity primary key,
  account_id  text not null,
  bytes       bigint not null
);
create index kept_changes_of_account on kept_changes (account_id) include (bytes);

-- Returns what an account keeps now, all changes added up.
create function kept_bytes_of(account text) returns bigint stable language sql as $$
  select cast(a.kept_bytes + coalesce((select sum(c.bytes) from kept_changes c where c.account_id = a.id), 0) as bigint)
    from accounts a where a.id = account
$$;

-- By account and by kind, from the record itself: what the changes must add up to.
create view kept_by_record as
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
    from draft_files f join workflows w on w.id = f.workflow_id where f.content is not null group by w.account_id;

create function count_kept_files() returns trigger language plpgsql as $$
begin
  insert into kept_changes (account_id, bytes)
  select e.account_id, sum(f.bytes) from files f join executions e on e.id = f.execution_id
   where e.files_removed_at is null group by e.account_id having sum(f.bytes) > 0;
  return null;
end $$;

create trigger execution_files_are_kept
  after insert on execution_files referencing new table as files
  for each statement execute function count_kept_files();

create function kept_log_bytes(execution executions) returns bigint language sql immutable as $$
  select case when (execution).log_key is not null and (execution).log_removed_at is null then (execution).log_bytes else 0 end
$$;

create function count_kept_log() returns trigger language plpgsql as $$
begin
  insert into kept_changes (account_id, bytes) values (new.account_id, kept_log_bytes(new) - kept_log_bytes(old));
  return null;
end $$;

create trigger executions_keep_log
  after update of log_key, log_bytes, log_removed_at on executions
  for each row when (kept_log_bytes(old) <> kept_log_bytes(new)) execute function count_kept_log();

create function give_up_files() returns trigger language plpgsql as $$
begin
  insert into kept_changes (account_id, bytes)
  select new.account_id, -sum(f.bytes) from execution_files f where f.execution_id = new.id having sum(f.bytes) > 0;
  return null;
end $$;

create trigger executions_give_up_files
  after update of files_removed_at on executions
  for each row when (old.files_removed_at is null and new.files_removed_at is not null) execute function give_up_files();

-- Contents of commits and of drafts: both tables name their workflow and have a content. What is added comes before what is removed,
-- so that no sum of the first changes is negative.
create function count_kept_contents() returns trigger language plpgsql as $$
begin
  if tg_op <> 'DELETE' then
    insert into kept_changes (account_id, bytes)
    select w.account_id, sum(octet_length(c.content)) from added c join workflows w on w.id = c.workflow_id
     group by w.account_id having sum(octet_length(c.content)) > 0;
  end if;
  if tg_op <> 'INSERT' then
    insert into kept_changes (account_id, bytes)
    select w.account_id, -sum(octet_length(c.content)) from removed c join workflows w on w.id = c.workflow_id
     group by w.account_id having sum(octet_length(c.content)) > 0;
  end if;
  return null;
end $$;

create trigger git_objects_are_kept after insert on git_objects
  referencing new table as added for each statement execute function count_kept_contents();
create trigger git_objects_are_given_up after delete on git_objects
  referencing old table as removed for each statement execute function count_kept_contents();
create trigger draft_files_are_kept after insert on draft_files
  referencing new table as added for each statement execute function count_kept_contents();
create trigger draft_files_are_changed after update on draft_files
  referencing new table as added old table as removed for each statement execute function count_kept_contents();
create trigger draft_files_are_given_up after delete on draft_files
  referencing old table as removed for each statement execute function count_kept_contents();
