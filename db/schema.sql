-- The schema of the database, as the migrations leave it. Do not edit: `npm run schema` writes it.
-- The reasons are in db/migrations.

create sequence migrations_id_seq;

create sequence migrations_lock_index_seq;

create sequence schedule_change_numbers;

create table access_tokens (
  token_hash bytea not null,
  account_id text,
  name text not null,
  created_at timestamp with time zone default now() not null,
  revoked_at timestamp with time zone,
  id text default create_id('tok_'::text) not null,
  user_id text,
  last_used_at timestamp with time zone,
  expires_at timestamp with time zone,
  constraint access_tokens_pkey PRIMARY KEY (token_hash),
  constraint access_tokens_id_key UNIQUE (id),
  constraint access_tokens_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint account_is_the_users FOREIGN KEY (user_id, account_id) REFERENCES users(id, account_id) ON UPDATE CASCADE ON DELETE CASCADE,
  constraint access_tokens_token_hash_check CHECK ((length(token_hash) = 32)),
  constraint operator_or_user CHECK (((user_id IS NULL) = (account_id IS NULL)))
);

CREATE INDEX access_tokens_user ON public.access_tokens USING btree (user_id) WHERE (revoked_at IS NULL);

CREATE TRIGGER access_tokens_ended AFTER DELETE ON public.access_tokens FOR EACH ROW EXECUTE FUNCTION announce_ended_access();

CREATE TRIGGER access_tokens_revoked AFTER UPDATE OF revoked_at ON public.access_tokens FOR EACH ROW WHEN (((old.revoked_at IS NULL) AND (new.revoked_at IS NOT NULL))) EXECUTE FUNCTION announce_ended_access();

create table account_rates (
  account_id text not null,
  per_minute integer,
  burst integer,
  account_per_minute integer,
  created_at timestamp with time zone default now() not null,
  constraint account_rates_pkey PRIMARY KEY (account_id),
  constraint account_rates_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint account_rates_account_per_minute_check CHECK ((account_per_minute >= 0)),
  constraint account_rates_burst_check CHECK ((burst >= 1)),
  constraint account_rates_per_minute_check CHECK ((per_minute >= 0))
);

create table accounts (
  id text not null,
  name text not null,
  balance bigint default 0 not null,
  reserved bigint default 0 not null,
  created_at timestamp with time zone default now() not null,
  kept_bytes bigint default 0 not null,
  kept_bytes_max bigint,
  constraint accounts_pkey PRIMARY KEY (id),
  constraint accounts_name_key UNIQUE (name),
  constraint accounts_id_check CHECK ((id ~ '^acct_[0-9a-z]{16,40}$'::text)),
  constraint accounts_kept_bytes_check CHECK ((kept_bytes >= 0)),
  constraint accounts_kept_bytes_max_check CHECK ((kept_bytes_max >= 0)),
  constraint accounts_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint balance_covers_reserved CHECK ((balance >= reserved)),
  constraint reserved_not_negative CHECK ((reserved >= 0))
) with (fillfactor=50);

CREATE TRIGGER accounts_begin_empty BEFORE INSERT ON public.accounts FOR EACH ROW WHEN (((new.balance <> 0) OR (new.reserved <> 0))) EXECUTE FUNCTION refuse_account_change();

CREATE TRIGGER accounts_guard_amounts BEFORE UPDATE OF balance, reserved ON public.accounts FOR EACH ROW WHEN ((pg_trigger_depth() = 0)) EXECUTE FUNCTION refuse_account_change();

create table api_keys (
  hash bytea not null,
  workflow_id text not null,
  encrypted bytea not null,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  last_used_at timestamp with time zone,
  constraint api_keys_pkey PRIMARY KEY (hash),
  constraint api_keys_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES workflows(id),
  constraint api_keys_hash_check CHECK ((length(hash) = 32))
);

CREATE UNIQUE INDEX api_keys_current ON public.api_keys USING btree (workflow_id) WHERE ((expires_at IS NULL) AND (revoked_at IS NULL));

create table attempts (
  execution_id text not null,
  attempt integer not null,
  host_id text not null,
  process_id text not null,
  lease_until timestamp with time zone not null,
  started_at timestamp with time zone default now() not null,
  ended_at timestamp with time zone,
  status text,
  message text default ''::text not null,
  seconds_used numeric default 0 not null,
  begun boolean default true not null,
  processor_seconds numeric default 0 not null,
  handed_over boolean default false not null,
  unable boolean default false not null,
  outputs_lost boolean default false not null,
  values_used jsonb,
  retry_at timestamp with time zone,
  peak_memory_bytes bigint,
  used_processor_seconds numeric,
  connections jsonb,
  constraint attempts_pkey PRIMARY KEY (execution_id, attempt),
  constraint attempts_execution_id_fkey FOREIGN KEY (execution_id) REFERENCES executions(id),
  constraint attempts_attempt_check CHECK (((attempt >= 1) AND (attempt <= 100))),
  constraint attempts_connections_check CHECK ((jsonb_typeof(connections) = 'object'::text)),
  constraint attempts_peak_memory_bytes_check CHECK ((peak_memory_bytes >= 0)),
  constraint attempts_processor_seconds_check CHECK ((processor_seconds >= (0)::numeric)),
  constraint attempts_seconds_used_check CHECK ((seconds_used >= (0)::numeric)),
  constraint attempts_status_check CHECK ((status = ANY (ARRAY['success'::text, 'failed'::text, 'timed_out'::text, 'out_of_memory'::text, 'cancelled'::text]))),
  constraint attempts_used_processor_seconds_check CHECK ((used_processor_seconds >= (0)::numeric)),
  constraint attempts_values_used_check CHECK ((jsonb_typeof(values_used) = 'array'::text)),
  constraint retried_when_ended_by_itself CHECK (((retry_at IS NULL) OR ((status IS NOT NULL) AND (status = ANY (ARRAY['failed'::text, 'timed_out'::text, 'out_of_memory'::text]))))),
  constraint status_when_ended CHECK (((status IS NULL) OR (ended_at IS NOT NULL)))
);

CREATE UNIQUE INDEX attempts_alive ON public.attempts USING btree (execution_id) WHERE (ended_at IS NULL);

create table build_logs (
  build_id text not null,
  "position" integer not null,
  text text not null,
  constraint build_logs_pkey PRIMARY KEY (build_id, "position"),
  constraint build_logs_build_id_fkey FOREIGN KEY (build_id) REFERENCES builds(id) ON DELETE CASCADE,
  constraint build_logs_position_check CHECK (("position" > 0))
);

create table builds (
  id text not null,
  workflow_id text not null,
  created_at timestamp with time zone default now() not null,
  seen_at timestamp with time zone default now() not null,
  ended_at timestamp with time zone,
  commit_id text,
  changed boolean,
  failure jsonb,
  constraint builds_pkey PRIMARY KEY (id),
  constraint builds_workflow_id_commit_id_fkey FOREIGN KEY (workflow_id, commit_id) REFERENCES commits(workflow_id, id),
  constraint builds_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES workflows(id),
  constraint builds_id_check CHECK ((id ~ '^bld_[0-9a-z]{16,40}$'::text)),
  constraint one_outcome CHECK (((commit_id IS NULL) OR (failure IS NULL))),
  constraint outcome_when_ended CHECK (((ended_at IS NULL) = ((commit_id IS NULL) AND (failure IS NULL))))
);

CREATE INDEX builds_by_age ON public.builds USING btree (created_at);

create table call_receivers (
  execution_id text not null,
  target bytea not null,
  secret bytea,
  api_url text not null,
  constraint call_receivers_pkey PRIMARY KEY (execution_id),
  constraint call_receivers_execution_id_fkey FOREIGN KEY (execution_id) REFERENCES executions(id) ON DELETE CASCADE
);

create table commit_environments (
  workflow_id text not null,
  commit_id text not null,
  environment_key text not null,
  created_at timestamp with time zone default now() not null,
  constraint commit_environments_pkey PRIMARY KEY (workflow_id, commit_id, environment_key),
  constraint commit_environments_environment_key_fkey FOREIGN KEY (environment_key) REFERENCES environments(key),
  constraint commit_environments_workflow_id_commit_id_fkey FOREIGN KEY (workflow_id, commit_id) REFERENCES commits(workflow_id, id) ON DELETE CASCADE
);

create table commits (
  workflow_id text not null,
  id text not null,
  parent_id text,
  tree_id text not null,
  message text not null,
  manifest jsonb not null,
  environment_key text,
  created_at timestamp with time zone default now() not null,
  author_id text,
  author_email text,
  draft boolean default false not null,
  python text,
  constraint commits_pkey PRIMARY KEY (workflow_id, id),
  constraint commits_author_id_fkey FOREIGN KEY (author_id) REFERENCES users(id) ON DELETE SET NULL,
  constraint commits_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES workflows(id),
  constraint commits_workflow_id_id_fkey FOREIGN KEY (workflow_id, id) REFERENCES git_objects(workflow_id, id),
  constraint commits_workflow_id_tree_id_fkey FOREIGN KEY (workflow_id, tree_id) REFERENCES git_objects(workflow_id, id),
  constraint commits_python_check CHECK ((python ~ '^3\.[0-9]+$'::text))
);

CREATE INDEX commits_author ON public.commits USING btree (author_id) WHERE (author_id IS NOT NULL);

CREATE INDEX commits_by_time ON public.commits USING btree (workflow_id, created_at DESC, id DESC);

CREATE INDEX commits_of_drafts ON public.commits USING btree (created_at) WHERE draft;

create table data_keys (
  account_id text not null,
  sealed bytea not null,
  created_at timestamp with time zone default now() not null,
  constraint data_keys_pkey PRIMARY KEY (account_id),
  constraint data_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);

