-- Small outputs and logs, from the end of their execution until storage has them. They are in the commit that ends the execution,
-- so that its caller waits for one disk and not for several. Readers look here first.
create table small_objects (
  -- "C", because keys are looked for by how they begin.
  storage_key  text collate "C" primary key,
  content      bytea not null,
  created_at   timestamptz not null default now()
);
-- It stays for minutes: compressing it costs more than its room.
alter table small_objects alter column content set storage external;
create index small_objects_age on small_objects (created_at);

-- Ends first attempts whose program has ended for good, and their executions with them: the attempt's outcome, the outputs with
-- their bytes, the charge. All of it in one commit. Returns a letter for each execution, in the order given: `f` finished; `c` when
-- the execution was closed before, and only what came out of it was recorded; `n` when the attempt is not that process's any more,
-- and nothing was changed. `files` are rows of `execution_files`. `owners`,
-- `keys` and `contents` are those of `small_objects`.
create function finish_executions(
  ids text[], processes text[], statuses text[], messages text[], seconds numeric[], processors numeric[],
  computes bigint[], totals bigint[], log_keys text[], log_sizes bigint[], files jsonb,
  owners text[], keys text[], contents bytea[], channel text
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
           seconds_used = u.used, processor_seconds = u.processor
      from unnest(ids, processes, statuses, messages, seconds, processors) as u (id, process, status, message, used, processor)
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
