-- What attempts used at most, as far as it was seen. For people: `processor_seconds` is what is billed where no cgroup bounds it.
alter table attempts
  add column peak_memory_bytes      bigint check (peak_memory_bytes >= 0),
  add column used_processor_seconds numeric check (used_processor_seconds >= 0);

-- The new arguments have defaults: processes of the release before call it without them.
drop function finish_executions;
create function finish_executions(
  ids text[], processes text[], statuses text[], messages text[], seconds numeric[], processors numeric[],
  computes bigint[], totals bigint[], log_keys text[], log_sizes bigint[], files jsonb,
  owners text[], keys text[], contents bytea[], channel text,
  memories bigint[] default null, processors_used numeric[] default null
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
           peak_memory_bytes = u.memory, used_processor_seconds = u.processor_used
      from unnest(ids, processes, statuses, messages, seconds, processors, memories, processors_used)
           as u (id, process, status, message, used, processor, memory, processor_used)
     where t.execution_id = u.id and t.attempt = 1 and t.process_id = u.process and t.ended_at is null
    returning t.execution_id
  )
  select coalesce(array_agg(e.execution_id), '{}') into ours from ended e;

  update executions e set log_key = u.key, log_bytes = u.size, uploaded_at = coalesce(e.uploaded_at, clock_timestamp())
    from unnest(ids, log_keys, log_sizes) as u (id, key, size)
   where e.id = u.id and u.id = any (ours);
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
         array_agg(u.compute) as computes, array_agg(u.total) as totals into bills
    from unnest(ids, statuses, seconds, computes, totals) as u (id, status, used, compute, total) where u.id = any (ours);
  if bills.ids is not null then
    finished := array(
      select settle_executions(bills.ids, bills.statuses, bills.seconds, bills.computes, bills.totals, channel));
  end if;
  return (select string_agg(case when u.id = any (finished) then 'f' when u.id = any (ours) then 'c' else 'n' end, ''
                            order by u.position)
            from unnest(ids) with ordinality as u (id, position));
end $$;
