-- An execution that begins as it is accepted, and ends in one step, is written twice instead of four times.

-- `begins`: its first attempt is opened in the same statement, so that it is `running` from the start.
drop function accept_execution;
create function accept_execution(
  new_id text, account text, workflow text, commit_id text, started_by text, seconds numeric, cores numeric, attempts int,
  charge bigint, process text, given jsonb, secrets bytea, files jsonb, key text, print bytea,
  key_bucket text, key_spacing double precision, key_burst int,
  account_bucket text, account_spacing double precision, account_burst int,
  executions_max int, waiting_max int, follow boolean, backfill boolean, texts jsonb default '{}',
  schedule text default null, begins boolean default false
) returns table (outcome text, id text, admitted boolean, key_busy double precision, account_busy double precision)
  language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
declare
  place bigint;
  admitted_since timestamptz := now();
  key_until timestamptz;
  account_until timestamptz;
  under_way bigint;
  first_turn bigint;
  last_turn bigint;
  is_crowded boolean := false;
  must_follow boolean := false;
begin
  outcome := 'accepted';
  if key_bucket is not null then
    key_until := take_rate(key_bucket, key_spacing, key_burst);
    if key_until is null then outcome := 'rate_limited'; end if;
  end if;
  if outcome = 'accepted' and account_bucket is not null then
    account_until := take_rate(account_bucket, account_spacing, account_burst);
    if account_until is null then outcome := 'rate_limited'; end if;
  end if;
  if outcome = 'accepted' and (executions_max is not null or follow) then
    perform lock_admission(workflow);
    -- Of one that is in the record already, the end may be waiting for this lock: it must not be waited for in turn.
    if key is not null and exists (
      select from executions o
       where o.workflow_id = workflow and o.idempotency_key = key and (o.failure is null or o.failure = 'internal')
    ) then outcome := 'known'; end if;
  end if;
  if outcome = 'accepted' and (executions_max is not null or follow) then
    if executions_max is not null then
      select count(*) into under_way from executions o
       where o.workflow_id = workflow and o.state in ('queued', 'running') and o.admitted_at is not null;
      is_crowded := under_way >= executions_max or exists (
        select from executions o
         where o.workflow_id = workflow and o.state = 'queued' and o.admitted_at is null and (backfill or not o.backfilled)
           and not (o.follows and is_schedule_busy(workflow, o.backfilled, o.schedule_name))
      );
    end if;
    must_follow := follow and (is_schedule_busy(workflow, backfill, schedule) or exists (
      select from executions o
       where o.workflow_id = workflow and o.state = 'queued' and o.admitted_at is null and o.trigger = 'schedule'
         and o.backfilled = backfill and o.schedule_name is not distinct from schedule
    ));
    if is_crowded or must_follow then
      -- Turns are not counted but measured, by the ends of the index: a queue may be long. Who left it is counted, too.
      select min(o.turn), max(o.turn) into first_turn, last_turn from executions o
       where o.workflow_id = workflow and o.state = 'queued' and o.admitted_at is null;
      admitted_since := null;
      place := coalesce(last_turn, 0) + 1;
      if not must_follow and place - coalesce(first_turn, place) >= waiting_max then outcome := 'full'; end if;
    end if;
  end if;

  if outcome = 'accepted' then
    insert into executions (id, account_id, workflow_id, commit_id, trigger, inputs, input_texts, secret_inputs, timeout_seconds, cpu,
                            attempts_max, charge_max, accepted_by, idempotency_key, fingerprint, limited, follows, backfilled,
                            turn, admitted_at, schedule_name, state, started_at)
    values (new_id, account, workflow, commit_id, started_by, given, texts, secrets, seconds, cores, attempts, charge, process, key,
            print, executions_max is not null or follow, follow, backfill, place, admitted_since, schedule,
            case when begins and admitted_since is not null then 'running' else 'queued' end,
            case when begins and admitted_since is not null then clock_timestamp() end)
        on conflict (workflow_id, idempotency_key)
           where idempotency_key is not null and (failure is null or failure = 'internal') do nothing;
    if not found then outcome := 'known'; end if;
  end if;

  -- A repeated call is told of its execution even where a new one would be refused.
  if outcome <> 'accepted' then
    if key_until is not null then key_until := return_rate(key_bucket, key_spacing); end if;
    if account_until is not null then account_until := return_rate(account_bucket, account_spacing); end if;
    select o.id into id from executions o
     where o.workflow_id = workflow and o.idempotency_key = key
       and (o.failure is null or o.failure = 'internal');
    if found then outcome := 'known'; end if;
  else
    id := new_id;
    admitted := admitted_since is not null;
    if jsonb_array_length(files) > 0 then
      insert into execution_files (execution_id, direction, name, position, file_name, storage_key, bytes, sha256, content_type)
      select new_id, 'input', f.name, row_number() over (partition by f.name order by f.ordinal) - 1,
             f.file_name, f.storage_key, f.bytes, f.sha256, f.content_type
        from rows from (jsonb_to_recordset(files)
               as (name text, file_name text, storage_key text, bytes bigint, sha256 text, content_type text))
             with ordinality as f (name, file_name, storage_key, bytes, sha256, content_type, ordinal);
    end if;
  end if;
  if key_bucket is not null and key_until is null then
    select b.busy_until into key_until from rate_buckets b where b.bucket = key_bucket;
  end if;
  if account_bucket is not null and account_until is null then
    select b.busy_until into account_until from rate_buckets b where b.bucket = account_bucket;
  end if;
  key_busy := extract(epoch from key_until - clock_timestamp());
  account_busy := extract(epoch from account_until - clock_timestamp());
  return next;