create table destinations (
  id text default create_id('dst_'::text) not null,
  account_id text not null,
  name text not null,
  host text not null,
  ports text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  constraint destinations_pkey PRIMARY KEY (id),
  constraint destinations_account_id_name_key UNIQUE (account_id, name),
  constraint destinations_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint address_can_be_granted CHECK (
CASE
    WHEN (host ~ '^[0-9]{1,3}(\.[0-9]{1,3}){3}(/[0-9]{1,2}){0,1}$'::text) THEN ((masklen((host)::inet) >= 16) AND ((network((host)::inet))::inet = (host)::inet) AND (NOT ((host)::inet && ANY (ARRAY['0.0.0.0/8'::inet, '10.0.2.0/24'::inet, '100.100.100.200'::inet, '127.0.0.0/8'::inet, '168.63.129.16'::inet, '169.254.0.0/16'::inet, '192.0.0.0/24'::inet, '224.0.0.0/4'::inet, '240.0.0.0/4'::inet]))))
    ELSE true
END),
  constraint destinations_name_check CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$'::text)),
  constraint destinations_ports_check CHECK ((ports ~ '^[0-9]{1,5}(-[0-9]{1,5}){0,1}(,[0-9]{1,5}(-[0-9]{1,5}){0,1}){0,15}$'::text)),
  constraint host_is_name_or_address CHECK (((host ~ '^[0-9]{1,3}(\.[0-9]{1,3}){3}(/[0-9]{1,2}){0,1}$'::text) OR ((length(host) <= 253) AND (host ~ '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9]){0,1}\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9]){0,1}$'::text) AND (host ~ '[a-z]'::text))))
);

CREATE TRIGGER destination_ends AFTER DELETE ON public.destinations FOR EACH ROW EXECUTE FUNCTION announce_destination_end();

CREATE TRIGGER destination_stays BEFORE UPDATE ON public.destinations FOR EACH ROW EXECUTE FUNCTION forbid_destination_change();

create unlogged table device_codes (
  device_hash bytea not null,
  user_hash bytea not null,
  name text not null,
  address text not null,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone not null,
  polled_at timestamp with time zone,
  answered_at timestamp with time zone,
  allowed_by text,
  constraint device_codes_pkey PRIMARY KEY (device_hash),
  constraint device_codes_user_hash_key UNIQUE (user_hash),
  constraint device_codes_allowed_by_fkey FOREIGN KEY (allowed_by) REFERENCES users(id) ON DELETE CASCADE,
  constraint allowed_by_an_answer CHECK (((allowed_by IS NULL) OR (answered_at IS NOT NULL))),
  constraint device_codes_address_check CHECK ((length(address) <= 100)),
  constraint device_codes_device_hash_check CHECK ((length(device_hash) = 32)),
  constraint device_codes_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  constraint device_codes_user_hash_check CHECK ((length(user_hash) = 32)),
  constraint expires_after_creation CHECK ((expires_at > created_at))
);

create table draft_blobs (
  workflow_id text not null,
  blob_id text not null,
  constraint draft_blobs_pkey PRIMARY KEY (workflow_id, blob_id),
  constraint draft_blobs_workflow_id_blob_id_fkey FOREIGN KEY (workflow_id, blob_id) REFERENCES git_objects(workflow_id, id) ON DELETE CASCADE
);

create table draft_conflicts (
  user_id text not null,
  workflow_id text not null,
  path text not null,
  commit_id text not null,
  constraint draft_conflicts_pkey PRIMARY KEY (user_id, workflow_id, path),
  constraint draft_conflicts_user_id_workflow_id_fkey FOREIGN KEY (user_id, workflow_id) REFERENCES drafts(user_id, workflow_id) ON DELETE CASCADE,
  constraint draft_conflicts_workflow_id_commit_id_fkey FOREIGN KEY (workflow_id, commit_id) REFERENCES commits(workflow_id, id),
  constraint draft_conflicts_path_check CHECK ((path <> ''::text))
);

create table draft_files (
  user_id text not null,
  workflow_id text not null,
  path text not null,
  blob_id text not null,
  content bytea,
  executable boolean not null,
  constraint draft_files_pkey PRIMARY KEY (user_id, workflow_id, path),
  constraint draft_files_user_id_workflow_id_fkey FOREIGN KEY (user_id, workflow_id) REFERENCES drafts(user_id, workflow_id) ON DELETE CASCADE,
  constraint draft_files_blob_id_check CHECK ((blob_id ~ '^[0-9a-f]{40}$'::text)),
  constraint draft_files_path_check CHECK ((path <> ''::text))
);

CREATE INDEX draft_files_without_content ON public.draft_files USING btree (workflow_id, blob_id) WHERE (content IS NULL);

CREATE TRIGGER draft_files_are_changed AFTER UPDATE ON public.draft_files REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_kept_contents();

CREATE TRIGGER draft_files_are_given_up AFTER DELETE ON public.draft_files REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_kept_contents();

CREATE TRIGGER draft_files_are_kept AFTER INSERT ON public.draft_files REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_kept_contents();

create table drafts (
  id bigint generated always as identity not null,
  user_id text not null,
  workflow_id text not null,
  base text,
  version integer default 1 not null,
  updated_at timestamp with time zone default now() not null,
  constraint drafts_pkey PRIMARY KEY (user_id, workflow_id),
  constraint drafts_id_key UNIQUE (id),
  constraint drafts_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint drafts_workflow_id_base_fkey FOREIGN KEY (workflow_id, base) REFERENCES commits(workflow_id, id),
  constraint drafts_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES workflows(id),
  constraint drafts_version_check CHECK ((version > 0))
);

CREATE INDEX drafts_workflow ON public.drafts USING btree (workflow_id);

create table environment_archives (
  environment_key text not null,
  object text not null,
  bytes bigint not null,
  sha256 text not null,
  used_at timestamp with time zone default now() not null,
  constraint environment_archives_pkey PRIMARY KEY (environment_key),
  constraint environment_archives_object_key UNIQUE (object),
  constraint environment_archives_bytes_check CHECK ((bytes > 0)),
  constraint environment_archives_environment_key_check CHECK ((environment_key ~ '^[0-9a-f]{64}$'::text)),
  constraint environment_archives_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text))
);

CREATE INDEX environment_archives_used_at ON public.environment_archives USING btree (used_at);

create table environments (
  key text not null,
  interpreter text not null,
  requirements text not null,
  lock text not null,
  created_at timestamp with time zone default now() not null,
  constraint environments_pkey PRIMARY KEY (key)
);

create table execution_days (
  workflow_id text not null,
  day date not null,
  executions integer not null,
  spent bigint not null,
  constraint execution_days_pkey PRIMARY KEY (workflow_id, day),
  constraint execution_days_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES workflows(id)
);

create table execution_days_counted (
  only_row boolean default true not null,
  until timestamp with time zone not null,
  constraint execution_days_counted_pkey PRIMARY KEY (only_row),
  constraint execution_days_counted_only_row_check CHECK (only_row)
);

create table execution_files (
  execution_id text not null,
  direction text not null,
  name text not null,
  "position" integer default 0 not null,
  file_name text not null,
  storage_key text not null,
  bytes bigint not null,
  sha256 text not null,
  content_type text not null,
  constraint execution_files_pkey PRIMARY KEY (execution_id, direction, name, "position"),
  constraint execution_files_execution_id_fkey FOREIGN KEY (execution_id) REFERENCES executions(id),
  constraint execution_files_bytes_check CHECK ((bytes >= 0)),
  constraint execution_files_direction_check CHECK ((direction = ANY (ARRAY['input'::text, 'output'::text]))),
  constraint execution_files_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text))
);

CREATE UNIQUE INDEX execution_files_output ON public.execution_files USING btree (execution_id, file_name) WHERE (direction = 'output'::text);

CREATE TRIGGER execution_files_are_kept AFTER INSERT ON public.execution_files REFERENCING NEW TABLE AS files FOR EACH STATEMENT EXECUTE FUNCTION count_kept_files();

create table executions (
  id text not null,
  account_id text not null,
  workflow_id text not null,
  commit_id text not null,
  trigger text not null,
  state text default 'queued'::text not null,
  failure text,
  message text default ''::text not null,
  inputs jsonb default '{}'::jsonb not null,
  secret_inputs bytea,
  timeout_seconds numeric not null,
  cpu numeric not null,
  attempts_max integer default 1 not null,
  charge_max bigint not null,
  charge_compute bigint default 0 not null,
  charge_total bigint default 0 not null,
  seconds_used numeric default 0 not null,
  log_bytes bigint default 0 not null,
  log_key text,
  uploaded_at timestamp with time zone,
  idempotency_key text,
  fingerprint bytea,
  accepted_by text not null,
  cancel_requested_at timestamp with time zone,
  cancel_requested_by text,
  created_at timestamp with time zone default now() not null,
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  admitted_at timestamp with time zone default now(),
  limited boolean default false not null,
  turn bigint,
  files_removed_at timestamp with time zone,
  log_removed_at timestamp with time zone,
  follows boolean default false not null,
  backfilled boolean default false not null,
  input_texts jsonb default '{}'::jsonb not null,
  log_attempt integer,
  scheduled_for timestamp with time zone,
  previous_scheduled_for timestamp with time zone,
  scheduled_zone text,
  notifies boolean default false not null,
  schedule_name text,
  constraint executions_pkey PRIMARY KEY (id),
  constraint executions_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint executions_workflow_id_commit_id_fkey FOREIGN KEY (workflow_id, commit_id) REFERENCES commits(workflow_id, id),
  constraint executions_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES workflows(id),
  constraint backfilled_by_schedule CHECK (((NOT backfilled) OR (trigger = 'schedule'::text))),
  constraint charged_at_most_reserved CHECK ((charge_total <= charge_max)),
  constraint executions_attempts_max_check CHECK (((attempts_max >= 1) AND (attempts_max <= 10))),
  constraint executions_charge_compute_check CHECK ((charge_compute >= 0)),
  constraint executions_charge_max_check CHECK ((charge_max >= 0)),
  constraint executions_charge_total_check CHECK ((charge_total >= 0)),
  constraint executions_check CHECK ((previous_scheduled_for < scheduled_for)),
  constraint executions_cpu_check CHECK ((cpu > (0)::numeric)),
  constraint executions_failure_check CHECK ((failure = ANY (ARRAY['internal'::text, 'insufficient_credits'::text, 'no_capacity'::text]))),
  constraint executions_id_check CHECK ((id ~ '^ex_[0-9a-z]{16,40}$'::text)),
  constraint executions_input_texts_check CHECK ((jsonb_typeof(input_texts) = 'object'::text)),
  constraint executions_seconds_used_check CHECK ((seconds_used >= (0)::numeric)),
  constraint executions_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'success'::text, 'failed'::text, 'timed_out'::text, 'out_of_memory'::text, 'cancelled'::text]))),
  constraint executions_timeout_seconds_check CHECK ((timeout_seconds > (0)::numeric)),
  constraint executions_trigger_check CHECK ((trigger = ANY (ARRAY['api'::text, 'schedule'::text, 'form'::text]))),
  constraint failure_is_failed CHECK (((failure IS NULL) OR (state = 'failed'::text))),
  constraint finished_when_ended CHECK (((state = ANY (ARRAY['queued'::text, 'running'::text])) = (finished_at IS NULL))),
  constraint key_with_fingerprint CHECK (((idempotency_key IS NULL) = (fingerprint IS NULL))),
  constraint name_by_schedule CHECK (((schedule_name IS NULL) OR ((trigger = 'schedule'::text) AND (schedule_name <> 'schedule'::text)))),
  constraint our_fault_is_free CHECK (((failure IS NULL) OR (charge_total = 0))),
  constraint running_when_admitted CHECK (((admitted_at IS NOT NULL) OR (state <> 'running'::text))),
  constraint tick_by_schedule CHECK (((scheduled_for IS NULL) OR (trigger = 'schedule'::text))),
  constraint tick_has_zone CHECK (((scheduled_for IS NULL) = (scheduled_zone IS NULL))),
  constraint waiting_has_turn CHECK (((admitted_at IS NOT NULL) OR (turn IS NOT NULL)))
);

