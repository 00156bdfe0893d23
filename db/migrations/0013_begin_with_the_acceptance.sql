-- Reserves the credits of an execution and opens its first attempt, in the statement that accepts it. Only for executions that
-- wait for no others of their workflow: the end of those locks an account first and the workflow's queue after it, and an
-- acceptance would do so the other way round. Returns false where the credits do not suffice; then it is `queued` as ever.
create function begin_execution(new_id text, host text, process text, lease_seconds double precision) returns boolean
  language plpgsql as $$
begin
  if reserve_credits(array[new_id]) <> 'r' then return false; end if;
  insert into attempts (execution_id, attempt, host_id, process_id, lease_until)
  values (new_id, 1, host, process, clock_timestamp() + make_interval(secs => lease_seconds));
  update executions set state = 'running', started_at = clock_timestamp() where id = new_id;
  return true;
end $$;