end $$;

-- `is_running`: it was accepted so.
drop function begin_execution;
create function begin_execution(
  new_id text, host text, process text, lease_seconds double precision, is_running boolean default false
) returns boolean language plpgsql as $$
begin
  if reserve_credits(array[new_id]) <> 'r' then
    if is_running then update executions set state = 'queued', started_at = null where id = new_id; end if;
    return false;
  end if;
  insert into attempts (execution_id, attempt, host_id, process_id, lease_until)
  values (new_id, 1, host, process, clock_timestamp() + make_interval(secs => lease_seconds));
  if not is_running then update executions set state = 'running', started_at = clock_timestamp() where id = new_id; end if;
  return true;
end $$;

-- `log_keys` and `log_sizes`: where the logs are, if that is recorded with the end.
drop function settle_executions;
create function settle_executions(
  ids text[], statuses text[], seconds numeric[], computes bigint[], totals bigint[], channel text,
  log_keys text[] default null, log_sizes bigint[] default null
) returns setof text language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  ended text[];
begin
  perform from accounts a where a.id in (select e.account_id from executions e where e.id = any (ids))
    order by a.id for no key update;
  with bills as (
    select distinct on (u.id) u.*
      from unnest(ids, statuses, seconds, computes, totals, log_keys, log_sizes) with ordinality
             as u (id, status, seconds, compute, total, log_key, log_size, position)
     order by u.id, u.position
  ), updated as (
    update executions e
       set state = b.status, finished_at = clock_timestamp(), seconds_used = b.seconds,
           charge_compute = b.compute, charge_total = b.total,
           log_key = case when log_keys is null then e.log_key else b.log_key end,
           log_bytes = case when log_keys is null then e.log_bytes else b.log_size end,
           uploaded_at = case when log_keys is null then e.uploaded_at else coalesce(e.uploaded_at, clock_timestamp()) end,
           message = coalesce((select t.message from attempts t where t.execution_id = e.id and t.status is not null
                                order by t.attempt desc limit 1), '')
      from bills b
     where e.id = b.id and e.state in ('queued', 'running')
       and exists (select from reservations r where r.execution_id = e.id and r.state = 'open')
    returning e.id
  )
  select coalesce(array_agg(u.id), '{}') into ended from updated u;
  update reservations r set state = 'settled', closed_at = now() where r.execution_id = any (ended);
  insert into ledger_entries (account_id, kind, amount, execution_id)
  select e.account_id, 'settlement', -e.charge_total, e.id from executions e where e.id = any (ended);
  perform pg_notify(channel, u.id) from unnest(ended) as u (id);
  return query select u.id from unnest(ended) as u (id);