CREATE INDEX executions_account ON public.executions USING btree (account_id, created_at DESC);

CREATE INDEX executions_commit ON public.executions USING btree (workflow_id, commit_id, created_at DESC);

CREATE INDEX executions_costs ON public.executions USING btree (workflow_id, finished_at DESC) INCLUDE (charge_total) WHERE (state = 'success'::text);

CREATE INDEX executions_ended ON public.executions USING btree (finished_at) WHERE ((finished_at IS NOT NULL) AND (idempotency_key IS NULL));

CREATE INDEX executions_finished ON public.executions USING btree (account_id, finished_at) INCLUDE (workflow_id, charge_total) WHERE (finished_at IS NOT NULL);

CREATE UNIQUE INDEX executions_idempotency ON public.executions USING btree (workflow_id, idempotency_key) WHERE ((idempotency_key IS NOT NULL) AND ((failure IS NULL) OR (failure = 'internal'::text)));

CREATE INDEX executions_keyed ON public.executions USING btree (created_at) WHERE (idempotency_key IS NOT NULL);

CREATE INDEX executions_not_called ON public.executions USING btree (account_id, trigger, created_at DESC) WHERE (trigger <> 'api'::text);

CREATE INDEX executions_open ON public.executions USING btree (workflow_id, admitted_at) WHERE ((state = ANY (ARRAY['queued'::text, 'running'::text])) AND (admitted_at IS NOT NULL));

CREATE INDEX executions_unsuccessful ON public.executions USING btree (account_id, state, created_at DESC) WHERE (state <> 'success'::text);

CREATE UNIQUE INDEX executions_waiting ON public.executions USING btree (workflow_id, turn) WHERE ((state = 'queued'::text) AND (admitted_at IS NULL));

CREATE INDEX executions_with_files ON public.executions USING btree (finished_at) WHERE ((finished_at IS NOT NULL) AND (idempotency_key IS NULL) AND (files_removed_at IS NULL));

CREATE INDEX executions_with_log ON public.executions USING btree (finished_at) WHERE ((finished_at IS NOT NULL) AND (idempotency_key IS NULL) AND (log_removed_at IS NULL));

CREATE INDEX executions_workflow ON public.executions USING btree (workflow_id, created_at DESC);

CREATE TRIGGER executions_admit_next AFTER UPDATE ON public.executions FOR EACH ROW WHEN (((old.finished_at IS NULL) AND (new.finished_at IS NOT NULL) AND (new.limited OR (new.trigger = 'schedule'::text)))) EXECUTE FUNCTION admit_next();

CREATE TRIGGER executions_forget_refusals AFTER DELETE ON public.executions REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION forget_refusals();

CREATE TRIGGER executions_give_up_files AFTER UPDATE OF files_removed_at ON public.executions FOR EACH ROW WHEN (((old.files_removed_at IS NULL) AND (new.files_removed_at IS NOT NULL))) EXECUTE FUNCTION give_up_files();

CREATE TRIGGER executions_keep_log AFTER UPDATE OF log_key, log_bytes, log_removed_at ON public.executions FOR EACH ROW WHEN ((
        CASE
            WHEN ((old.log_key IS NOT NULL) AND (old.log_removed_at IS NULL)) THEN old.log_bytes
            ELSE (0)::bigint
        END <>
        CASE
            WHEN ((new.log_key IS NOT NULL) AND (new.log_removed_at IS NULL)) THEN new.log_bytes
            ELSE (0)::bigint
        END)) EXECUTE FUNCTION count_kept_log();

CREATE TRIGGER executions_keep_open BEFORE DELETE ON public.executions FOR EACH ROW WHEN ((old.finished_at IS NULL)) EXECUTE FUNCTION refuse_execution_delete();

CREATE TRIGGER executions_note_end AFTER UPDATE ON public.executions FOR EACH ROW WHEN (((old.finished_at IS NULL) AND (new.finished_at IS NOT NULL) AND new.notifies)) EXECUTE FUNCTION note_end();

create table failing_workflows (
  workflow_id text not null,
  since timestamp with time zone default clock_timestamp() not null,
  schedule_name text default ''::text not null,
  constraint failing_workflows_pkey PRIMARY KEY (workflow_id, schedule_name),
  constraint failing_workflows_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES workflows(id),
  constraint failing_workflows_schedule_name_check CHECK (((schedule_name = ''::text) OR (schedule_name ~ '^[a-z][a-z0-9_-]{0,39}$'::text)))
);

create table file_uploads (
  id text not null,
  workflow_id text not null,
  account_id text not null,
  file_name text not null,
  content_type text not null,
  bytes bigint not null,
  sha256 text not null,
  part_bytes bigint not null,
  session text,
  begun_at timestamp with time zone default clock_timestamp() not null,
  expires_at timestamp with time zone not null,
  completed_at timestamp with time zone,
  constraint file_uploads_pkey PRIMARY KEY (id),
  constraint file_uploads_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint file_uploads_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES workflows(id),
  constraint file_uploads_bytes_check CHECK ((bytes >= 0)),
  constraint file_uploads_check CHECK ((expires_at > begun_at)),
  constraint file_uploads_check1 CHECK (((completed_at IS NULL) OR (session IS NOT NULL))),
  constraint file_uploads_file_name_check CHECK (((length(file_name) >= 1) AND (length(file_name) <= 255))),
  constraint file_uploads_id_check CHECK ((id ~ '^up_[0-9a-z]{16,40}$'::text)),
  constraint file_uploads_part_bytes_check CHECK ((part_bytes > 0)),
  constraint file_uploads_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text))
);

CREATE INDEX file_uploads_expiry ON public.file_uploads USING btree (expires_at);

CREATE INDEX file_uploads_workflow ON public.file_uploads USING btree (workflow_id, expires_at);

CREATE TRIGGER file_uploads_are_gone AFTER DELETE ON public.file_uploads REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_kept_uploads();

CREATE TRIGGER file_uploads_are_kept AFTER INSERT ON public.file_uploads REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_kept_uploads();

create table git_objects (
  workflow_id text not null,
  id text not null,
  kind text not null,
  content bytea not null,
  constraint git_objects_pkey PRIMARY KEY (workflow_id, id),
  constraint git_objects_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES workflows(id),
  constraint git_objects_id_check CHECK ((id ~ '^[0-9a-f]{40}$'::text)),
  constraint git_objects_kind_check CHECK ((kind = ANY (ARRAY['blob'::text, 'tree'::text, 'commit'::text])))
);

CREATE TRIGGER git_objects_are_given_up AFTER DELETE ON public.git_objects REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_kept_contents();

CREATE TRIGGER git_objects_are_kept AFTER INSERT ON public.git_objects REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_kept_contents();

create unlogged table hosts (
  id text not null,
  process_id text not null,
  present_until timestamp with time zone not null,
  lacks jsonb,
  key_ids text[],
  role text default 'all'::text not null,
  version text default ''::text not null,
  slots integer,
  running integer,
  waiting integer,
  draining boolean default false not null,
  offers jsonb,
  said_at timestamp with time zone default clock_timestamp() not null,
  constraint hosts_pkey PRIMARY KEY (id),
  constraint hosts_role_check CHECK ((role = ANY (ARRAY['all'::text, 'api'::text, 'worker'::text]))),
  constraint hosts_slots_check CHECK ((slots > 0)),
  constraint programs_are_whole CHECK ((((slots IS NULL) = (running IS NULL)) AND ((slots IS NULL) = (waiting IS NULL))))
);

create table installation (
  single boolean default true not null,
  canary bytea not null,
  operator_token bytea,
  owner_password bytea,
  created_at timestamp with time zone default now() not null,
  constraint installation_pkey PRIMARY KEY (single),
  constraint installation_single_check CHECK (single)
);

create table invitations (
  id text default create_id('inv_'::text) not null,
  account_id text not null,
  email text not null,
  role text not null,
  token_hash bytea not null,
  invited_by text,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone not null,
  accepted_at timestamp with time zone,
  accepted_by text,
  revoked_at timestamp with time zone,
  constraint invitations_pkey PRIMARY KEY (id),
  constraint invitations_token_hash_key UNIQUE (token_hash),
  constraint invitations_accepted_by_fkey FOREIGN KEY (accepted_by) REFERENCES users(id),
  constraint invitations_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint invitations_invited_by_fkey FOREIGN KEY (invited_by) REFERENCES users(id),
  constraint accepted_by_somebody CHECK (((accepted_at IS NULL) = (accepted_by IS NULL))),
  constraint accepted_or_revoked CHECK (((accepted_at IS NULL) OR (revoked_at IS NULL))),
  constraint expires_after_creation CHECK ((expires_at > created_at)),
  constraint invitations_email_check CHECK (((length(email) >= 3) AND (length(email) <= 320))),
  constraint invitations_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'member'::text, 'viewer'::text]))),
  constraint invitations_token_hash_check CHECK ((length(token_hash) = 32))
);

CREATE INDEX invitations_by ON public.invitations USING btree (invited_by) WHERE ((accepted_at IS NULL) AND (revoked_at IS NULL));

