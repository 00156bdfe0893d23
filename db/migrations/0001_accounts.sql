-- Accounts, the people who belong to them, and what lets them in. All amounts are whole micro-credits (1 credit = 1,000,000).

create table accounts (
  id              text primary key check (id ~ '^acct_[0-9a-z]{16,40}$'),
  name            text not null unique check (length(name) between 1 and 200),
  -- Both are moved by triggers only: see 0005_ledger.sql.
  balance         bigint not null default 0,
  reserved        bigint not null default 0,
  created_at      timestamptz not null default now(),
  -- The bytes that the account keeps, without those of `kept_changes`: see 0008_kept_bytes.sql.
  kept_bytes      bigint not null default 0 check (kept_bytes >= 0),
  -- How many it may keep. Null: nothing was agreed with it. 0: no limit.
  kept_bytes_max  bigint check (kept_bytes_max >= 0),
  constraint reserved_not_negative check (reserved >= 0),
  constraint balance_covers_reserved check (balance >= reserved)
) with (fillfactor = 50);
-- Half of each page is left free. New versions of a busy account stay on its page, and no index grows.

create function create_id(prefix text) returns text language sql volatile as $$
  select prefix || replace(cast(gen_random_uuid() as text), '-', '');
$$;

-- A user belongs to one account.
create table users (
  id                   text primary key,
  account_id           text not null references accounts (id),
  email                text not null,
  password_hash        text not null,
  created_at           timestamptz not null default now(),
  role                 text not null default 'viewer' check (role in ('owner', 'member', 'viewer')),
  seen_at              timestamptz,
  -- Null: the password is the one that the user was created with.
  password_changed_at  timestamptz,
  -- Since when the user belongs to no account. The row stays, because what the user did stays. An invitation revives it.
  removed_at           timestamptz,
  constraint users_with_account unique (id, account_id)
);
create unique index users_email on users (lower(email));
create index users_account on users (account_id) where removed_at is null;

-- Makes the caller the only one who changes the members of an account, until its transaction ends. It does not lock the
-- account's row: every execution waits for that one.
create function lock_members(account text) returns void language sql as $$
  select pg_advisory_xact_lock(7283516, hashtext(account));
$$;

create function demand_owner(account text) returns void language plpgsql as $$
begin
  -- Each statement in here sees what was committed before it begins: of two owners who step down at once, the second sees the first.
  perform lock_members(account);
  if not exists (select from users u where u.account_id = account and u.role = 'owner' and u.removed_at is null) then
    raise exception 'an account with members keeps an owner'
      using errcode = 'check_violation', constraint = 'account_keeps_an_owner';
  end if;
end $$;

create function keep_an_owner() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.role = 'owner' and old.removed_at is null then
    perform demand_owner(old.account_id);
  end if;
  if tg_op <> 'DELETE' and new.removed_at is null then
    perform demand_owner(new.account_id);
  end if;
  return null;
end $$;

create trigger users_keep_an_owner
  after insert or delete or update of role, account_id, removed_at on users
  for each row execute function keep_an_owner();

create table invitations (
  id           text primary key default create_id('inv_'),
  account_id   text not null references accounts (id),
  email        text not null check (length(email) between 3 and 320),
  role         text not null check (role in ('owner', 'member', 'viewer')),
  token_hash   bytea not null unique check (length(token_hash) = 32),
  -- Null: the operator.
  invited_by   text references users (id),
  created_at   timestamptz not null default now(),
  expires_at   timestamptz not null,
  accepted_at  timestamptz,
  accepted_by  text references users (id),
  revoked_at   timestamptz,
  constraint expires_after_creation check (expires_at > created_at),
  constraint accepted_by_somebody check ((accepted_at is null) = (accepted_by is null)),
  constraint accepted_or_revoked check (accepted_at is null or revoked_at is null)
);
-- An account has one open invitation for an address: a newer one takes its place.
create unique index invitations_open on invitations (account_id, lower(email)) where accepted_at is null and revoked_at is null;
create index invitations_by on invitations (invited_by) where accepted_at is null and revoked_at is null;

-- Sessions of browsers.
create table sessions (
  token_hash   bytea primary key check (length(token_hash) = 32),
  user_id      text not null references users (id) on delete cascade,
  created_at   timestamptz not null default now(),
  seen_at      timestamptz not null default now(),
  expires_at   timestamptz not null,
  id           text not null default create_id('ses_') unique,
  user_agent   text not null default '' check (length(user_agent) <= 300)
);
create index sessions_user on sessions (user_id);

-- Personal access tokens of programs, such as the command line. account_id null: the operator, who may do everything.
create table access_tokens (
  token_hash    bytea primary key check (length(token_hash) = 32),
  account_id    text references accounts (id),
  name          text not null,
  created_at    timestamptz not null default now(),
  revoked_at    timestamptz,
  id            text not null default create_id('tok_') unique,
  user_id       text,
  last_used_at  timestamptz,
  expires_at    timestamptz,
  constraint operator_or_user check ((user_id is null) = (account_id is null)),
  constraint account_is_the_users foreign key (user_id, account_id) references users (id, account_id)
    on update cascade on delete cascade
);
create index access_tokens_user on access_tokens (user_id) where revoked_at is null;

-- Notifies every process of a session or token that has ended, by its id. They close what it had opened.
create function announce_ended_access() returns trigger language plpgsql as $$
begin
  perform pg_notify('access_ended', old.id);
  return null;
end $$;

create trigger sessions_ended
  after delete on sessions
  for each row execute function announce_ended_access();
create trigger access_tokens_ended
  after delete on access_tokens
  for each row execute function announce_ended_access();
create trigger access_tokens_revoked
  after update of revoked_at on access_tokens
  for each row when (old.revoked_at is null and new.revoked_at is not null)
  execute function announce_ended_access();
