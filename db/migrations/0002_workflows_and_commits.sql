create table users (
  id             text primary key,
  account_id     text not null references accounts (id),
  email          text not null,
  password_hash  text not null,
  created_at     timestamptz not null default now()
);
create unique index users_email on users (lower(email));

create table sessions (
  token_hash   bytea primary key check (length(token_hash) = 32),
  user_id      text not null references users (id) on delete cascade,
  created_at   timestamptz not null default now(),
  seen_at      timestamptz not null default now(),
  expires_at   timestamptz not null
);

-- Personal access tokens of the command line. account_id null: the operator, who may do everything.
create table access_tokens (
  token_hash   bytea primary key check (length(token_hash) = 32),
  account_id   text references accounts (id),
  name         text not null,
  created_at   timestamptz not null default now(),
  revoked_at   timestamptz
);

create table workflows (
  id           text primary key check (id ~ '^wf_[0-9a-z]{16,40}$'),
  account_id   text not null references accounts (id),
  name         text not null check (length(name) between 1 and 200),
  head         text,
  created_at   timestamptz not null default now(),
  deleted_at   timestamptz
);
create index workflows_account on workflows (account_id) where deleted_at is null;

-- Git objects, exactly as git would name them. Kept per workflow, so that a chosen SHA-1 collision
-- of one customer can never stand in for another customer's file.
create table git_objects (
  workflow_id  text not null references workflows (id),
  id           text not null check (id ~ '^[0-9a-f]{40}$'),
  kind         text not null check (kind in ('blob', 'tree', 'commit')),
  content      bytea not null,
  primary key (workflow_id, id)
);

create table commits (
  workflow_id      text not null references workflows (id),
  id               text not null,
  parent_id        text,
  tree_id          text not null,
  message          text not null,
  manifest         jsonb not null,
  environment_key  text,
  created_at       timestamptz not null default now(),
  primary key (workflow_id, id),
  foreign key (workflow_id, id) references git_objects (workflow_id, id),
  foreign key (workflow_id, tree_id) references git_objects (workflow_id, id)
);
alter table workflows add constraint head_is_a_commit foreign key (id, head) references commits (workflow_id, id);

-- What an environment is made of; the files themselves are in the data folder and can be rebuilt from the lock.
create table environments (
  key           text primary key,
  interpreter   text not null,
  requirements  text not null,
  lock          text not null,
  created_at    timestamptz not null default now()
);

create table api_keys (
  hash         bytea primary key check (length(hash) = 32),
  workflow_id  text not null references workflows (id),
  encrypted    bytea not null,
  created_at   timestamptz not null default now(),
  expires_at   timestamptz,
  revoked_at   timestamptz
);
-- Exactly one current key a workflow; replaced ones may live on until expires_at.
create unique index api_keys_current on api_keys (workflow_id) where expires_at is null and revoked_at is null;