CREATE UNIQUE INDEX invitations_open ON public.invitations USING btree (account_id, lower(email)) WHERE ((accepted_at IS NULL) AND (revoked_at IS NULL));

create table kept_changes (
  id bigint generated always as identity not null,
  account_id text not null,
  bytes bigint not null,
  constraint kept_changes_pkey PRIMARY KEY (id)
);

CREATE INDEX kept_changes_of_account ON public.kept_changes USING btree (account_id) INCLUDE (bytes);

create table known_destinations (
  workflow_id text not null,
  destination text not null,
  first_execution_id text not null,
  last_execution_id text not null,
  seen_at timestamp with time zone default clock_timestamp() not null,
  constraint known_destinations_pkey PRIMARY KEY (workflow_id, destination),
  constraint known_destinations_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES workflows(id),
  constraint known_destinations_destination_check CHECK (((length(destination) >= 1) AND (length(destination) <= 300)))
);

CREATE INDEX known_destinations_last ON public.known_destinations USING btree (last_execution_id);

create table leases (
  name text not null,
  holder text not null,
  held_until timestamp with time zone not null,
  constraint leases_pkey PRIMARY KEY (name)
);

create table ledger_entries (
  id bigint generated always as identity not null,
  account_id text not null,
  kind text not null,
  amount bigint not null,
  execution_id text,
  reason text default ''::text not null,
  created_at timestamp with time zone default now() not null,
  constraint ledger_entries_pkey PRIMARY KEY (id),
  constraint one_settlement_per_execution UNIQUE (execution_id),
  constraint ledger_entries_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint grant_gives CHECK (((kind <> 'grant'::text) OR (amount > 0))),
  constraint ledger_entries_kind_check CHECK ((kind = ANY (ARRAY['grant'::text, 'settlement'::text, 'adjustment'::text]))),
  constraint settlement_names_execution CHECK (((kind = 'settlement'::text) = (execution_id IS NOT NULL))),
  constraint settlement_takes CHECK (((kind <> 'settlement'::text) OR (amount <= 0)))
);

CREATE INDEX ledger_entries_account ON public.ledger_entries USING btree (account_id, id);

CREATE TRIGGER ledger_entries_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER ledger_entries_move_balance AFTER INSERT ON public.ledger_entries REFERENCING NEW TABLE AS entries FOR EACH STATEMENT EXECUTE FUNCTION apply_ledger_entries();

create unlogged table live_requests (
  id text not null,
  turn integer not null,
  execution_id text not null,
  host_id text,
  start bigint not null,
  known text,
  wants text not null,
  expires_at timestamp with time zone not null,
  answered_by text,
  lines bytea,
  state text,
  constraint live_requests_pkey PRIMARY KEY (id),
  constraint answer_is_whole CHECK ((((answered_by IS NULL) = (lines IS NULL)) AND ((answered_by IS NULL) = (state IS NULL)))),
  constraint live_requests_lines_check CHECK ((octet_length(lines) <= 524288)),
  constraint live_requests_start_check CHECK ((start >= 0)),
  constraint live_requests_wants_check CHECK ((wants = ANY (ARRAY['news'::text, 'lines'::text, 'state'::text])))
);

create table notice_places (
  id text default create_id('pl_'::text) not null,
  account_id text not null,
  name text not null,
  kind text not null,
  target bytea not null,
  secret bytea,
  previous_secret bytea,
  previous_until timestamp with time zone,
  created_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  disabled_at timestamp with time zone,
  disabled_reason text default ''::text not null,
  constraint notice_places_pkey PRIMARY KEY (id),
  constraint notice_places_account_id_name_key UNIQUE (account_id, name),
  constraint notice_places_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint notice_places_kind_check CHECK ((kind = ANY (ARRAY['email'::text, 'webhook'::text, 'slack'::text, 'teams'::text]))),
  constraint notice_places_name_check CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$'::text)),
  constraint previous_has_next CHECK (((previous_secret IS NULL) OR (secret IS NOT NULL))),
  constraint previous_has_time CHECK (((previous_secret IS NULL) = (previous_until IS NULL))),
  constraint webhook_is_signed CHECK (((kind = 'webhook'::text) = (secret IS NOT NULL)))
);

create table notices (
  id text default create_id('nt_'::text) not null,
  account_id text not null,
  place_id text,
  kind text not null,
  workflow_id text,
  execution_id text,
  nominal_at timestamp with time zone,
  reason text default ''::text not null,
  more integer default 0 not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  due_at timestamp with time zone default clock_timestamp() not null,
  state text default 'waiting'::text not null,
  started_at timestamp with time zone,
  attempts integer default 0 not null,
  last_attempt_at timestamp with time zone,
  answer text default ''::text not null,
  constraint notices_pkey PRIMARY KEY (id),
  constraint notices_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint notices_place_id_fkey FOREIGN KEY (place_id) REFERENCES notice_places(id) ON DELETE CASCADE,
  constraint notices_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES workflows(id),
  constraint missed_has_time CHECK (((kind = 'missed'::text) = (nominal_at IS NOT NULL))),
  constraint notices_id_check CHECK ((id ~ '^nt_[0-9a-z]{16,40}$'::text)),
  constraint notices_kind_check CHECK ((kind = ANY (ARRAY['failure'::text, 'recovery'::text, 'missed'::text, 'slow'::text, 'disabled'::text, 'result'::text, 'test'::text]))),
  constraint notices_more_check CHECK ((more >= 0)),
  constraint notices_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'delivered'::text, 'failed'::text]))),
  constraint place_is_of_no_workflow CHECK (((kind = ANY (ARRAY['disabled'::text, 'test'::text])) = (workflow_id IS NULL))),
  constraint result_has_no_place CHECK (((kind = 'result'::text) = (place_id IS NULL))),
  constraint run_is_named CHECK (((kind = ANY (ARRAY['failure'::text, 'recovery'::text, 'slow'::text, 'result'::text])) = (execution_id IS NOT NULL)))
);

CREATE INDEX notices_account ON public.notices USING btree (account_id, created_at DESC, id DESC);

CREATE INDEX notices_due ON public.notices USING btree (due_at) WHERE ((started_at IS NULL) AND (state = 'waiting'::text));

CREATE UNIQUE INDEX notices_result ON public.notices USING btree (execution_id) WHERE (kind = 'result'::text);

CREATE UNIQUE INDEX notices_slow ON public.notices USING btree (execution_id, place_id) WHERE (kind = 'slow'::text);

CREATE INDEX notices_started ON public.notices USING btree (started_at) WHERE ((started_at IS NOT NULL) AND (state = 'waiting'::text));

CREATE INDEX notices_storms ON public.notices USING btree (place_id, workflow_id, kind, due_at DESC);

create unlogged table rate_buckets (
  bucket text not null,
  busy_until timestamp with time zone not null,
  constraint rate_buckets_pkey PRIMARY KEY (bucket)
) with (fillfactor=50);

create table refusals (
  execution_id text not null,
  needed bigint not null,
  available bigint not null,
  created_at timestamp with time zone default now() not null,
  constraint refusals_pkey PRIMARY KEY (execution_id),
  constraint refused_for_lack CHECK ((needed > available))
);

CREATE TRIGGER refusals_tell_tick AFTER INSERT ON public.refusals FOR EACH ROW EXECUTE FUNCTION tell_tick_of_refusal();

create unlogged table refused_calls (
  id bigint generated always as identity not null,
  workflow_id text not null,
  refused_at timestamp with time zone not null,
  status smallint not null,
  error text not null,
  message text not null,
  key_end text not null,
  constraint refused_calls_pkey PRIMARY KEY (id),
  constraint refused_calls_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES workflows(id),
  constraint refused_calls_error_check CHECK ((length(error) <= 100)),
  constraint refused_calls_key_end_check CHECK ((length(key_end) <= 4)),
  constraint refused_calls_message_check CHECK ((length(message) <= 500)),
  constraint refused_calls_status_check CHECK (((status >= 400) AND (status <= 599)))
);

CREATE INDEX refused_calls_by_time ON public.refused_calls USING btree (refused_at);

CREATE INDEX refused_calls_of_workflow ON public.refused_calls USING btree (workflow_id, ((status = 401)), id DESC);

create table removals (
  id bigint generated always as identity not null,
  execution_id text not null,
  keys text[] not null,
  look boolean not null,
  claimed_until timestamp with time zone default '-infinity'::timestamp with time zone not null,
  created_at timestamp with time zone default now() not null,
  constraint removals_pkey PRIMARY KEY (id)
);

create table repairs (
  repair text not null,
  count bigint not null,
  last_at timestamp with time zone default now() not null,
  constraint repairs_pkey PRIMARY KEY (repair),
  constraint repairs_count_check CHECK ((count > 0))
);

create table reservations (
  execution_id text not null,
  account_id text not null,
  amount bigint not null,
  state text not null,
  created_at timestamp with time zone default now() not null,
  closed_at timestamp with time zone,
  constraint reservations_pkey PRIMARY KEY (execution_id),
  constraint closed_when_not_open CHECK (((state = 'open'::text) = (closed_at IS NULL))),
  constraint reservations_amount_check CHECK ((amount >= 0)),
  constraint reservations_state_check CHECK ((state = ANY (ARRAY['open'::text, 'settled'::text, 'released'::text])))
);

CREATE TRIGGER reservations_close_once BEFORE UPDATE ON public.reservations FOR EACH ROW WHEN (((old.state <> 'open'::text) OR (new.execution_id <> old.execution_id) OR (new.account_id <> old.account_id) OR ((new.state = 'open'::text) AND (new.amount <= old.amount)) OR ((new.state <> 'open'::text) AND (new.amount <> old.amount)))) EXECUTE FUNCTION refuse_reservation_change();

CREATE TRIGGER reservations_free_reserved AFTER UPDATE ON public.reservations REFERENCING OLD TABLE AS before NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION apply_closed_reservations();

CREATE TRIGGER reservations_keep_all BEFORE TRUNCATE ON public.reservations FOR EACH STATEMENT EXECUTE FUNCTION refuse_emptying();

CREATE TRIGGER reservations_keep_open BEFORE DELETE ON public.reservations FOR EACH ROW WHEN ((old.state = 'open'::text)) EXECUTE FUNCTION refuse_reservation_change();

CREATE TRIGGER reservations_move_reserved AFTER INSERT ON public.reservations REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION apply_reservations();

