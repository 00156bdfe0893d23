-- Where an account is told of its runs. What a row says of the receiver is sealed under the account's data key: the address of a
-- webhook may be all that its receiver asks for.
create table notice_places (
  id                text primary key default create_id('pl_'),
  account_id        text not null references accounts (id),
  -- The name that manifests have for it.
  name              text not null check (name ~ '^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$'),
  kind              text not null check (kind in ('email', 'webhook', 'slack', 'teams')),
  -- An e-mail address or a URL.
  target            bytea not null,
  -- What webhooks are signed with; the one before it goes on until its time is over.
  secret            bytea,
  previous_secret   bytea,
  previous_until    timestamptz,
  created_by        text not null,
  created_at        timestamptz not null default clock_timestamp(),
  -- Since when nothing is sent there, and why.
  disabled_at       timestamptz,
  disabled_reason   text not null default '',
  unique (account_id, name),
  constraint webhook_is_signed check ((kind = 'webhook') = (secret is not null)),
  constraint previous_has_time check ((previous_secret is null) = (previous_until is null)),
  constraint previous_has_next check (previous_secret is null or secret is not null)
);
