-- Who belongs to an account and what they may do there, how others are invited, and what lets people in: sessions of browsers and
-- tokens of programs. A user belongs to one account; what that is for, and a role, are columns of the user.

create function create_id(prefix text) returns text language sql volatile as $$
  select prefix || replace(cast(gen_random_uuid() as text), '-', '');
$$;

alter table users
  -- Whoever was there before there were roles could do everything.
  add column role text not null default 'owner' check (role in ('owner', 'member', 'viewer')),
  add column seen_at timestamptz,
  -- Null: the password is the one that was made when the user was.
  add column password_changed_at timestamptz,
  -- Since when the user belongs to no account any more. The row stays, because what the user did stays; an invitation revives it.
  add column removed_at timestamptz,
  add constraint users_with_account unique (id, account_id);
alter table users alter column role set default 'viewer';
create index users_account on users (account_id) where removed_at is null;

alter table sessions
  add column id text not null default create_id('ses_') unique,
  add column user_agent text not null default '' check (length(user_agent) <= 300);
create index sessions_user on sessions (user_id);

alter table access_tokens
  add column id text not null default create_id('tok_') unique,
  add column user_id text,
  add column last_used_at timestamptz,
  add column expires_at timestamptz;
-- A token of an account is somebody's. Of those that were nobody's the account's first user has them; nobody could use the rest.
update access_tokens t
   set user_id = (select u.id from users u where u.account_id = t.account_id order by u.created_at, u.id limit 1)
 where t.account_id is not null;
delete from access_tokens where account_id is not null and user_id is null;
alter table access_tokens
  add constraint operator_or_user check ((user_id is null) = (account_id is null)),
  add constraint account_is_the_users foreign key (user_id, account_id) references users (id, account_id)
    on update cascade on delete cascade;
create index access_tokens_user on access_tokens (user_id) where revoked_at is null;

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
-- Of one address an account has one invitation that is open: a newer one takes its place.
create unique index invitations_open on invitations (account_id, lower(email)) where accepted_at is null and revoked_at is null;
create index invitations_by on invitations (invited_by) where accepted_at is null and revoked_at is null;

-- Whoever changes who belongs to an account does so alone, until its transaction ends. Not by the account's own row, for which
-- every execution waits.
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

-- What was spent, by account and day of the end: everything that is added up is in the index.
create index executions_spent on executions (account_id, finished_at) include (workflow_id, charge_total) where charge_total > 0;
