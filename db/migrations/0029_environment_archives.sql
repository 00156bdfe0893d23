-- Python environments in storage, for hosts that lack them. The object is what a host has packed; another one takes it only
-- when its bytes are these.
create table environment_archives (
  environment_key text primary key check (environment_key ~ '^[0-9a-f]{64}$'),
  -- Its key in storage.
  object text not null unique,
  bytes bigint not null check (bytes > 0),
  sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  used_at timestamptz not null default now()
);
create index environment_archives_used_at on environment_archives (used_at);
