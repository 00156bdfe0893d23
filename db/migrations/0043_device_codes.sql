-- Command lines that ask to be let in, until a person answers in a browser. For minutes only. Unlogged: a crash of the server may
-- empty it, and backups leave it out.
create unlogged table device_codes (
  -- Of the code that the command line keeps, and of the one that people compare.
  device_hash  bytea primary key check (length(device_hash) = 32),
  user_hash    bytea not null unique check (length(user_hash) = 32),
  -- The computer, as the command line calls it, and the address that it asked from.
  name         text not null check (length(name) between 1 and 100),
  address      text not null check (length(address) <= 100),
  created_at   timestamptz not null default now(),
  expires_at   timestamptz not null,
  polled_at    timestamptz,
  answered_at  timestamptz,
  -- Whose access token it gets. Null with an answer: it was refused.
  allowed_by   text references users (id) on delete cascade,
  constraint expires_after_creation check (expires_at > created_at),
  constraint allowed_by_an_answer check (allowed_by is null or answered_at is not null)
);
