-- What is failing is a schedule of a workflow, or its calls and forms: one that succeeds says nothing of another that fails.
alter table failing_workflows
  -- As in `schedules`; empty: calls and forms.
  add column schedule_name text not null default '' check (schedule_name = '' or schedule_name ~ '^[a-z][a-z0-9_-]{0,39}$');
alter table failing_workflows drop constraint if exists failing_workflows_pkey;
alter table failing_workflows add primary key (workflow_id, schedule_name);

create function failing_line(started_by text, schedule text) returns text language sql immutable as $$
  select case when started_by = 'schedule' then coalesce(schedule, 'schedule') else '' end;
$$;

-- Until now the last end counted, of whatever line.
update failing_workflows f set schedule_name = coalesce((
  select failing_line(e.trigger, e.schedule_name) from executions e
   where e.workflow_id = f.workflow_id and e.notifies and e.state in ('failed', 'timed_out', 'out_of_memory')
   order by e.finished_at desc limit 1), '');

create or replace function note_end() returns trigger language plpgsql as $$
declare
  wanted jsonb := (select c.manifest -> 'notify' from commits c where c.workflow_id = new.workflow_id and c.id = new.commit_id and not c.draft);
  line text := failing_line(new.trigger, new.schedule_name);
  written text;
begin
  insert into notices (account_id, kind, workflow_id, execution_id)
  select new.account_id, 'result', new.workflow_id, new.id from call_receivers r where r.execution_id = new.id
  returning id into written;
  if written is not null then perform pg_notify('notice_written', written); end if;
  if wanted is null then return null; end if;
  if new.finished_at - new.started_at > make_interval(secs => cast(wanted #>> '{slow,afterSeconds}' as double precision)) then
    perform write_notices('slow', new.account_id, new.workflow_id, new.id, null, '', wanted #> '{slow,to}');
  end if;
  if new.state = 'success' then
    delete from failing_workflows f where f.workflow_id = new.workflow_id and f.schedule_name = line;
    if found then
      perform write_notices('recovery', new.account_id, new.workflow_id, new.id, null, '', wanted -> 'recovery');
    end if;
  elsif new.state <> 'cancelled' then
    insert into failing_workflows (workflow_id, schedule_name) values (new.workflow_id, line)
        on conflict (workflow_id, schedule_name) do nothing;
    perform write_notices('failure', new.account_id, new.workflow_id, new.id, null, '', wanted -> 'failure');
  end if;
  return null;
end $$;
