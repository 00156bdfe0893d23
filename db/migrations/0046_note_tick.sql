-- Records the tick that an execution stands for, in the transaction that accepts it. A user who asks for a past one may start what did
-- not start. False: it has its record already.
create function note_tick(
  new_id text, nominal timestamptz, previous timestamptz, zone text, fired_by text, decided timestamptz
) returns boolean language plpgsql as $$
begin
  update executions set scheduled_for = nominal, previous_scheduled_for = previous, scheduled_zone = zone where id = new_id;
  insert into ticks as t (workflow_id, schedule_name, nominal_at, outcome, reason, source, execution_id, decided_at)
  select e.workflow_id, coalesce(e.schedule_name, 'schedule'), nominal, 'started', '', fired_by, e.id, decided
    from executions e where e.id = new_id
      on conflict (workflow_id, schedule_name, nominal_at) do update
     set outcome = excluded.outcome, reason = excluded.reason, source = excluded.source, execution_id = excluded.execution_id,
         decided_at = excluded.decided_at
   where excluded.source = 'backfill' and t.outcome <> 'started';
  return found;
end $$;
