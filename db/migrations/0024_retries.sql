-- When an attempt that did not succeed is followed by another one. Null: by none. The row is the promise: who drives the execution
-- waits until then, and whoever takes it over waits until then, too.
alter table attempts
  add column retry_at timestamptz,
  add constraint retried_when_ended_by_itself
    check (retry_at is null or (status is not null and status in ('failed', 'timed_out', 'out_of_memory')));

-- What failed before was tried again at once, where more attempts were allowed.
update attempts a set retry_at = a.ended_at
  from executions e
 where e.id = a.execution_id and e.finished_at is null and a.status = 'failed'
   and (select count(*) from attempts t where t.execution_id = e.id and (t.status is not null or t.outputs_lost)) < e.attempts_max;