CREATE CONSTRAINT TRIGGER reservations_settled_are_charged AFTER INSERT OR UPDATE ON public.reservations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.state = 'settled'::text)) EXECUTE FUNCTION demand_settlement();

create table schedule_changes (
  workflow_id text not null,
  change bigint default nextval('schedule_change_numbers'::regclass) not null,
  noted_at timestamp with time zone default now() not null,
  try_at timestamp with time zone default '-infinity'::timestamp with time zone not null,
  failures integer default 0 not null,
  constraint schedule_changes_pkey PRIMARY KEY (workflow_id)
);

CREATE INDEX schedule_changes_by_time ON public.schedule_changes USING btree (try_at, change);

create table schedule_watch (
  only_row boolean default true not null,
  holder text not null,
  since timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  constraint schedule_watch_pkey PRIMARY KEY (only_row),
  constraint schedule_watch_only_row_check CHECK (only_row)
);

create table schedules (
  id bigint generated always as identity not null,
  workflow_id text not null,
  enabled boolean not null,
  cron text not null,
  timezone text not null,
  overlap text not null,
  catchup text not null,
  max_lateness_seconds double precision not null,
  jitter_seconds double precision not null,
  since timestamp with time zone not null,
  until timestamp with time zone,
  accounted_until timestamp with time zone not null,
  look_at timestamp with time zone,
  spread_seconds double precision default 0 not null,
  name text default 'schedule'::text not null,
  constraint schedules_pkey PRIMARY KEY (id),
  constraint schedules_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES workflows(id),
  constraint schedules_catchup_check CHECK ((catchup = ANY (ARRAY['none'::text, 'latest'::text, 'all'::text]))),
  constraint schedules_check CHECK ((until >= since)),
  constraint schedules_check1 CHECK ((accounted_until >= since)),
  constraint schedules_jitter_seconds_check CHECK ((jitter_seconds >= (0)::double precision)),
  constraint schedules_max_lateness_seconds_check CHECK ((max_lateness_seconds > (0)::double precision)),
  constraint schedules_name_check CHECK ((name ~ '^[a-z][a-z0-9_-]{0,39}$'::text)),
  constraint schedules_overlap_check CHECK ((overlap = ANY (ARRAY['skip'::text, 'queue'::text, 'allow'::text, 'cancel_previous'::text]))),
  constraint schedules_spread_seconds_check CHECK ((spread_seconds >= (0)::double precision))
);

CREATE INDEX schedules_by_time ON public.schedules USING btree (workflow_id, since);

CREATE UNIQUE INDEX schedules_current ON public.schedules USING btree (workflow_id, name) WHERE (until IS NULL);

CREATE INDEX schedules_to_look_at ON public.schedules USING btree (look_at) WHERE (look_at IS NOT NULL);

create table sessions (
  token_hash bytea not null,
  user_id text not null,
  created_at timestamp with time zone default now() not null,
  seen_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone not null,
  id text default create_id('ses_'::text) not null,
  user_agent text default ''::text not null,
  constraint sessions_pkey PRIMARY KEY (token_hash),
  constraint sessions_id_key UNIQUE (id),
  constraint sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint sessions_token_hash_check CHECK ((length(token_hash) = 32)),
  constraint sessions_user_agent_check CHECK ((length(user_agent) <= 300))
);

CREATE INDEX sessions_user ON public.sessions USING btree (user_id);

CREATE TRIGGER sessions_ended AFTER DELETE ON public.sessions FOR EACH ROW EXECUTE FUNCTION announce_ended_access();

create table small_objects (
  storage_key text not null,
  content bytea not null,
  created_at timestamp with time zone default now() not null,
  constraint small_objects_pkey PRIMARY KEY (storage_key)
);

CREATE INDEX small_objects_age ON public.small_objects USING btree (created_at);

create table stored_values (
  id bigint generated always as identity not null,
  account_id text not null,
  workflow_id text,
  kind text not null,
  name text not null,
  version integer not null,
  holds boolean not null,
  removed boolean default false not null,
  sealed bytea,
  value text,
  set_by text not null,
  set_at timestamp with time zone default clock_timestamp() not null,
  last_used_at timestamp with time zone,
  constraint stored_values_pkey PRIMARY KEY (id),
  constraint stored_values_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint stored_values_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES workflows(id),
  constraint removed_holds_not CHECK ((NOT (holds AND removed))),
  constraint secret_is_sealed CHECK (((kind <> 'secret'::text) OR ((value IS NULL) AND ((sealed IS NOT NULL) = holds)))),
  constraint stored_values_kind_check CHECK ((kind = ANY (ARRAY['secret'::text, 'variable'::text]))),
  constraint stored_values_name_check CHECK ((name ~ '^[A-Za-z_][A-Za-z0-9_]{0,99}$'::text)),
  constraint stored_values_version_check CHECK ((version > 0)),
  constraint variable_is_open CHECK (((kind <> 'variable'::text) OR ((sealed IS NULL) AND ((value IS NULL) = removed))))
);

CREATE UNIQUE INDEX stored_values_holding ON public.stored_values USING btree (account_id, kind, name, COALESCE(workflow_id, ''::text)) WHERE holds;

CREATE UNIQUE INDEX stored_values_versions ON public.stored_values USING btree (account_id, kind, name, COALESCE(workflow_id, ''::text), version);

create table ticks (
  workflow_id text not null,
  nominal_at timestamp with time zone not null,
  outcome text not null,
  reason text default ''::text not null,
  source text not null,
  execution_id text,
  decided_at timestamp with time zone default clock_timestamp() not null,
  schedule_name text default 'schedule'::text not null,
  constraint ticks_pkey PRIMARY KEY (workflow_id, schedule_name, nominal_at),
  constraint ticks_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES workflows(id),
  constraint execution_when_begun CHECK (((execution_id IS NOT NULL) = (outcome = ANY (ARRAY['started'::text, 'refused_credits'::text])))),
  constraint ticks_nominal_at_check CHECK ((mod(EXTRACT(epoch FROM nominal_at), (60)::numeric) = (0)::numeric)),
  constraint ticks_outcome_check CHECK ((outcome = ANY (ARRAY['started'::text, 'skipped_overlap'::text, 'missed'::text, 'refused_credits'::text, 'refused_concurrency'::text, 'refused_storage'::text, 'paused'::text, 'no_commit'::text]))),
  constraint ticks_source_check CHECK ((source = ANY (ARRAY['clock'::text, 'repair'::text, 'backfill'::text])))
);

CREATE INDEX ticks_by_age ON public.ticks USING btree (decided_at);

CREATE UNIQUE INDEX ticks_execution ON public.ticks USING btree (execution_id) WHERE (execution_id IS NOT NULL);

CREATE TRIGGER ticks_note_missed AFTER INSERT ON public.ticks FOR EACH ROW WHEN (((new.source <> 'backfill'::text) AND (new.outcome = ANY (ARRAY['missed'::text, 'refused_credits'::text, 'refused_concurrency'::text, 'refused_storage'::text, 'no_commit'::text])))) EXECUTE FUNCTION note_missed_tick();

create table uncounted_charges (
  account_id text not null,
  amount bigint not null,
  constraint uncounted_charges_pkey PRIMARY KEY (account_id),
  constraint uncounted_charges_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);

create table uploads (
  execution_id text not null,
  begun_at timestamp with time zone default now() not null,
  constraint uploads_pkey PRIMARY KEY (execution_id)
);

create table users (
  id text not null,
  account_id text not null,
  email text not null,
  password_hash text not null,
  created_at timestamp with time zone default now() not null,
  role text default 'viewer'::text not null,
  seen_at timestamp with time zone,
  password_changed_at timestamp with time zone,
  removed_at timestamp with time zone,
  constraint users_pkey PRIMARY KEY (id),
  constraint users_with_account UNIQUE (id, account_id),
  constraint users_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint users_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'member'::text, 'viewer'::text])))
);

CREATE INDEX users_account ON public.users USING btree (account_id) WHERE (removed_at IS NULL);

CREATE UNIQUE INDEX users_email ON public.users USING btree (lower(email));

CREATE TRIGGER users_keep_an_owner AFTER INSERT OR DELETE OR UPDATE OF role, account_id, removed_at ON public.users FOR EACH ROW EXECUTE FUNCTION keep_an_owner();

create table workflow_starts (
  execution_id text not null,
  begun_by text not null,
  created_at timestamp with time zone default now() not null,
  constraint workflow_starts_pkey PRIMARY KEY (execution_id),
  constraint workflow_starts_execution_id_fkey FOREIGN KEY (execution_id) REFERENCES executions(id) ON DELETE CASCADE
);

CREATE INDEX workflow_starts_oldest ON public.workflow_starts USING btree (created_at);

