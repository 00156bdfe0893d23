-- Executions as the editor lists them, commits that only a draft's execution is of, and what tells open pages about workflows.

-- Pages of executions in one state, newest first. Most have succeeded: those are found by the account's own index.
create index executions_unsuccessful on executions (account_id, state, created_at desc) where state <> 'success';
-- Those that no program with a key has started.
create index executions_not_called on executions (account_id, trigger, created_at desc) where trigger <> 'api';
-- Which executions a commit has had.
create index if not exists executions_commit on executions (workflow_id, commit_id, created_at desc);

-- Files of a draft, kept because an execution is of them: never the head, in no history.
alter table commits add column draft boolean not null default false;

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
