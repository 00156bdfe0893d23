-- What an attempt connected to, as the kernel of its host counted it. Null: it had no network, or that was not seen.
alter table attempts add column connections jsonb check (jsonb_typeof(connections) = 'object');

-- What runs of a workflow have connected to, so that a destination is seen to be new. Gone with the last run that did.
create table known_destinations (
  workflow_id        text not null references workflows (id),
  -- A name or an address, with its port: example.com:443/tcp.
  destination        text not null check (length(destination) between 1 and 300),
  -- These are no references: the first run may be gone, and each is removed by the thousand.
  first_execution_id text not null,
  last_execution_id  text not null,
  -- When a run was last written down, at most once a day.
  seen_at            timestamptz not null default clock_timestamp(),
  primary key (workflow_id, destination)
);
create index known_destinations_last on known_destinations (last_execution_id);

-- Notes what executions reached, each with what it connected to. As a rule all of it is known, and nothing is written.
create function note_destinations(ids text[], connected jsonb[]) returns void language plpgsql as $$
declare
  changed text[];
begin
  with reached as (
    select distinct on (e.workflow_id, named.destination) e.workflow_id, named.destination, e.id
      from unnest(ids, connected) as u (id, made)
      join executions e on e.id = u.id
     cross join jsonb_to_recordset(u.made -> 'destinations')
             as d (name text, address text, port int, protocol text, "sentBytes" bigint)
     cross join lateral (select coalesce(d.name, d.address) || ':' || d.port || '/' || d.protocol) as named (destination)
     where d."sentBytes" > 0
     order by e.workflow_id, named.destination, e.created_at
  ), noted as (
    -- In order, so that none of two calls waits for the other.
    insert into known_destinations as k (workflow_id, destination, first_execution_id, last_execution_id)
    select r.workflow_id, r.destination, r.id, r.id from reached r
     where not exists (select from known_destinations o
                        where o.workflow_id = r.workflow_id and o.destination = r.destination
                          and o.seen_at > clock_timestamp() - interval '1 day')
     order by r.workflow_id, r.destination
        on conflict (workflow_id, destination) do update
           set last_execution_id = excluded.last_execution_id, seen_at = clock_timestamp()
    returning k.workflow_id
  )
  select array_agg(distinct n.workflow_id) into changed from noted n;
  -- Those that were not seen for longest are forgotten: whoever floods it makes marks, and hides none.
  delete from known_destinations k
   using unnest(changed) as w (id)
   cross join lateral (select o.destination from known_destinations o where o.workflow_id = w.id
                        order by o.seen_at desc offset 1000 for update skip locked) as old
   where k.workflow_id = w.id and k.destination = old.destination;
end $$;

-- The new argument has a default: processes of the release before call it without.
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
