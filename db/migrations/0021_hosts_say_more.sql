-- What each process says of its host every five seconds. Callers' processes add up the workers' places, and operators look at it.
alter table hosts
  add column role text not null default 'all' check (role in ('all', 'api', 'worker')),
  add column version text not null default '',
  -- Programs that run at a time, run now, and wait for a place here; null where none are run.
  add column slots integer check (slots > 0),
  add column running integer,
  add column waiting integer,
  add column draining boolean not null default false,
  -- What a workflow may ask for there.
  add column offers jsonb,
  add column said_at timestamptz not null default clock_timestamp(),
  add constraint programs_are_whole check ((slots is null) = (running is null) and (slots is null) = (waiting is null));