end $$;

drop function finish_executions;
create function finish_executions(
  ids text[], processes text[], statuses text[], messages text[], seconds numeric[], processors numeric[],
  computes bigint[], totals bigint[], log_keys text[], log_sizes bigint[], files jsonb,
  owners text[], keys text[], contents bytea[], channel text,
  memories bigint[] default null, processors_used numeric[] default null, connected jsonb[] default null
) returns text language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  ours text[];
  bills record;
  finished text[] := '{}';
begin
  -- Accounts before everything else, as whoever moves credits does.
  perform from accounts a where a.id in (select e.account_id from executions e where e.id = any (ids))
    order by a.id for no key update;
  with ended as (
    update attempts t
       set ended_at = clock_timestamp(), status = u.status, message = u.message,
           seconds_used = u.used, processor_seconds = u.processor,
           peak_memory_bytes = u.memory, used_processor_seconds = u.processor_used, connections = u.connected
      from unnest(ids, processes, statuses, messages, seconds, processors, memories, processors_used, connected)
           as u (id, process, status, message, used, processor, memory, processor_used, connected)
     where t.execution_id = u.id and t.attempt = 1 and t.process_id = u.process and t.ended_at is null
    returning t.execution_id
  )
  select coalesce(array_agg(e.execution_id), '{}') into ours from ended e;

  perform note_destinations(c.ids, c.made)
     from (select array_agg(u.id) as ids, array_agg(u.made) as made
             from unnest(ids, connected) as u (id, made) where u.id = any (ours) and u.made is not null) c
    where c.ids is not null;
  insert into execution_files (execution_id, direction, name, file_name, storage_key, bytes, sha256, content_type)
  select f.execution_id, 'output', f.name, f.file_name, f.storage_key, f.bytes, f.sha256, f.content_type
    from jsonb_to_recordset(files) as f (execution_id text, name text, file_name text, storage_key text, bytes bigint, sha256 text,
                                         content_type text)
   where f.execution_id = any (ours)
      on conflict (execution_id, direction, name, position) do nothing;
  insert into small_objects (storage_key, content)
  select u.key, u.content from unnest(owners, keys, contents) as u (owner, key, content) where u.owner = any (ours)
      on conflict (storage_key) do update set content = excluded.content;

  select array_agg(u.id) as ids, array_agg(u.status) as statuses, array_agg(u.used) as seconds,
         array_agg(u.compute) as computes, array_agg(u.total) as totals, array_agg(u.key) as keys, array_agg(u.size) as sizes
    into bills
    from unnest(ids, statuses, seconds, computes, totals, log_keys, log_sizes) as u (id, status, used, compute, total, key, size)
   where u.id = any (ours);
  if bills.ids is not null then
    finished := array(
      select settle_executions(bills.ids, bills.statuses, bills.seconds, bills.computes, bills.totals, channel, bills.keys, bills.sizes));
    -- Of what is settled already, or is not to be, the log is kept all the same.
    if cardinality(finished) < cardinality(ours) then
      update executions e set log_key = u.key, log_bytes = u.size, uploaded_at = coalesce(e.uploaded_at, clock_timestamp())
        from unnest(ids, log_keys, log_sizes) as u (id, key, size)
       where e.id = u.id and u.id = any (ours) and u.id <> all (finished);
    end if;
  end if;
  return (select string_agg(case when u.id = any (finished) then 'f' when u.id = any (ours) then 'c' else 'n' end, ''
                            order by u.position)
            from unnest(ids) with ordinality as u (id, position));
end $$;

-- Said here, because a function in such a condition is read anew by every statement that changes a log.
drop trigger executions_keep_log on executions;
create trigger executions_keep_log
  after update of log_key, log_bytes, log_removed_at on executions
  for each row when (case when old.log_key is not null and old.log_removed_at is null then old.log_bytes else 0 end
                  <> case when new.log_key is not null and new.log_removed_at is null then new.log_bytes else 0 end)
  execute function count_kept_log();