create table workflows (
  id text not null,
  account_id text not null,
  name text not null,
  head text,
  created_at timestamp with time zone default now() not null,
  deleted_at timestamp with time zone,
  constraint workflows_pkey PRIMARY KEY (id),
  constraint head_is_a_commit FOREIGN KEY (id, head) REFERENCES commits(workflow_id, id),
  constraint workflows_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint workflows_id_check CHECK ((id ~ '^wf_[0-9a-z]{16,40}$'::text)),
  constraint workflows_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

CREATE INDEX workflows_account ON public.workflows USING btree (account_id) WHERE (deleted_at IS NULL);

CREATE TRIGGER workflows_announced AFTER INSERT ON public.workflows FOR EACH ROW EXECUTE FUNCTION announce_workflow();

CREATE TRIGGER workflows_announced_again AFTER UPDATE OF head, name, deleted_at ON public.workflows FOR EACH ROW WHEN ((((old.head IS DISTINCT FROM new.head) OR (old.name IS DISTINCT FROM new.name)) OR (old.deleted_at IS DISTINCT FROM new.deleted_at))) EXECUTE FUNCTION announce_workflow();

CREATE TRIGGER workflows_drop_values AFTER UPDATE OF deleted_at ON public.workflows FOR EACH ROW WHEN (((old.deleted_at IS NULL) AND (new.deleted_at IS NOT NULL))) EXECUTE FUNCTION drop_values_of_workflow();

create view kept_by_record as
 SELECT e.account_id,
    sum(e.log_bytes) AS bytes
   FROM executions e
  WHERE ((e.log_key IS NOT NULL) AND (e.log_removed_at IS NULL))
  GROUP BY e.account_id
UNION ALL
 SELECT e.account_id,
    sum(f.bytes) AS bytes
   FROM (execution_files f
     JOIN executions e ON ((e.id = f.execution_id)))
  WHERE (e.files_removed_at IS NULL)
  GROUP BY e.account_id
UNION ALL
 SELECT w.account_id,
    sum(octet_length(o.content)) AS bytes
   FROM (git_objects o
     JOIN workflows w ON ((w.id = o.workflow_id)))
  GROUP BY w.account_id
UNION ALL
 SELECT w.account_id,
    sum(octet_length(f.content)) AS bytes
   FROM (draft_files f
     JOIN workflows w ON ((w.id = f.workflow_id)))
  WHERE (f.content IS NOT NULL)
  GROUP BY w.account_id
UNION ALL
 SELECT u.account_id,
    sum(u.bytes) AS bytes
   FROM file_uploads u
  GROUP BY u.account_id;

CREATE OR REPLACE FUNCTION public.accept_execution(new_id text, account text, workflow text, commit_id text, started_by text, seconds numeric, cores numeric, attempts integer, charge bigint, process text, given jsonb, secrets bytea, files jsonb, key text, print bytea, key_bucket text, key_spacing double precision, key_burst integer, account_bucket text, account_spacing double precision, account_burst integer, executions_max integer, waiting_max integer, follow boolean, backfill boolean, texts jsonb DEFAULT '{}'::jsonb, schedule text DEFAULT NULL::text, begins boolean DEFAULT false)
 RETURNS TABLE(outcome text, id text, admitted boolean, key_busy double precision, account_busy double precision)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  place bigint;
  admitted_since timestamptz := now();
  key_until timestamptz;
  account_until timestamptz;
  under_way bigint;
  first_turn bigint;
  last_turn bigint;
  is_crowded boolean := false;
  must_follow boolean := false;
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
  if outcome = 'accepted' and (executions_max is not null or follow) then
    perform lock_admission(workflow);
    -- Of one that is in the record already, the end may be waiting for this lock: it must not be waited for in turn.
    if key is not null and exists (
      select from executions o
       where o.workflow_id = workflow and o.idempotency_key = key and (o.failure is null or o.failure = 'internal')
    ) then outcome := 'known'; end if;
  end if;
  if outcome = 'accepted' and (executions_max is not null or follow) then
    if executions_max is not null then
      select count(*) into under_way from executions o
       where o.workflow_id = workflow and o.state in ('queued', 'running') and o.admitted_at is not null;
      is_crowded := under_way >= executions_max or exists (
        select from executions o
         where o.workflow_id = workflow and o.state = 'queued' and o.admitted_at is null and (backfill or not o.backfilled)
           and not (o.follows and is_schedule_busy(workflow, o.backfilled, o.schedule_name))
      );
    end if;
    must_follow := follow and (is_schedule_busy(workflow, backfill, schedule) or exists (
      select from executions o
       where o.workflow_id = workflow and o.state = 'queued' and o.admitted_at is null and o.trigger = 'schedule'
         and o.backfilled = backfill and o.schedule_name is not distinct from schedule
    ));
    if is_crowded or must_follow then
      -- Turns are not counted but measured, by the ends of the index: a queue may be long. Who left it is counted, too.
      select min(o.turn), max(o.turn) into first_turn, last_turn from executions o
       where o.workflow_id = workflow and o.state = 'queued' and o.admitted_at is null;
      admitted_since := null;
      place := coalesce(last_turn, 0) + 1;
      if not must_follow and place - coalesce(first_turn, place) >= waiting_max then outcome := 'full'; end if;
    end if;
  end if;

  if outcome = 'accepted' then
    insert into executions (id, account_id, workflow_id, commit_id, trigger, inputs, input_texts, secret_inputs, timeout_seconds, cpu,
                            attempts_max, charge_max, accepted_by, idempotency_key, fingerprint, limited, follows, backfilled,
                            turn, admitted_at, schedule_name, state, started_at)
    values (new_id, account, workflow, commit_id, started_by, given, texts, secrets, seconds, cores, attempts, charge, process, key,
            print, executions_max is not null or follow, follow, backfill, place, admitted_since, schedule,
            case when begins and admitted_since is not null then 'running' else 'queued' end,
            case when begins and admitted_since is not null then clock_timestamp() end)
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
end $function$;

CREATE OR REPLACE FUNCTION public.admit_executions(workflow text)
 RETURNS SETOF text
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
declare
  most int;
  places bigint;
  followers text[];
begin
  perform lock_admission(workflow);
  select cast(c.manifest -> 'concurrency' ->> 'executionsMax' as int) into most
    from workflows w join commits c on c.workflow_id = w.id and c.id = w.head
   where w.id = workflow;
  select case when most is not null then greatest(most - count(*), 0) end into places
    from executions e
   where e.workflow_id = workflow and e.state in ('queued', 'running') and e.admitted_at is not null;
  select array_agg(f.id) into followers
    from (
      select distinct on (e.schedule_name, e.backfilled) e.id, e.schedule_name, e.backfilled from executions e
       where e.workflow_id = workflow and e.admitted_at is null and e.state = 'queued' and e.trigger = 'schedule'
       order by e.schedule_name, e.backfilled, e.turn
    ) f
   where not is_schedule_busy(workflow, f.backfilled, f.schedule_name);
  return query
    with next as (
      select n.id from (
        (select e.id, e.backfilled, e.turn from executions e
          where e.workflow_id = workflow and e.admitted_at is null and e.state = 'queued' and not e.backfilled
            and (not e.follows or e.id = any(followers))
          order by e.turn limit places)
        union all
        (select e.id, e.backfilled, e.turn from executions e
          where e.workflow_id = workflow and e.admitted_at is null and e.state = 'queued' and e.backfilled
            and (not e.follows or e.id = any(followers))
          order by e.turn limit places)
      ) n
      order by n.backfilled, n.turn limit places
    ), admitted as (
      update executions e set admitted_at = clock_timestamp() from next where e.id = next.id returning e.id
    )
    select a.id from admitted a, pg_notify('execution_admitted', a.id);
end $function$;

CREATE OR REPLACE FUNCTION public.admit_next()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform admit_executions(new.workflow_id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.announce_destination_end()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('destination_ended', old.id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.announce_ended_access()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('access_ended', old.id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.announce_workflow()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('workflow_changed', json_build_object('accountId', new.account_id, 'workflowId', new.id)::text);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.apply_closed_reservations()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update accounts a set reserved = a.reserved + moved.amount
    from (select account_id, sum(amount) as amount
            from (select account_id, amount from written where state = 'open'
                  union all select account_id, -amount from before) parts
           group by account_id) moved
   where a.id = moved.account_id and moved.amount <> 0;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.apply_ledger_entries()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (
    select from entries
      left join reservations r on r.execution_id = entries.execution_id and r.account_id = entries.account_id
           and r.state = 'settled' and r.amount >= -entries.amount
     where entries.kind = 'settlement' and r.execution_id is null
  ) then
    raise exception 'a settlement needs a settled reservation of its account that covers it'
      using errcode = 'integrity_constraint_violation';
  end if;
  update accounts a set balance = a.balance + moved.amount
    from (select account_id, sum(amount) as amount from entries group by account_id) moved
   where a.id = moved.account_id;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.apply_reservations()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  missing bigint;
begin
  with moved as (
    select account_id, coalesce(sum(amount) filter (where state = 'open'), 0) as amount from written group by account_id
  ), applied as (
    update accounts a set reserved = a.reserved + moved.amount from moved where a.id = moved.account_id returning a.id
  )
  select (select count(*) from moved) - (select count(*) from applied) into missing;
  if missing > 0 then
    raise exception 'a reservation needs its account' using errcode = 'foreign_key_violation';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.begin_execution(new_id text, host text, process text, lease_seconds double precision, is_running boolean DEFAULT false)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  if reserve_credits(array[new_id]) <> 'r' then
    if is_running then update executions set state = 'queued', started_at = null where id = new_id; end if;
    return false;
  end if;
  insert into attempts (execution_id, attempt, host_id, process_id, lease_until)
  values (new_id, 1, host, process, clock_timestamp() + make_interval(secs => lease_seconds));
  if not is_running then update executions set state = 'running', started_at = clock_timestamp() where id = new_id; end if;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION public.begin_file_upload(new_id text, workflow text, account text, name text, type text, size bigint, hash text, part_size bigint, seconds double precision, open_max integer, kept_max integer)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  perform lock_admission(workflow);
  if (select count(*) >= kept_max or count(*) filter (where u.completed_at is null) >= open_max
        from file_uploads u where u.workflow_id = workflow and u.expires_at > clock_timestamp()) then
    return false;
  end if;
  insert into file_uploads (id, workflow_id, account_id, file_name, content_type, bytes, sha256, part_bytes, expires_at)
  values (new_id, workflow, account, name, type, size, hash, part_size, clock_timestamp() + make_interval(secs => seconds));
  return true;
end $function$;

CREATE OR REPLACE FUNCTION public.choose_fitting(wanted text[], asked text[], available bigint, OUT ids text[], OUT amounts bigint[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  one record;
  free bigint := available;
  refused text[] := '{}';
  needs bigint[] := '{}';
  lefts bigint[] := '{}';
begin
  ids := '{}';
  amounts := '{}';
  for one in
    select e.id, e.charge_max as amount from executions e
      join (select u.id, min(u.position) as position from unnest(asked) with ordinality as u (id, position) group by 1) a
        on a.id = e.id
     where e.id = any (wanted) order by a.position
  loop
    if one.amount <= free then
      free := free - one.amount;
      ids := ids || one.id;
      amounts := amounts || one.amount;
    else
      refused := refused || one.id;
      needs := needs || one.amount;
      lefts := lefts || free;
    end if;
  end loop;
  insert into refusals (execution_id, needed, available) select u.* from unnest(refused, needs, lefts) as u
      on conflict (execution_id) do update
     set needed = excluded.needed, available = excluded.available, created_at = now();
end $function$;

CREATE OR REPLACE FUNCTION public.count_kept_contents()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op <> 'DELETE' then
    insert into kept_changes (account_id, bytes)
    select w.account_id, sum(octet_length(c.content)) from added c join workflows w on w.id = c.workflow_id
     group by w.account_id having sum(octet_length(c.content)) > 0;
  end if;
  if tg_op <> 'INSERT' then
    insert into kept_changes (account_id, bytes)
    select w.account_id, -sum(octet_length(c.content)) from removed c join workflows w on w.id = c.workflow_id
     group by w.account_id having sum(octet_length(c.content)) > 0;
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.count_kept_files()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into kept_changes (account_id, bytes)
  select e.account_id, sum(f.bytes) from files f join executions e on e.id = f.execution_id
   where e.files_removed_at is null group by e.account_id having sum(f.bytes) > 0;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.count_kept_log()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into kept_changes (account_id, bytes) values (new.account_id, kept_log_bytes(new) - kept_log_bytes(old));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.count_kept_uploads()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into kept_changes (account_id, bytes)
  select u.account_id, case tg_op when 'DELETE' then -sum(u.bytes) else sum(u.bytes) end
    from changed u group by u.account_id having sum(u.bytes) > 0;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.create_id(prefix text)
 RETURNS text
 LANGUAGE sql
AS $function$
  select prefix || replace(cast(gen_random_uuid() as text), '-', '');
$function$;

CREATE OR REPLACE FUNCTION public.demand_owner(account text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  -- Each statement in here sees what was committed before it begins: of two owners who step down at once, the second sees the first.
  perform lock_members(account);
  if not exists (select from users u where u.account_id = account and u.role = 'owner' and u.removed_at is null) then
    raise exception 'an account with members keeps an owner'
      using errcode = 'check_violation', constraint = 'account_keeps_an_owner';
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.demand_settlement()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if not exists (select from ledger_entries l where l.execution_id = new.execution_id and l.kind = 'settlement') then
    raise exception 'a settled reservation needs its ledger entry' using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.drop_values_of_workflow()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update stored_values v set holds = false, sealed = null where v.workflow_id = new.id and v.holds;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.failing_line(started_by text, schedule text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when started_by = 'schedule' then coalesce(schedule, 'schedule') else '' end;
$function$;

CREATE OR REPLACE FUNCTION public.finish_executions(ids text[], processes text[], statuses text[], messages text[], seconds numeric[], processors numeric[], computes bigint[], totals bigint[], log_keys text[], log_sizes bigint[], files jsonb, owners text[], keys text[], contents bytea[], channel text, memories bigint[] DEFAULT NULL::bigint[], processors_used numeric[] DEFAULT NULL::numeric[], connected jsonb[] DEFAULT NULL::jsonb[])
 RETURNS text
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  ours text[];
  bills record;
  finished text[] := '{}';
begin
  -- Accounts before everything else, as whoever moves credits does.
  perform from accounts a where a.id in (select e.account_id from executions e where e.id = any (ids))
    order by a.id for no key update;
  with ended as (
    update attempts t
       set ended_at = clock_timestamp(), status = u.status, message = u.message,
           seconds_used = u.used, processor_seconds = u.processor,
           peak_memory_bytes = u.memory, used_processor_seconds = u.processor_used, connections = u.connected
      from unnest(ids, processes, statuses, messages, seconds, processors, memories, processors_used, connected)
           as u (id, process, status, message, used, processor, memory, processor_used, connected)
     where t.execution_id = u.id and t.attempt = 1 and t.process_id = u.process and t.ended_at is null
    returning t.execution_id
  )
  select coalesce(array_agg(e.execution_id), '{}') into ours from ended e;

  perform note_destinations(c.ids, c.made)
     from (select array_agg(u.id) as ids, array_agg(u.made) as made
             from unnest(ids, connected) as u (id, made) where u.id = any (ours) and u.made is not null) c
    where c.ids is not null;
  insert into execution_files (execution_id, direction, name, file_name, storage_key, bytes, sha256, content_type)
  select f.execution_id, 'output', f.name, f.file_name, f.storage_key, f.bytes, f.sha256, f.content_type
    from jsonb_to_recordset(files) as f (execution_id text, name text, file_name text, storage_key text, bytes bigint, sha256 text,
                                         content_type text)
   where f.execution_id = any (ours)
      on conflict (execution_id, direction, name, position) do nothing;
  insert into small_objects (storage_key, content)
  select u.key, u.content from unnest(owners, keys, contents) as u (owner, key, content) where u.owner = any (ours)
      on conflict (storage_key) do update set content = excluded.content;

  select array_agg(u.id) as ids, array_agg(u.status) as statuses, array_agg(u.used) as seconds,
         array_agg(u.compute) as computes, array_agg(u.total) as totals, array_agg(u.key) as keys, array_agg(u.size) as sizes
    into bills
    from unnest(ids, statuses, seconds, computes, totals, log_keys, log_sizes) as u (id, status, used, compute, total, key, size)
   where u.id = any (ours);
  if bills.ids is not null then
    finished := array(
      select settle_executions(bills.ids, bills.statuses, bills.seconds, bills.computes, bills.totals, channel, bills.keys, bills.sizes));
    -- Of what is settled already, or is not to be, the log is kept all the same.
    if cardinality(finished) < cardinality(ours) then
      update executions e set log_key = u.key, log_bytes = u.size, uploaded_at = coalesce(e.uploaded_at, clock_timestamp())
        from unnest(ids, log_keys, log_sizes) as u (id, key, size)
       where e.id = u.id and u.id = any (ours) and u.id <> all (finished);
    end if;
  end if;
  return (select string_agg(case when u.id = any (finished) then 'f' when u.id = any (ours) then 'c' else 'n' end, ''
                            order by u.position)
            from unnest(ids) with ordinality as u (id, position));
end $function$;

CREATE OR REPLACE FUNCTION public.forbid_destination_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'a destination is removed and added again' using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.forget_refusals()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  delete from refusals f using gone where f.execution_id = gone.id;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.give_up_files()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into kept_changes (account_id, bytes)
  select new.account_id, -sum(f.bytes) from execution_files f where f.execution_id = new.id having sum(f.bytes) > 0;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.is_schedule_busy(workflow text, backfill boolean, schedule text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
AS $function$
  select exists (
    select from executions e
     where e.workflow_id = workflow and e.state in ('queued', 'running') and e.admitted_at is not null and e.trigger = 'schedule'
       and e.backfilled = backfill and e.schedule_name is not distinct from schedule
  );
$function$;

CREATE OR REPLACE FUNCTION public.keep_an_owner()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op <> 'INSERT' and old.role = 'owner' and old.removed_at is null then
    perform demand_owner(old.account_id);
  end if;
  if tg_op <> 'DELETE' and new.removed_at is null then
    perform demand_owner(new.account_id);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.kept_bytes_of(account text)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select cast(a.kept_bytes + coalesce((select sum(c.bytes) from kept_changes c where c.account_id = a.id), 0) as bigint)
    from accounts a where a.id = account
$function$;

CREATE OR REPLACE FUNCTION public.kept_log_bytes(execution executions)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when (execution).log_key is not null and (execution).log_removed_at is null then (execution).log_bytes else 0 end
$function$;

CREATE OR REPLACE FUNCTION public.listen_to_end(new_id text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  update executions e set notifies = true where e.id = new_id;
  return found;
end $function$;

CREATE OR REPLACE FUNCTION public.lock_admission(workflow text)
 RETURNS void
 LANGUAGE sql
AS $function$
  select pg_advisory_xact_lock(7283515, hashtext(workflow));
$function$;

CREATE OR REPLACE FUNCTION public.lock_members(account text)
 RETURNS void
 LANGUAGE sql
AS $function$
  select pg_advisory_xact_lock(7283516, hashtext(account));
$function$;

CREATE OR REPLACE FUNCTION public.note_destinations(ids text[], connected jsonb[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  changed text[];
begin
  with reached as (
    select distinct on (e.workflow_id, named.destination) e.workflow_id, named.destination, e.id
      from unnest(ids, connected) as u (id, made)
      join executions e on e.id = u.id
     cross join jsonb_to_recordset(u.made -> 'destinations')
             as d (name text, address text, port int, protocol text, "sentBytes" bigint)
     cross join lateral (select coalesce(d.name, d.address) || ':' || d.port || '/' || d.protocol) as named (destination)
     where d."sentBytes" > 0
     order by e.workflow_id, named.destination, e.created_at
  ), noted as (
    -- In order, so that none of two calls waits for the other.
    insert into known_destinations as k (workflow_id, destination, first_execution_id, last_execution_id)
    select r.workflow_id, r.destination, r.id, r.id from reached r
     where not exists (select from known_destinations o
                        where o.workflow_id = r.workflow_id and o.destination = r.destination
                          and o.seen_at > clock_timestamp() - interval '1 day')
     order by r.workflow_id, r.destination
        on conflict (workflow_id, destination) do update
           set last_execution_id = excluded.last_execution_id, seen_at = clock_timestamp()
    returning k.workflow_id
  )
  select array_agg(distinct n.workflow_id) into changed from noted n;
  -- Those that were not seen for longest are forgotten: whoever floods it makes marks, and hides none.
  delete from known_destinations k
   using unnest(changed) as w (id)
   cross join lateral (select o.destination from known_destinations o where o.workflow_id = w.id
                        order by o.seen_at desc offset 1000 for update skip locked) as old
   where k.workflow_id = w.id and k.destination = old.destination;
end $function$;

CREATE OR REPLACE FUNCTION public.note_end()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  wanted jsonb := (select c.manifest -> 'notify' from commits c where c.workflow_id = new.workflow_id and c.id = new.commit_id and not c.draft);
  line text := failing_line(new.trigger, new.schedule_name);
  written text;
begin
  insert into notices (account_id, kind, workflow_id, execution_id)
  select new.account_id, 'result', new.workflow_id, new.id from call_receivers r where r.execution_id = new.id
  returning id into written;
  if written is not null then perform pg_notify('notice_written', written); end if;
  if wanted is null then return null; end if;
  if new.finished_at - new.started_at > make_interval(secs => cast(wanted #>> '{slow,afterSeconds}' as double precision)) then
    perform write_notices('slow', new.account_id, new.workflow_id, new.id, null, '', wanted #> '{slow,to}');
  end if;
  if new.state = 'success' then
    delete from failing_workflows f where f.workflow_id = new.workflow_id and f.schedule_name = line;
    if found then
      perform write_notices('recovery', new.account_id, new.workflow_id, new.id, null, '', wanted -> 'recovery');
    end if;
  elsif new.state <> 'cancelled' then
    insert into failing_workflows (workflow_id, schedule_name) values (new.workflow_id, line)
        on conflict (workflow_id, schedule_name) do nothing;
    perform write_notices('failure', new.account_id, new.workflow_id, new.id, null, '', wanted -> 'failure');
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_missed_tick()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  latest record;
begin
  select w.account_id, c.manifest #> '{notify,missed}' as names into latest
    from workflows w join commits c on c.workflow_id = w.id and c.id = w.head
   where w.id = new.workflow_id and w.deleted_at is null;
  if latest.names is not null then
    perform write_notices('missed', latest.account_id, new.workflow_id, null, new.nominal_at, new.reason, latest.names);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_tick(new_id text, nominal timestamp with time zone, previous timestamp with time zone, zone text, fired_by text, decided timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  update executions set scheduled_for = nominal, previous_scheduled_for = previous, scheduled_zone = zone where id = new_id;
  insert into ticks as t (workflow_id, schedule_name, nominal_at, outcome, reason, source, execution_id, decided_at)
  select e.workflow_id, coalesce(e.schedule_name, 'schedule'), nominal, 'started', '', fired_by, e.id, decided
    from executions e where e.id = new_id
      on conflict (workflow_id, schedule_name, nominal_at) do update
     set outcome = excluded.outcome, reason = excluded.reason, source = excluded.source, execution_id = excluded.execution_id,
         decided_at = excluded.decided_at
   where excluded.source = 'backfill' and t.outcome <> 'started';
  return found;
end $function$;

CREATE OR REPLACE FUNCTION public.raise_reservation(raised text, wanted bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  free bigint;
  held bigint;
begin
  select a.balance - a.reserved into free from accounts a
   where a.id = (select e.account_id from executions e where e.id = raised) for no key update;
  select r.amount into held from reservations r where r.execution_id = raised and r.state = 'open';
  if held is null or wanted <= held then return null; end if;
  if wanted - held > free then return free; end if;
  update executions set charge_max = wanted where id = raised;
  update reservations set amount = wanted where execution_id = raised;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_account_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'accounts.balance moves only through ledger_entries, accounts.reserved only through reservations'
    using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'ledger_entries is append-only' using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_emptying()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select from reservations where state = 'open') then
    raise exception 'open reservations cannot be deleted' using errcode = 'restrict_violation';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_execution_delete()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'an execution under way cannot be deleted: it may hold credits' using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_reservation_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'a reservation grows while it is open, and changes once, to settled or released' using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.release_executions(ids text[], statuses text[], failures text[], messages text[], channel text)
 RETURNS SETOF text
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  ended text[];
begin
  perform from accounts a where a.id in (select e.account_id from executions e where e.id = any (ids))
    order by a.id for no key update;
  with releases as (
    select distinct on (u.id) u.*
      from unnest(ids, statuses, failures, messages) with ordinality as u (id, status, failure, message, position)
     order by u.id, u.position
  ), updated as (
    update executions e
       set state = f.status, failure = f.failure, message = f.message, finished_at = clock_timestamp()
      from releases f
     where e.id = f.id and e.state in ('queued', 'running')
    returning e.id
  )
  select coalesce(array_agg(u.id), '{}') into ended from updated u;
  update reservations r set state = 'released', closed_at = now() where r.execution_id = any (ended) and r.state = 'open';
  insert into reservations (execution_id, account_id, amount, state, closed_at)
  select e.id, e.account_id, 0, 'released', now() from executions e where e.id = any (ended)
      on conflict (execution_id) do nothing;
  perform pg_notify(channel, u.id) from unnest(ended) as u (id);
  return query select u.id from unnest(ended) as u (id);
end $function$;

CREATE OR REPLACE FUNCTION public.reserve_credits(asked text[])
 RETURNS text
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  account record;
  fresh text[];
  chosen record;
  granted bigint;
begin
  select a.id, a.balance - a.reserved as available into account from accounts a
   where a.id = (select e.account_id from executions e where e.id = any (asked) limit 1) for no key update;

  -- Materialized, so that they are found by their ids and never by their account, which may have millions.
  with named as materialized (
    select e.id, e.account_id, e.charge_max from executions e
     where e.id = any (asked) and e.finished_at is null
       and e.id <> all (array(select r.execution_id from reservations r where r.execution_id = any (asked)))
  )
  insert into reservations (execution_id, account_id, amount, state)
  select n.id, n.account_id, n.charge_max, 'open' from named n
   where (select sum(n.charge_max) <= account.available and bool_and(n.account_id = account.id) from named n);
  get diagnostics granted = row_count;
  if granted = cardinality(asked) then return repeat('r', cardinality(asked)); end if;

  if exists (select from executions e where e.id = any (asked) and e.account_id <> account.id) then
    raise exception 'executions that are reserved together must be of one account' using errcode = 'invalid_parameter_value';
  end if;
  if granted = 0 then
    fresh := array(select e.id from executions e where e.id = any (asked) and e.finished_at is null
                      and e.id <> all (array(select r.execution_id from reservations r where r.execution_id = any (asked))));
    if cardinality(fresh) > 0 then
      select f.ids, f.amounts into chosen from choose_fitting(fresh, asked, account.available) f;
      insert into reservations (execution_id, account_id, amount, state)
      select u.id, account.id, u.amount, 'open' from unnest(chosen.ids, chosen.amounts) as u (id, amount);
    end if;
  end if;

  return (
    with named as materialized (
      select e.id, e.finished_at from executions e where e.id = any (asked)
    ), held as materialized (
      select r.execution_id as id, r.state from reservations r where r.execution_id = any (asked)
    )
    select string_agg(
             case when n.id is null then 'u'
                  when h.state = 'open' then 'r'
                  when h.state is not null or n.finished_at is not null then 'c'
                  else 'i' end, '' order by a.position)
      from unnest(asked) with ordinality as a (id, position)
      left join named n on n.id = a.id
      left join held h on h.id = a.id
  );
end $function$;

CREATE OR REPLACE FUNCTION public.return_rate(name text, spacing double precision)
 RETURNS timestamp with time zone
 LANGUAGE sql
AS $function$
  update rate_buckets set busy_until = busy_until - make_interval(secs => spacing) where bucket = name returning busy_until;
$function$;

CREATE OR REPLACE FUNCTION public.send_result(new_id text, target bytea, secret bytea, api_url text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  insert into call_receivers values (new_id, target, secret, api_url);
  return listen_to_end(new_id);
end $function$;

CREATE OR REPLACE FUNCTION public.settle_executions(ids text[], statuses text[], seconds numeric[], computes bigint[], totals bigint[], channel text, log_keys text[] DEFAULT NULL::text[], log_sizes bigint[] DEFAULT NULL::bigint[])
 RETURNS SETOF text
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  ended text[];
begin
  perform from accounts a where a.id in (select e.account_id from executions e where e.id = any (ids))
    order by a.id for no key update;
  with bills as (
    select distinct on (u.id) u.*
      from unnest(ids, statuses, seconds, computes, totals, log_keys, log_sizes) with ordinality
             as u (id, status, seconds, compute, total, log_key, log_size, position)
     order by u.id, u.position
  ), updated as (
    update executions e
       set state = b.status, finished_at = clock_timestamp(), seconds_used = b.seconds,
           charge_compute = b.compute, charge_total = b.total,
           log_key = case when log_keys is null then e.log_key else b.log_key end,
           log_bytes = case when log_keys is null then e.log_bytes else b.log_size end,
           uploaded_at = case when log_keys is null then e.uploaded_at else coalesce(e.uploaded_at, clock_timestamp()) end,
           message = coalesce((select t.message from attempts t where t.execution_id = e.id and t.status is not null
                                order by t.attempt desc limit 1), '')
      from bills b
     where e.id = b.id and e.state in ('queued', 'running')
       and exists (select from reservations r where r.execution_id = e.id and r.state = 'open')
    returning e.id
  )
  select coalesce(array_agg(u.id), '{}') into ended from updated u;
  update reservations r set state = 'settled', closed_at = now() where r.execution_id = any (ended);
  insert into ledger_entries (account_id, kind, amount, execution_id)
  select e.account_id, 'settlement', -e.charge_total, e.id from executions e where e.id = any (ended);
  perform pg_notify(channel, u.id) from unnest(ended) as u (id);
  return query select u.id from unnest(ended) as u (id);
end $function$;

CREATE OR REPLACE FUNCTION public.take_rate(name text, spacing double precision, burst integer)
 RETURNS timestamp with time zone
 LANGUAGE sql
AS $function$
  insert into rate_buckets as b (bucket, busy_until)
  values (name, clock_timestamp() + make_interval(secs => spacing))
      on conflict (bucket) do update
     set busy_until = greatest(b.busy_until, clock_timestamp()) + make_interval(secs => spacing)
   where b.busy_until <= clock_timestamp() + make_interval(secs => spacing * (burst - 1))
  returning busy_until;
$function$;

CREATE OR REPLACE FUNCTION public.tell_tick_of_refusal()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update ticks t set outcome = 'refused_credits', reason = 'The account had too few credits when the execution was to begin.'
   where t.execution_id = new.execution_id and t.outcome = 'started';
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.write_notices(new_kind text, account text, workflow text, execution text, tick timestamp with time zone, why text, names jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  place text;
  written text;
  before timestamptz;
begin
  for place in
    select p.id from notice_places p
     where p.account_id = account and p.disabled_at is null and p.name in (select jsonb_array_elements_text(names))
     order by p.id
  loop
    before := null;
    if new_kind in ('failure', 'missed') then
      update notices n set more = n.more + 1
       where n.place_id = place and n.workflow_id = workflow and n.kind = new_kind and n.state = 'waiting'
         and n.started_at is null and n.due_at > clock_timestamp();
      if found then continue; end if;
      select max(n.due_at) + interval '10 minutes' into before from notices n
       where n.place_id = place and n.workflow_id = workflow and n.kind = new_kind
         and n.due_at > clock_timestamp() - interval '10 minutes';
    end if;
    insert into notices (account_id, place_id, kind, workflow_id, execution_id, nominal_at, reason, due_at)
    values (account, place, new_kind, workflow, execution, tick, why, coalesce(before, clock_timestamp()))
        on conflict (execution_id, place_id) where kind = 'slow' do nothing
    returning id into written;
    if written is not null and before is null then perform pg_notify('notice_written', written); end if;
  end loop;
end $function$;
