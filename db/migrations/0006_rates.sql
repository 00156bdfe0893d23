-- How fast executions may be started, and the one way an execution gets into the record.

-- One row a limit in use: until when it is busy with what it has let through. A limit is a bucket of `burst` tokens that
-- fills by one each `spacing` seconds; a bucket that is full is as good as none. Unlogged: after a crash of the server all
-- are full, and a call costs no write to the log beyond its execution's.
create unlogged table rate_buckets (
  bucket      text primary key,
  busy_until  timestamptz not null
) with (fillfactor = 50);

-- What was agreed with an account; null: as everybody. Zero: no limit.
create table account_rates (
  account_id          text primary key references accounts (id),
  per_minute          int check (per_minute >= 0),
  burst               int check (burst >= 1),
  account_per_minute  int check (account_per_minute >= 0),
  created_at          timestamptz not null default now()
);

-- Takes a token. Answers until when the bucket is busy then; null when it was empty, and nothing was taken.
create function take_rate(name text, spacing double precision, burst int) returns timestamptz language sql as $$
  insert into rate_buckets as b (bucket, busy_until)
  values (name, clock_timestamp() + make_interval(secs => spacing))
      on conflict (bucket) do update
     set busy_until = greatest(b.busy_until, clock_timestamp()) + make_interval(secs => spacing)
   where b.busy_until <= clock_timestamp() + make_interval(secs => spacing * (burst - 1))
  returning busy_until;
$$;

-- Gives a token back that this transaction took: the row is still its own. Answers until when the bucket is busy then.
create function return_rate(name text, spacing double precision) returns timestamptz language sql as $$
  update rate_buckets set busy_until = busy_until - make_interval(secs => spacing) where bucket = name returning busy_until;
$$;

-- Records an execution with its input files, or says why not; then nothing of it is left. `given` are its inputs, `key` and
-- `print` its idempotency key and the fingerprint of its inputs; the buckets are null where there is no limit. Outcomes:
-- `accepted`; `known`, when the key is another execution's; `rate_limited`; `full`, when as many are under way as the
-- workflow allows and none may wait, or as many wait as may. A function of several statements, because each reads what was
-- committed while the one before waited.
create function accept_execution(
  new_id text, account text, workflow text, commit_id text, started_by text, seconds numeric, cores numeric, attempts int,
  charge bigint, process text, given jsonb, secrets bytea, files jsonb, key text, print bytea,
  key_bucket text, key_spacing double precision, key_burst int,
  account_bucket text, account_spacing double precision, account_burst int,
  executions_max int, waiting_max int
) returns table (outcome text, id text, admitted boolean, key_busy double precision, account_busy double precision)
  language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
declare
  place bigint;
  admitted_since timestamptz := now();
  key_until timestamptz;
  account_until timestamptz;
  under_way bigint;
  first_turn bigint;
  last_turn bigint;
begin
  outcome := 'accepted';
  if key_bucket is not null then
    key_until := take_rate(key_bucket, key_spacing, key_burst);
    if key_until is null then outcome := 'rate_limited'; end if;
  end if;
  if outcome = 'accepted' and account_bucket is not null then
    account_until := take_rate(account_bucket, account_spacing, account_burst);
    if account_until is null then outcome := 'rate_limited'; end if;
  end if;
  if outcome = 'accepted' and executions_max is not null then
    perform lock_admission(workflow);
    -- Of one that is in the record already, the end may be waiting for this lock: it must not be waited for in turn.
    if key is not null and exists (
      select from executions o
       where o.workflow_id = workflow and o.idempotency_key = key and (o.failure is null or o.failure = 'internal')
    ) then outcome := 'known'; end if;
  end if;
  if outcome = 'accepted' and executions_max is not null then
    select count(*) into under_way from executions o
     where o.workflow_id = workflow and o.state in ('queued', 'running') and o.admitted_at is not null;
    -- Turns are not counted but measured, by the ends of the index: a queue may be long. Who left it is counted, too.
    select min(o.turn), max(o.turn) into first_turn, last_turn from executions o
     where o.workflow_id = workflow and o.state = 'queued' and o.admitted_at is null;
    if under_way >= executions_max or last_turn is not null then
      admitted_since := null;
      place := coalesce(last_turn, 0) + 1;
      if place - coalesce(first_turn, place) >= waiting_max then outcome := 'full'; end if;
    end if;
  end if;

  if outcome = 'accepted' then
    insert into executions (id, account_id, workflow_id, commit_id, trigger, inputs, secret_inputs, timeout_seconds, cpu,
                            attempts_max, charge_max, accepted_by, idempotency_key, fingerprint, limited, turn, admitted_at)
    values (new_id, account, workflow, commit_id, started_by, given, secrets, seconds, cores, attempts, charge, process, key,
            print, executions_max is not null, place, admitted_since)
        on conflict (workflow_id, idempotency_key)
           where idempotency_key is not null and (failure is null or failure = 'internal') do nothing;
    if not found then outcome := 'known'; end if;
  end if;

  -- A repeated call is told of its execution even where a new one would be refused.
  if outcome <> 'accepted' then
    if key_until is not null then key_until := return_rate(key_bucket, key_spacing); end if;
    if account_until is not null then account_until := return_rate(account_bucket, account_spacing); end if;
    select o.id into id from executions o
     where o.workflow_id = workflow and o.idempotency_key = key
       and (o.failure is null or o.failure = 'internal');
    if found then outcome := 'known'; end if;
  else
    id := new_id;
    admitted := admitted_since is not null;
    if jsonb_array_length(files) > 0 then
      insert into execution_files (execution_id, direction, name, position, file_name, storage_key, bytes, sha256, content_type)
      select new_id, 'input', f.name, row_number() over (partition by f.name order by f.ordinal) - 1,
             f.file_name, f.storage_key, f.bytes, f.sha256, f.content_type
        from rows from (jsonb_to_recordset(files)
               as (name text, file_name text, storage_key text, bytes bigint, sha256 text, content_type text))
             with ordinality as f (name, file_name, storage_key, bytes, sha256, content_type, ordinal);
    end if;
  end if;
  if key_bucket is not null and key_until is null then
    select b.busy_until into key_until from rate_buckets b where b.bucket = key_bucket;
  end if;
  if account_bucket is not null and account_until is null then
    select b.busy_until into account_until from rate_buckets b where b.bucket = account_bucket;
  end if;
  key_busy := extract(epoch from key_until - clock_timestamp());
  account_busy := extract(epoch from account_until - clock_timestamp());
  return next;
end $$;
