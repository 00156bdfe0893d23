-- Secrets and variables: values that are set once, and that programs get in their environment.

-- One key for each account, sealed by the installation's master key. It seals the account's secrets, so that another master key
-- means to seal these few keys again.
create table data_keys (
  account_id  text primary key references accounts (id),
  sealed      bytea not null,
  created_at  timestamptz not null default now()
);

-- Each value that was set, and each removal, is a version of its name. Of a secret that does not hold any more, the value is gone.
create table stored_values (
  id            bigint generated always as identity primary key,
  account_id    text not null references accounts (id),
  -- Null: for every workflow of the account. What a workflow has itself comes first.
  workflow_id   text references workflows (id),
  kind          text not null check (kind in ('secret', 'variable')),
  name          text not null check (name ~ '^[A-Za-z_][A-Za-z0-9_]{0,99}$'),
  version       int not null check (version > 0),
  -- The one that runs get.
  holds         boolean not null,
  removed       boolean not null default false,
  sealed        bytea,
  value         text,
  set_by        text not null,
  set_at        timestamptz not null default clock_timestamp(),
  -- To the minute.
  last_used_at  timestamptz,
  constraint secret_is_sealed check (kind <> 'secret' or (value is null and (sealed is not null) = holds)),
  constraint variable_is_open check (kind <> 'variable' or (sealed is null and (value is null) = removed)),
  constraint removed_holds_not check (not (holds and removed))
);
create unique index stored_values_versions on stored_values (account_id, kind, name, coalesce(workflow_id, ''), version);
create unique index stored_values_holding on stored_values (account_id, kind, name, coalesce(workflow_id, '')) where holds;

-- Which versions an attempt got: a list of {kind, name, version, workflow}. Null: it named none.
alter table attempts add column values_used jsonb check (jsonb_typeof(values_used) = 'array');

-- A workflow that is deleted runs no more: its secrets are of no use to anybody.
create function drop_values_of_workflow() returns trigger language plpgsql as $$
begin
  update stored_values v set holds = false, sealed = null where v.workflow_id = new.id and v.holds;
  return null;
end $$;

create trigger workflows_drop_values
  after update of deleted_at on workflows for each row when (old.deleted_at is null and new.deleted_at is not null)
  execute function drop_values_of_workflow();
