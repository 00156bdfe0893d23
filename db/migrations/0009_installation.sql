-- What an installation has once, and which of its processes does what.

-- What the first process to start makes, in one row. All of it is sealed with the master key.
create table installation (
  single          boolean primary key default true check (single),
  -- A process with another master key cannot open it, and does not start.
  canary          bytea not null,
  -- Every process that takes calls keeps the same one in its data folder. Null: none of them has started yet.
  operator_token  bytea,
  -- The password that the first owner was made with. Null: it is unknown, or the owner has chosen another one.
  owner_password  bytea,
  created_at      timestamptz not null default now()
);

-- Which process does the work that only one may do. A holder that died, or sleeps, loses it when its time is over.
create table leases (
  name        text primary key,
  holder      text not null,
  held_until  timestamptz not null
);

-- Hosts that have a process. It stores what waits in the host's spool, and renews its row before `present_until`.
-- Unlogged: after a crash of the server all of them write their row again within seconds.
create unlogged table hosts (
  id             text primary key,
  process_id     text not null,
  present_until  timestamptz not null,
  -- What programs lack there. Null: none are run there.
  lacks          jsonb
);

-- How often each kind of repair was made, by all processes together, since the installation began.
create table repairs (
  repair   text primary key,
  count    bigint not null check (count > 0),
  last_at  timestamptz not null default now()
);
