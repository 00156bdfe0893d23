-- Hosts that have a process. It stores what waits in the host's spool, and says so again before `present_until`.
-- Unlogged: after a crash of the server all of them say so anew within seconds.
create unlogged table hosts (
  id             text primary key,
  process_id     text not null,
  present_until  timestamptz not null,
  -- What programs lack there. Null: none are run there.
  lacks          jsonb
);
delete from leases where name like 'host:%';
