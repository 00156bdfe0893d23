-- What an installation has once, whichever of its processes starts first: one row at most. All of it is sealed with the master key.

create table installation (
  single          boolean primary key default true check (single),
  -- A process with another master key cannot open it, and does not start.
  canary          bytea not null,
  -- Every process that takes calls keeps the same one in its data folder. Null: none of them has started yet.
  operator_token  bytea,
  -- The password that the first owner was made with. Null: it is not known, or the owner has chosen another one.
  owner_password  bytea,
  created_at      timestamptz not null default now()
);
